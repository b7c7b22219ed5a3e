"""Data-parallel training: each rank its rows, one sum of gradients, the same step everywhere."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import mlx.core as mx
from mlx.optimizers import AdamW

from maccluster_cli.worker.arrays import named, nested, number
from maccluster_cli.worker.data import batch
from maccluster_cli.worker.fault import DIVERGED, WorkerError
from maccluster_cli.worker.sampler import local_batch
from maccluster_cli.worker.score import summed_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maccluster_cli.worker.data import Batch, Data
    from maccluster_cli.worker.models import Loaded
    from maccluster_cli.worker.ranks import Ranks
    from maccluster_cli.worker.recipe import TrainPart

FINAL_SHARE = 0.1  # of the peak learning rate, reached at the last step


class Step(NamedTuple):
    """One step as all ranks saw it; loss in nats per token before the update, over all ranks."""

    step: int
    loss: float
    tokens: int
    tokens_per_s: float
    grad_norm: float
    lr: float
    step_s: float
    skipped: bool


def learning_rate(train: TrainPart, step: int) -> float:
    """Return the rate of a step from 0: linear warm-up, then a cosine down to ``FINAL_SHARE``."""
    if step < train.warmup_steps:
        return train.learning_rate * (step + 1) / train.warmup_steps
    done = (step - train.warmup_steps) / max(1, train.steps - train.warmup_steps)
    return train.learning_rate * (FINAL_SHARE + (1 - FINAL_SHARE) * (1 + math.cos(math.pi * done)) / 2)


def clip_factor(norm: float, clip_norm: float) -> float:
    """Return what gradients of a global norm are multiplied by, so that theirs is at most ``clip_norm``."""
    return clip_norm / norm if norm > clip_norm else 1.0


@dataclass
class Trainer:
    """A model, its optimizer and its data on one rank."""

    loaded: Loaded
    data: Data
    ranks: Ranks
    train: TrainPart

    def __post_init__(self) -> None:
        self.optimizer = AdamW(
            self.train.learning_rate, weight_decay=self.train.weight_decay, bias_correction=True
        )
        self.gradient = mx.value_and_grad(self._loss_of)

    def steps(self) -> Iterator[Step]:
        """Take all steps; raises WorkerError ``diverged`` after ``max_bad_steps`` bad ones in a row."""
        bad = 0
        for index in range(self.train.steps):
            step = self.step(index)
            bad = bad + 1 if step.skipped else 0
            yield step
            if bad >= self.train.max_bad_steps:
                message = f"no finite loss and gradient in {bad} steps in a row, last at step {index}"
                raise WorkerError("diverged", message, hint="lower train.learning_rate", code=DIVERGED)

    def step(self, index: int) -> Step:
        """Take one step. Every rank decides by the reduced numbers, so all decide alike."""
        start = time.perf_counter()
        summed = self._summed(index)
        count = number(summed.pop("_count"))
        loss = number(summed.pop("_loss")) / max(1.0, count)
        norm = _norm(summed) / max(1.0, count)
        usable = math.isfinite(loss) and math.isfinite(norm) and count > 0
        rate = learning_rate(self.train, index)
        if usable:
            self._apply(summed, clip_factor(norm, self.train.clip_norm) / count, rate)
        took = time.perf_counter() - start
        return Step(index, loss, int(count), count / took, norm, rate, took, not usable)

    def _loss_of(self, weights: Any, part: Batch) -> tuple[mx.array, mx.array]:
        self.loaded.model.update(weights)
        return summed_loss(self.loaded.model, part)

    def _summed(self, index: int) -> dict[str, mx.array]:
        """Return gradients, loss and token count summed over all ranks, all in one reduction."""
        train, ranks = self.train, self.ranks
        mine = local_batch(self.data.train.size, train.seed, index, train.batch_size, ranks.rank, ranks.size)
        part = batch(self.data.train, mine, train.sequence_length)
        (loss, count), grads = self.gradient(self.loaded.model.trainable_parameters(), part)
        mx.eval(loss, count, grads)  # before any reduction, so that no graph waits for a peer
        return ranks.total(named(grads) | {"_loss": loss, "_count": count})

    def _apply(self, summed: Mapping[str, mx.array], factor: float, rate: float) -> None:
        """Move the weights; gradients go back to the kind of their weights, or those would turn float32."""
        model, self.optimizer.learning_rate = self.loaded.model, mx.array(rate)
        kinds = {name: tensor.dtype for name, tensor in self.loaded.trainable().items()}
        scaled = {name: (grad * factor).astype(kinds[name]) for name, grad in summed.items()}
        self.optimizer.update(model, nested(scaled))
        mx.eval(model.trainable_parameters(), self.optimizer.state)


def _norm(gradients: Mapping[str, mx.array]) -> float:
    """Return the global norm of gradients; not finite as soon as one value is not."""
    squares: list[mx.array] = [mx.square(grad.astype(mx.float32)).sum() for grad in gradients.values()]
    return math.sqrt(number(mx.stack(squares).sum()))
