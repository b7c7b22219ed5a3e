"""What was changed, kept before anything moves: one file a change, whole at every moment."""

from __future__ import annotations

import getpass
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from maccluster_cli import store
from maccluster_cli.errors import ClusterError, UsageError, did_you_mean
from maccluster_cli.shelf import state_dir
from maccluster_cli.values import Change, Plan

APPLYING, DONE, FAILED, INTERRUPTED, RESUMED = "applying", "done", "failed", "interrupted", "resumed"
PENDING, REFUSED, UNTOUCHED = "pending", "refused", "untouched"


@dataclass(slots=True)
class NodeState:
    """How far one node got: pending, done, failed, refused, untouched; ``error`` says why no further."""

    identity: str | None
    status: str = PENDING
    error: str = ""


@dataclass(slots=True)
class Entry:
    """One change of the cluster: who, when, what, on which machines, and how it ended."""

    id: str
    what: str
    when: str
    nodes: dict[str, NodeState]
    plan: Plan
    status: str = APPLYING
    undoes: str | None = None
    profile: str = ""
    user: str = field(default_factory=getpass.getuser)
    controller: str = field(default_factory=platform.node)
    pid: int = field(default_factory=os.getpid)
    argv: list[str] = field(default_factory=lambda: list(sys.argv))
    _writing: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    def save(self) -> None:
        """Write it in one step; many nodes may end at the same moment."""
        with self._writing:
            names = [name for name in Entry.__slots__ if name not in {"_writing", "plan", "nodes"}]
            fields: dict[str, Any] = {name: getattr(self, name) for name in names}
            fields["nodes"] = {name: asdict(state) for name, state in self.nodes.items()}
            fields["changes"] = [asdict(change) for change in self.plan.changes]
            store.write_atomically(_folder() / f"{self.id}.json", store.dump(fields))

    def note(self, node: str, status: str, error: str = "") -> None:
        """How a node ended, on disk at once."""
        self.nodes[node].status, self.nodes[node].error = status, error
        self.save()

    def conclude(self) -> None:
        """The end of the whole: done where every node is."""
        ended = {state.status for state in self.nodes.values()}
        self.status = DONE if ended <= {DONE} else FAILED
        self.save()

    @property
    def not_done(self) -> list[str]:
        """Nodes of which nobody knows that they got to the end."""
        return [name for name, state in self.nodes.items() if state.status not in {DONE, UNTOUCHED}]

    @property
    def touched(self) -> list[str]:
        """Nodes on which something was or may have been changed."""
        return [name for name, state in self.nodes.items() if state.status not in {REFUSED, UNTOUCHED}]

    @property
    def is_half_done(self) -> bool:
        """Whether it was cut short: interrupted, or its process died in the middle."""
        if self.status != APPLYING:
            return self.status == INTERRUPTED
        return bool(self.not_done) and self.controller == platform.node() and not store.lives(self.pid)


def begin(
    what: str,
    plan: Plan,
    identities: Mapping[str, str | None],
    undoes: str | None = None,
    settled: Mapping[str, str] | None = None,
    profile: str = "",
) -> Entry:
    """A new entry, on disk before this returns. ``settled``: nodes without a change, and why if refused."""
    touched = dict.fromkeys(change.node for change in plan.changes)
    nodes = {name: NodeState(identities.get(name)) for name in touched}
    for name, reason in (settled or {}).items():
        nodes.setdefault(name, NodeState(identities.get(name), REFUSED if reason else DONE, reason))
    entry = Entry(_new_id(), what, store.utc_now(), nodes, plan, undoes=undoes, profile=profile)
    entry.save()
    return entry


def _new_id() -> str:
    """Ids sort by time, in a zone without summer time, down to a fraction of a second."""
    while True:
        second, fraction = divmod(time.time(), 1)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(second))
        new = f"{stamp}-{int(fraction * 0x10000):04x}"
        if not (_folder() / f"{new}.json").exists():
            return new
        time.sleep(0.001)


def entries() -> list[Entry]:
    """All entries, newest first. A file that cannot be read is skipped: it is not one of ours."""
    found = [_read(file) for file in sorted(_folder().glob("*.json"), reverse=True)]
    return [entry for entry in found if entry is not None]


def undone(entry: Entry, known: Sequence[Entry]) -> set[str]:
    """Nodes on which it was taken back, and that was not taken back in turn."""
    gone: set[str] = set()
    others = [other for other in known if other.id != entry.id]  # and so on inwards: no ring without an end
    for later in others:
        if later.undoes == entry.id:
            ended = {name for name, state in later.nodes.items() if state.status == DONE}
            gone |= ended - undone(later, others)
    return gone


def cut_short(known: Sequence[Entry], profile: str) -> list[Entry]:
    """Entries of a profile that ended in the middle and that nobody has put right, one way or the other."""
    by_id = {entry.id: entry for entry in known}

    def is_open(entry: Entry) -> bool:
        target = by_id.get(entry.undoes or "")
        settled = undone(entry, known) | (undone(target, known) if target else set())
        return not settled.issuperset(entry.not_done)

    mine = [entry for entry in known if entry.profile in {"", profile}]
    return [entry for entry in mine if entry.is_half_done and is_open(entry)]


def entry(named: str | None, among: Container[str] | None = None, profile: str = "") -> Entry:
    """The entry of that id (or its beginning); without one the profile's newest in force on these nodes."""
    known = entries()
    if named is None:
        # an undo is not what a bare `undo` means: that would be redo, which has to be named
        mine = (e for e in known if not e.undoes and e.profile in {"", profile})
        found = next((e for e in mine if _in_force(e, known, among)), None)
        if found is None:
            raise ClusterError("there is nothing to undo", hint="maccluster undo --list")
        return found
    matches = [e for e in known if e.id.startswith(named)]
    if len(matches) == 1:
        return matches[0]
    what = "is no change in the journal" if not matches else "fits several changes"
    near = did_you_mean(named, (e.id for e in known)) if not matches else ""
    raise UsageError(f"{named!r} {what}{near}", hint="maccluster undo --list")


def _in_force(entry: Entry, known: Sequence[Entry], among: Container[str] | None) -> bool:
    gone = undone(entry, known)
    return any(name not in gone and (among is None or name in among) for name in entry.touched)


def _folder() -> Path:
    return state_dir() / "journal"


def _read(file: Path) -> Entry | None:
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
        changes = tuple(
            Change(c["node"], c["setting"], frozen(c["have"]), frozen(c["want"]))
            for c in fields.pop("changes")
        )
        nodes = {name: NodeState(**state) for name, state in fields.pop("nodes").items()}
        fields.pop("schema")
        return Entry(nodes=nodes, plan=Plan(changes), **fields)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def frozen(value: Any) -> Any:
    """JSON has no tuples; the values of settings do."""
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value
