from __future__ import annotations

import math

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as some

from maccluster_cli.worker import data, llama, models
from maccluster_cli.worker.fault import WorkerError
from maccluster_cli.worker.ranks import Ranks
from maccluster_cli.worker.recipe import Recipe
from maccluster_cli.worker.train import Trainer, clip_factor, learning_rate
from tests.worker.conftest import recipe

norms = some.floats(1e-9, 1e9)


class Flaky(llama.Llama):
    """A llama that computes nonsense at the calls named in ``bad``."""

    bad: frozenset[int] = frozenset({1})
    calls = 0

    def __call__(self, tokens: mx.array) -> mx.array:
        self.calls += 1
        return super().__call__(tokens) * (math.nan if self.calls - 1 in self.bad else 1.0)


def trainer(bad: frozenset[int]) -> Trainer:
    read = Recipe.from_dict(recipe(train_steps=8))
    loaded = models.load(read)
    model = Flaky(read.model)
    model.update(loaded.model.parameters())
    model.bad = bad
    flaky = models.Loaded(model, loaded.encode, loaded.config)
    return Trainer(flaky, data.load(read, flaky), Ranks(1), read.train)


def test_a_bad_step_changes_nothing() -> None:
    run = trainer(frozenset({1}))
    assert not run.step(0).skipped
    before = {name: mx.array(tensor) for name, tensor in run.loaded.weights().items()}
    bad = run.step(1)
    assert bad.skipped
    assert math.isnan(bad.loss)
    assert all(mx.array_equal(tensor, before[name]).item() for name, tensor in run.loaded.weights().items())
    assert not run.step(2).skipped
    assert run.loaded.weights()["lm_head.weight"].tolist() != before["lm_head.weight"].tolist()


def test_only_bad_steps_in_a_row_end_a_run() -> None:
    assert len(list(trainer(frozenset({0, 1, 3, 4, 6})).steps())) == 8
    steps = trainer(frozenset({2, 3, 4})).steps()
    taken = [next(steps) for _ in range(5)]
    assert [step.skipped for step in taken] == [False, False, True, True, True]
    with pytest.raises(WorkerError, match="3 steps in a row, last at step 4"):
        next(steps)


@given(norms, norms)
def test_a_clipped_norm_is_at_most_the_limit(norm: float, limit: float) -> None:
    factor = clip_factor(norm, limit)
    assert norm * factor <= limit * (1 + 1e-9)
    assert factor == 1.0 or norm > limit


def test_the_rate_warms_up_and_falls_to_a_tenth() -> None:
    train = Recipe.from_dict(recipe(train_steps=100, train_warmup_steps=10)).train
    rates = [learning_rate(train, step) for step in range(100)]
    assert rates[0] == pytest.approx(5e-4)
    assert max(rates) == rates[9] == pytest.approx(5e-3)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(5e-4, rel=0.02)
