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
from maccluster_cli.flows.prepare import Ready, dial, prepare, pythons
from maccluster_cli.values import Cable, Node, Profile

if TYPE_CHECKING:
    from maccluster_cli.recipe import Recipe
    from maccluster_cli.transport.fleet import Fleet

Watch = Callable[[Sequence[Rank], int, Mapping[str, Any]], None]
_KILLED = 128
_PEER_LOST = 69  # of worker/fault.py, which travels apart from us
_EXITS = {
    71: "may not open as many files as job.open_files wants",
    78: "refused to start",
    65: "the training diverged",
    _PEER_LOST: "lost its peers",
    74: "could not save",
}


@dataclass(slots=True)
class Result:
    """What a run came to; the manifest and ``--json`` are made of it."""

    run_id: str
    status: str = "running"  # running, done, failed, interrupted
    world_size: int = 0
    code: int = 0
    error: ClusterError | None = None
    wall_s: float | None = None
    seats: tuple[placement.Seat, ...] = ()
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    score: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    done: Mapping[str, Any] = field(default_factory=dict)
    saved: str | None = None
    floor: float | None = None
    stepping_s: float = 0.0
    tokens: int = 0
    warnings: list[str] = field(default_factory=list)
    last_step: Mapping[str, Any] = field(default_factory=dict)
    ranks: tuple[Mapping[str, Any], ...] = ()

    @property
    def steps(self) -> int:
        """Steps that were taken; events count them from 0."""
        return int(self.last_step["step"]) + 1 if self.last_step else 0

    def note(self, event: Mapping[str, Any]) -> None:
        """Keep what an event of rank 0 says about the run as a whole."""
        kind = event.get("event")
        if kind == "score":
            self.score[str(event["when"])] = {key: event.get(key) for key in ("exact", "of", "loss")}
        elif kind == "step":
            self.last_step = event
            self.stepping_s += event["step_s"]
            self.tokens += event["tokens"]
        elif kind == "done":
            self.done = event
        elif kind == "saved":
            self.saved = str(event["path"])
        elif kind == "data":
            self.floor = event.get("entropy_floor_nats_per_byte")


def world_size(recipe: Recipe, nodes: Sequence[Node]) -> int:
    """How many ranks there will be. Raises UsageError where the batch does not divide among them."""
    ranks = sum(node.ranks for node in nodes)
    placement.check_batch(recipe.train.batch_size, ranks, recipe.name)
    return ranks


class Training:
    """One run of a recipe on the fleet's nodes."""

    def __init__(
        self, fleet: Fleet, profile: Profile, recipe: Recipe, run: store.Run, seed: int | None
    ) -> None:
        self._fleet = fleet
        self._cables = profile.cables
        self._first_port = profile.first_port
        self._open_files = profile.open_files
        self._run = run
        self._nodes = placement.order(fleet.nodes, profile.cables)
        self._settings = recipe.for_worker()
        if seed is not None:
            self._settings["train"]["seed"] = seed
        self.result = Result(run.run_id, world_size=world_size(recipe, fleet.nodes))
        self._frame = {
            "recipe": self._settings,
            "profile": {"name": profile.name, "file": str(profile.file)},
            "argv": sys.argv,
            "started": store.utc_now(),
        }

    def run(self, on_event: Watch) -> Result:
        """Train. What goes wrong stands in the result; the manifest is there from the first moment on."""
        began = time.monotonic()
        self._run.conclude(manifest(self.result, self._frame))
        self.result.status = "failed"
        try:
            self._through(on_event)
            self.result.status = "done"
        except KeyboardInterrupt:
            self.result.status, self.result.code = "interrupted", INTERRUPTED
        except ClusterError as error:
            self.result.error, self.result.code = error, error.code
        finally:
            self.result.wall_s = round(time.monotonic() - began, 3)
            self._conclude()
        return self.result

    def _conclude(self) -> None:
        """A disk that is full by now must not take the result away: it still reaches the screen."""
        try:
            self._run.conclude(manifest(self.result, {**self._frame, "ended": store.utc_now()}))
        except ClusterError as error:
            self.result.warnings.append(str(error))

    def _through(self, on_event: Watch) -> None:
        ready, interpreters = self._prepare()
        launches = mlx.launches(ready.seats, interpreters, ready.folders, ready.systems)

        def noted(ranks: Sequence[Rank], rank: int, event: Mapping[str, Any]) -> None:
            if rank == 0:
                self.result.note(event)
            on_event(ranks, rank, event)

        job = Job(self._fleet, launches, ready.folders, self._run, noted, open_files=self._open_files)
        try:
            job.run()
        finally:
            self.result.ranks = tuple(_rank(rank) for rank in job.ranks)
        if self.result.saved:
            self.result.saved = f"{ready.folders[ready.seats[0].node]}/{self.result.saved}"
        _judge(job, self._run)

    def _prepare(self) -> tuple[Ready, dict[str, str]]:
        interpreters = pythons(self._nodes, sys.executable)
        management = _management(self._fleet, self._nodes, self._cables)
        seats = placement.seats(self._nodes, self._cables, management)
        wanted = placement.with_ports(seats, self._first_port)
        spec = mlx.spec(self._run.run_id, len(seats), self._settings)
        files = {mlx.SPEC: spec, mlx.ARCHIVE: store.worker_archive()}
        ready = prepare(self._fleet, self._run.run_id, files, wanted, interpreters)
        self.result.seats, self.result.versions = ready.seats, ready.versions
        if len(self._nodes) > 1:
            dial(self._fleet, ready, interpreters)
        return ready, interpreters


def _management(fleet: Fleet, nodes: Sequence[Node], cables: Sequence[Cable]) -> dict[str, str]:
    """LAN addresses, asked for only where some neighbours have no cable."""
    if not placement.needs_management(nodes, cables):
        return {node.name: "" for node in nodes}
    found = {outcome.node.name: outcome.value for outcome in fleet.each(lambda door: door.address())}
    for name, address in found.items():
        if address.startswith("127.") or address.count(".") != 3:  # noqa: PLR2004  # IPv4 has three dots
            text = f"it is reached as {address or 'nobody knows what'}, where no other node can dial it"
            raise ClusterError(
                text, node=name, hint="give it host = its name on the network, or [[cables]] addresses"
            )
    return found


def _judge(job: Job, run: store.Run) -> None:
    """Raise the error of the rank that failed by itself, if any did; the worst code of those counts."""
    failed = [rank for rank in job.ranks if rank.code != 0 and not rank.stopped]
    if not failed:
        return
    # a rank that lost its peers tells of another's end; blame who began
    first = min(failed, key=lambda rank: (rank.code == _PEER_LOST, rank.lost is None, rank.launch.rank))
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
    speed = round(result.tokens / result.stepping_s, 1) if result.stepping_s else None
    return {
        "run_id": result.run_id,
        "status": result.status,
        "world_size": result.world_size,
        "steps": result.steps,
        "first_loss": done.get("first_loss"),
        "final_loss": done.get("final_loss"),
        "entropy_floor_nats_per_byte": result.floor,
        "score_before": result.score.get("before"),
        "score_after": result.score.get("after"),
        "tokens_per_second": speed,
        "wall_s": result.wall_s,
        "nodes": [seat.node for seat in result.seats],
        "versions": result.versions,
        "model": result.saved,
        "manifest": manifest_file,
    }
