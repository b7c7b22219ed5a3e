from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.worker.conftest import Launch, World, recipe

EVENTS = ["start", "data", "score", *["step"] * 4, "score", "saved", "done"]


def losses(world: World) -> list[float]:
    return [step["loss"] for step in world.first.all("step")]


def test_events_of_a_run(launch: Launch) -> None:
    world = launch(recipe(), ranks=2)
    assert world.finish() == [0, 0]
    first, second = world.ranks
    assert [one["event"] for one in first.events] == EVENTS
    assert [one["event"] for one in second.events] == ["start", *["step"] * 4, "done"]
    assert {one["rank"] for one in first.events} == {0}
    assert set(second.all("step")[0]) == {"event", "rank", "t", "step", "step_s"}
    assert first.errors == second.errors == ""


def test_what_the_events_say(launch: Launch) -> None:
    world = launch(recipe(), ranks=2)
    world.finish()
    start, data, done = (world.first.one(name) for name in ("start", "data", "done"))
    assert start["world_size"] == 2
    assert start["parameters"] == start["trainable"] > 20_000
    assert data["entropy_floor_nats_per_byte"] == pytest.approx(0.459, abs=1e-3)
    assert (data["examples_train"], data["examples_valid"]) == (15_369, 256)
    assert done["tokens"] == sum(step["tokens"] for step in world.first.all("step")) == 4 * 4 * 21
    assert (done["first_loss"], done["final_loss"]) == (losses(world)[0], losses(world)[-1])
    assert [score["of"] for score in world.first.all("score")] == [8, 8]
    rates = [step["lr"] for step in world.first.all("step")]
    assert rates[:3] == pytest.approx([2.5e-3, 5e-3, 5e-3])


def test_loss_is_equal_for_1_2_and_4_ranks(launch: Launch) -> None:
    curves = []
    for ranks in (1, 2, 4):
        world = launch(recipe(train_steps=6), ranks=ranks)
        assert set(world.finish()) == {0}
        curves.append(losses(world))
    assert curves[1] == pytest.approx(curves[0], rel=1e-4)
    assert curves[2] == pytest.approx(curves[0], rel=1e-4)


def test_rows_of_unequal_length_weigh_by_their_tokens(launch: Launch, tmp_path: Path) -> None:
    rows = [{"text": "ab" * length} for length in (2, 14, 3, 9, 1, 15, 12, 4)]
    for name in ("train", "valid"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    curves = []
    for ranks in (1, 2):
        world = launch(recipe(data_source=str(tmp_path)), ranks=ranks)
        assert set(world.finish()) == {0}
        curves.append((losses(world), [score["loss"] for score in world.first.all("score")]))
    assert curves[1][0] == pytest.approx(curves[0][0], rel=1e-4)
    assert curves[1][1] == pytest.approx(curves[0][1], rel=1e-4)
    assert world.first.one("data")["entropy_floor_nats_per_byte"] is None


@pytest.mark.slow
def test_the_tiny_recipe_learns_sums_it_never_saw(launch: Launch) -> None:
    tiny = recipe(model_hidden_size=64, model_intermediate_size=172, train_steps=120, train_batch_size=8)
    tiny["train"] |= {"sequence_length": 64, "warmup_steps": 5}
    tiny["eval"]["examples"] = 64
    world = launch(tiny, ranks=2)
    assert world.finish() == [0, 0]
    done = world.first.one("done")
    assert done["score_before"] == 0
    assert done["score_after"] > 50
    assert done["first_loss"] > 5
    floor = world.first.one("data")["entropy_floor_nats_per_byte"]
    assert 0.95 * floor < done["final_loss"] < 0.7


def test_a_learning_rate_without_reason_stops_the_run(launch: Launch) -> None:
    world = launch(recipe(train_learning_rate=1e30, train_steps=50), ranks=2)
    assert world.finish() == [65, 65]
    assert world.first.one("error")["kind"] == "diverged"
    bad = [step for step in world.first.all("step") if step["skipped"]]
    assert len(bad) == 3
    assert bad[-1] == world.first.all("step")[-1]
    assert None in (bad[-1]["loss"], bad[-1]["grad_norm"])
    assert not list(world.out.iterdir())


def test_no_examples_no_score(launch: Launch) -> None:
    world = launch(recipe(eval_examples=0, train_steps=1))
    assert world.finish() == [0]
    assert not world.first.all("score")
    assert world.first.one("done")["score_before"] is None
