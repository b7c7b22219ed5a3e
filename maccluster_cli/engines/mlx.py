"""MLX's ring: a hostfile and a rank number in the environment, one process a rank.

We set what ``mlx.launch`` would set and start the ranks ourselves: the launcher exits 0 when ranks die and
leaves orphans when it is killed itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from maccluster_cli.placement import Seat
from maccluster_cli.values import Launch

MINIMUM = "0.32.4"  # older ones hang when a peer dies, or all-gather wrongly
PACKAGE = "maccluster_cli.worker"
ARCHIVE = "worker.zip"  # the worker's own code, beside what it works on
SPEC = "job.json"
# Small fused kernels are compiled with g++ on first use on Linux: seconds that a short job never gets back.
_LINUX_CPU = {"MLX_DISABLE_COMPILE": "1"}


def spec(run_id: str, world_size: int, recipe: Mapping[str, Any]) -> bytes:
    """What every rank reads first; paths are relative to the run's folder on its node."""
    job = {"schema": 1, "run_id": run_id, "world_size": world_size, "backend": "ring", "out_dir": "."}
    return json.dumps({**job, "recipe": recipe}).encode()


def hostfile(seats: Sequence[Seat]) -> bytes:
    """MLX_HOSTFILE: for each rank the addresses it listens on, as ``ip:port``."""
    return json.dumps([[f"{seat.address}:{seat.port}"] for seat in seats]).encode()


def launches(
    seats: Sequence[Seat], pythons: Mapping[str, str], folders: Mapping[str, str], systems: Mapping[str, str]
) -> tuple[Launch, ...]:
    """One launch a rank; ``pythons``, ``folders`` (absolute) and ``systems`` are by node."""
    return tuple(
        _launch(seat, seats, pythons[seat.node], folders[seat.node], systems[seat.node]) for seat in seats
    )


def _launch(seat: Seat, seats: Sequence[Seat], python: str, folder: str, system: str) -> Launch:
    ring = f"ring{seat.rank}.json"
    env = {"PYTHONPATH": ARCHIVE, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    files: dict[str, bytes] = {}
    if system == "Linux":
        env |= _LINUX_CPU
    if len(seats) > 1:  # MLX cannot read a ring of one; such a job runs without
        env |= {"MLX_RANK": str(seat.rank), "MLX_HOSTFILE": ring}
        files[ring] = hostfile(seats)
    return Launch(seat.rank, seat.node, env, (python, "-u", "-m", PACKAGE, f"{folder}/{SPEC}"), files)
