"""Start every rank, watch them all, stop them all: no rank outlives its job."""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from maccluster_cli.errors import BUG, UNREACHABLE, ClusterError
from maccluster_cli.transport import lay
from maccluster_cli.transport.base import ask
from maccluster_cli.transport.fleet import Fleet
from maccluster_cli.values import Command, Launch

log = logging.getLogger(__name__)
_LAST_WORDS_S = 5.0  # after one rank failed, the others notice and say so themselves
_POLITE_S = 2.5  # from TERM to KILL; the ring holds no wired RDMA memory, so KILL loses nothing
_TICK_S = 0.2
_TAIL = 20


class Keeper(Protocol):
    """Who keeps what ranks say."""

    def event(self, line: bytes) -> None:
        """One event, as it came."""

    def log(self, rank: int, data: bytes) -> None:
        """What a rank wrote to stderr."""


@dataclass(slots=True)
class Rank:
    """One rank as the watcher sees it."""

    launch: Launch
    state: str = "starting"  # starting, running, done, failed
    code: int | None = None  # None until it ended, and where the connection was lost
    group: int | None = None  # its process group on the node: what is stopped is stopped whole
    pid: int | None = None
    error: Mapping[str, Any] | None = None
    tail: list[str] = field(default_factory=list)
    lost: ClusterError | None = None
    stopped: bool = False  # by us: its exit code is then no verdict on it

    @property
    def ended(self) -> bool:
        """Whether its process, or the way to it, is gone."""
        return self.state in {"done", "failed"}


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that happened: an event of a rank, or its end."""

    rank: int
    event: Mapping[str, Any] | None = None
    code: int | None = None
    lost: ClusterError | None = None


class Job:
    """All ranks of one run. ``on_event`` sees every event of every rank, in the caller's thread."""

    def __init__(
        self,
        fleet: Fleet,
        launches: Sequence[Launch],
        folders: Mapping[str, str],
        keeper: Keeper,
        on_event: Callable[[Sequence[Rank], int, Mapping[str, Any]], None],
        *,
        open_files: int | None = None,
    ) -> None:
        self.ranks = [Rank(launch) for launch in launches]
        self._fleet = fleet
        self._folders = folders
        self._keeper = keeper
        self._open_files = open_files
        self._on_event = on_event
        self._told: queue.Queue[Told] = queue.Queue()
        self._failed_at: float | None = None

    def run(self) -> None:
        """Start all ranks and return when all have ended. Ctrl-C stops them first, then goes on up."""
        nodes = {node.name: node for node in self._fleet.nodes}
        threads = [
            threading.Thread(target=self._attend, args=(rank.launch, nodes[rank.launch.node]), daemon=True)
            for rank in self.ranks
        ]
        try:
            for thread in threads:
                thread.start()
            self._watch()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """TERM, a short wait, KILL: whole process groups, on every node at once."""
        for rank in self.ranks:
            rank.stopped = not rank.ended
        for number in (signal.SIGTERM, signal.SIGKILL):
            if any(not rank.ended for rank in self.ranks):
                # beside the drain: a node that is gone must not use up the time of the others
                threading.Thread(target=self._signal, args=(number,), daemon=True).start()
                self._drain(_POLITE_S)

    def _attend(self, launch: Launch, node: Any) -> None:
        """One thread a rank: pass on what it says until it ends; it always tells the end."""
        try:
            told = self._followed(launch, node)
        except ClusterError as error:
            told = Told(launch.rank, lost=error)
        except BaseException as error:  # a bug here must end the job, not hang it
            log.exception("rank %s", launch.rank)
            told = Told(
                launch.rank, lost=ClusterError(f"its watcher broke ({error!r})", node=node.name, code=BUG)
            )
        self._told.put(told)

    def _followed(self, launch: Launch, node: Any) -> Told:
        lines = _Events(launch.rank, self._told, self._keeper)
        stream = self._fleet.door(node).open(lay.start(launch, self._folders[launch.node], self._open_files))
        try:
            code = stream.pump(lines.out, lines.err)
        finally:
            stream.close()
        if code is not None:
            return Told(launch.rank, code=code)
        hint = f"maccluster status --nodes {node.name}"
        lost = ClusterError(
            "the connection was lost while it trained", node=node.name, hint=hint, code=UNREACHABLE
        )
        return Told(launch.rank, lost=lost)

    def _watch(self) -> None:
        while any(not rank.ended for rank in self.ranks):
            self._take(_TICK_S)
            if self._failed_at and time.monotonic() - self._failed_at > _LAST_WORDS_S:
                self.stop()
                return

    def _drain(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while any(not rank.ended for rank in self.ranks) and time.monotonic() < end:
            self._take(_TICK_S)

    def _take(self, wait_s: float) -> None:
        try:
            told = self._told.get(timeout=wait_s)
        except queue.Empty:
            return
        rank = self.ranks[told.rank]
        if told.event is None:
            rank.code, rank.lost = told.code, told.lost
            rank.state = "done" if told.code == 0 else "failed"
            if rank.state == "failed" and self._failed_at is None:
                self._failed_at = time.monotonic()
            log.info("rank %s ended: code %s", told.rank, told.code)
            self._on_event(self.ranks, told.rank, {"event": "ended", "code": told.code})
            return
        self._note(rank, told.event)
        self._on_event(self.ranks, told.rank, told.event)

    @staticmethod
    def _note(rank: Rank, event: Mapping[str, Any]) -> None:
        if event.get("event") == "launched":
            rank.group = event.get("group")
        elif event.get("event") == "start":
            rank.state, rank.pid = "running", event.get("pid")
        elif event.get("event") == "error":
            rank.error = event
        elif event.get("event") == "stderr":
            rank.tail = [*rank.tail, str(event["text"])][-_TAIL:]

    def _signal(self, number: signal.Signals) -> None:
        """To the process groups of all ranks that live."""
        groups: dict[str, list[str]] = {}
        for rank in self.ranks:
            if not rank.ended and rank.group:
                groups.setdefault(rank.launch.node, []).append(f"-{rank.group}")

        def send(door: Any) -> None:
            if pids := groups.get(door.node.name):
                name = number.name.removeprefix("SIG")
                ask(door, [Command(("/bin/kill", "-s", name, "--", *pids), timeout_s=3)])

        with contextlib.suppress(ClusterError):
            self._fleet.each(send)


class _Events:
    """Splits a rank's stdout into events; stderr goes to its log and, line by line, to the watcher."""

    def __init__(self, rank: int, told: queue.Queue[Told], keeper: Keeper) -> None:
        self._rank, self._told, self._keeper = rank, told, keeper
        self._rest = {"out": b"", "err": b""}

    def out(self, data: bytes) -> None:
        for line in self._lines("out", data):
            self._keeper.event(line)
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": "stderr", "text": line.decode("utf-8", "replace")}
            self._told.put(Told(self._rank, event if isinstance(event, dict) else {"event": "noise"}))

    def err(self, data: bytes) -> None:
        self._keeper.log(self._rank, data)
        for line in self._lines("err", data):
            self._told.put(Told(self._rank, {"event": "stderr", "text": line.decode("utf-8", "replace")}))

    def _lines(self, stream: str, data: bytes) -> list[bytes]:
        *lines, self._rest[stream] = (self._rest[stream] + data).split(b"\n")
        return [line for line in lines if line.strip()]
