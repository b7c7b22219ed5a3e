"""Which rows a rank reads at a step: a pure function, so a restart or another world size changes nothing."""

from __future__ import annotations

import hashlib
from functools import lru_cache


@lru_cache(maxsize=4)
def shuffled(size: int, key: str) -> tuple[int, ...]:
    """Return 0..size-1 in an order that depends on ``key`` alone, on each platform and Python."""
    seed = hashlib.sha256(key.encode())

    def rank(index: int) -> bytes:
        mixed = seed.copy()
        mixed.update(index.to_bytes(8, "big"))
        return mixed.digest()

    return tuple(sorted(range(size), key=rank))


def global_batch(size: int, seed: int, step: int, batch_size: int) -> list[int]:
    """Return the row numbers of one step over all ranks; each pass over the data has an order of its own."""
    first = step * batch_size
    return [
        shuffled(size, f"rows {seed} {position // size}")[position % size]
        for position in range(first, first + batch_size)
    ]


def local_batch(size: int, seed: int, step: int, batch_size: int, rank: int, world_size: int) -> list[int]:
    """Return one rank's share: all ranks' shares together are the global batch, whatever the world size."""
    return global_batch(size, seed, step, batch_size)[rank::world_size]
