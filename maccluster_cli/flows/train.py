"""From a recipe and a profile to a trained model, with a manifest that says how it came about."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from maccluster_cli import __version__, placement, store
from maccluster_cli.engines import mlx
from maccluster_cli.errors import INTERRUPTED, ClusterError, UnreachableError
from maccluster_cli.flows.job import Job, Rank
from maccluster_cli.flows.prepare import prepare, pythons
from maccluster_cli.values import Cable, Node

if TYPE_CHECKING:
    from maccluster_cli.profile import Profile, Recipe
    from maccluster_cli.transport.fleet import Fleet

Watch = Callable[[Sequence[Rank], int, Mapping[str, Any]], None]
_KILLED = 128
_EXITS = {3: "refused to start", 4: "the training diverged", 5: "lost its peers", 6: "could not save"}


@dataclass(slots=True)
class Result:
    """What a run came to; the manifest and ``--json`` are made of it."""

    run_id: str
    status: str = "running"  # running, done, failed, interrupted
    world_size: int = 0
    code: int = 0
    wall_s: float | None = None
    seats: tuple[placement.Seat, ...] = ()
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    score: dict[str, Mapping[str, int]] = field(default_factory=dict)
    done: Mapping[str, Any] = field(default_factory=dict)
    saved: str | None = None
    last_step: Mapping[str, Any] = field(default_factory=dict)
    ranks: tuple[Mapping[str, Any], ...] = ()

    def note(self, event: Mapping[str, Any]) -> None:
        """Keep what an event of rank 0 says about the run as a whole."""
        kind = event.get("event")
        if kind == "score":
            self.score[str(event["when"])] = {"exact": event["exact"], "of": event["of"]}
        elif kind == "step":
            self.last_step = event
        elif kind == "done":
            self.done = event
        elif kind == "saved":
            self.saved = str(event["path"])


def train(
    fleet: Fleet, profile: Profile, recipe: Recipe, run: store.Run, *, seed: int | None, on_event: Watch
) -> Result:
    """Run ``recipe`` on the fleet's nodes. The error of a run that fails is raised after the manifest is written."""
    nodes = placement.order(fleet.nodes, profile.cables)
    result = Result(run.run_id, world_size=sum(node.ranks for node in nodes))
    settings = recipe.for_worker()
    if seed is not None:
        settings["train"]["seed"] = seed
    placement.check_batch(recipe.train.batch_size, result.world_size, recipe.name)
    frame = {
        "recipe": settings,
        "profile": {"name": profile.name, "file": str(profile.file)},
        "argv": sys.argv,
    }
    began, started = time.monotonic(), store.utc_now()

    def conclude() -> None:
        result.wall_s = round(time.monotonic() - began, 3)
        run.conclude(manifest(result, {**frame, "started": started, "ended": store.utc_now()}))

    run.conclude(manifest(result, {**frame, "started": started}))
    try:
        _through(fleet, profile.cables, nodes, profile.job.port, settings, run, result, on_event)
    except KeyboardInterrupt:
        result.status, result.code = "interrupted", INTERRUPTED
        raise
    except ClusterError as error:
        result.status, result.code = "failed", error.code
        raise
    finally:
        conclude()
    return result


def _through(
    fleet: Fleet,
    cables: Sequence[Cable],
    nodes: Sequence[Node],
    first_port: int,
    settings: Mapping[str, Any],
    run: store.Run,
    result: Result,
    on_event: Watch,
) -> None:
    interpreters = pythons(nodes, sys.executable)
    seats = placement.with_ports(
        placement.seats(nodes, cables, _management(fleet, nodes, cables)), first_port
    )
    files = {mlx.SPEC: mlx.spec(run.run_id, len(seats), settings), mlx.ARCHIVE: store.worker_archive()}
    ready = prepare(fleet, run.run_id, files, seats, interpreters)
    result.seats, result.versions = ready.seats, ready.versions
    launches = mlx.launches(ready.seats, interpreters, ready.folders, ready.systems)

    def noted(ranks: Sequence[Rank], rank: int, event: Mapping[str, Any]) -> None:
        if rank == 0:
            result.note(event)
        on_event(ranks, rank, event)

    job = Job(fleet, launches, ready.folders, run, noted)
    try:
        job.run()
    finally:
        result.ranks = tuple(_rank(rank) for rank in job.ranks)
    _judge(job, run, result)


