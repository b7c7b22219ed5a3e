from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from maccluster_cli.worker.sampler import global_batch, local_batch, shuffled

sizes = some.integers(1, 200)
seeds = some.integers(0, 2**31)
steps = some.integers(0, 500)
worlds = some.sampled_from([1, 2, 3, 4, 6, 12])


@given(sizes, seeds, steps, worlds)
def test_the_global_batch_does_not_depend_on_the_world_size(
    size: int, seed: int, step: int, world: int
) -> None:
    shares = [local_batch(size, seed, step, 12, rank, world) for rank in range(world)]
    assert {len(share) for share in shares} == {12 // world}
    together = sorted(row for share in shares for row in share)
    assert together == sorted(global_batch(size, seed, step, 12))


@given(sizes, seeds)
def test_each_pass_reads_each_row_once(size: int, seed: int) -> None:
    rows = [global_batch(size, seed, step, 1)[0] for step in range(2 * size)]
    assert sorted(rows[:size]) == sorted(rows[size:]) == list(range(size))


@given(seeds, steps)
def test_a_step_can_be_read_alone(seed: int, step: int) -> None:
    before = global_batch(100, seed, step, 8)
    shuffled.cache_clear()
    assert global_batch(100, seed, step, 8) == before


def test_the_order_is_the_same_everywhere_and_differs_by_key() -> None:
    assert shuffled(8, "a") == (6, 7, 0, 3, 2, 1, 4, 5)
    assert shuffled(100, "a") != shuffled(100, "b")