def _management(fleet: Fleet, nodes: Sequence[Node], cables: Sequence[Cable]) -> dict[str, str]:
    """LAN addresses, asked for only where some neighbours have no cable."""
    if not placement.needs_management(nodes, cables):
        return {node.name: "" for node in nodes}
    return {outcome.node.name: outcome.value for outcome in fleet.each(lambda door: door.address())}


def _judge(job: Job, run: store.Run, result: Result) -> None:
    failed = [rank for rank in job.ranks if rank.code != 0]
    if not failed:
        result.status = "done"
        return
    # a rank that lost its peers tells of another's end; blame who began
    first = min(failed, key=lambda rank: (rank.code == 5, rank.lost is None, rank.launch.rank))  # noqa: PLR2004
    code = max(rank.code if rank.code is not None else UnreachableError.code for rank in failed)
    raise _explained(first, str(run.log_file(first.launch.rank)), code)


def _explained(rank: Rank, log_file: str, code: int) -> ClusterError:
    where = f"rank {rank.launch.rank}"
    if rank.lost is not None:
        return ClusterError(
            f"{where}: {rank.lost.message}", node=rank.launch.node, hint=rank.lost.hint, code=code
        )
    if rank.error is not None:
        hint = str(rank.error.get("hint") or f"cat {log_file}")
        return ClusterError(
            f"{where}: {rank.error.get('message')}", node=rank.launch.node, hint=hint, code=code
        )
    if rank.code and rank.code > _KILLED:
        what = f"was ended by signal {rank.code - _KILLED}"
    else:
        what = _EXITS.get(rank.code or 0, f"ended with exit code {rank.code}")
    last = f" ({rank.tail[-1]})" if rank.tail else ""
    return ClusterError(f"{where} {what}{last}", node=rank.launch.node, hint=f"cat {log_file}", code=code)


def _rank(rank: Rank) -> dict[str, Any]:
    return {
        "rank": rank.launch.rank,
        "node": rank.launch.node,
        "state": rank.state,
        "code": rank.code,
        "pid": rank.pid,
    }


def manifest(result: Result, frame: Mapping[str, Any]) -> dict[str, Any]:
    """Everything needed to tell two runs apart, or to repeat one."""
    return {
        "run_id": result.run_id,
        "maccluster": __version__,
        **frame,
        "status": result.status,
        "code": result.code,
        "world_size": result.world_size,
        "wall_s": result.wall_s,
        "seats": [asdict(seat) for seat in result.seats],
        "versions": result.versions,
        "score": result.score,
        "last_step": result.last_step,
        "done": result.done,
        "model": result.saved,
        "ranks": result.ranks,
    }


def summary(result: Result, manifest_file: str) -> dict[str, Any]:
    """The one object that ``train --json`` ends with."""
    done = result.done
    tokens, wall_s = done.get("tokens"), done.get("wall_s")
    return {
        "run_id": result.run_id,
        "status": result.status,
        "world_size": result.world_size,
        "steps": done.get("steps"),
        "first_loss": done.get("first_loss"),
        "final_loss": done.get("final_loss"),
        "score_before": result.score.get("before"),
        "score_after": result.score.get("after"),
        "tokens_per_second": round(tokens / wall_s, 1) if tokens and wall_s else None,
        "wall_s": result.wall_s,
        "nodes": [seat.node for seat in result.seats],
        "versions": result.versions,
        "model": result.saved,
        "manifest": manifest_file,
    }
