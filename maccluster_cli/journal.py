"""What was changed, kept before anything moves: one file a change, whole at every moment."""

from __future__ import annotations

import getpass
import json
import os
import platform
import secrets
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from maccluster_cli import store
from maccluster_cli.errors import ClusterError, did_you_mean
from maccluster_cli.shelf import state_dir
from maccluster_cli.values import Change, Plan

APPLYING, DONE, FAILED, INTERRUPTED = "applying", "done", "failed", "interrupted"
PENDING = "pending"


@dataclass(slots=True)
class NodeState:
    """How far one node got: pending, done, failed; ``error`` says why it did not get further."""

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
    def is_half_done(self) -> bool:
        """Whether it was cut short: interrupted, or its process died in the middle."""
        if self.status != APPLYING:
            return self.status == INTERRUPTED
        return self.controller == platform.node() and not store.lives(self.pid)


def begin(what: str, plan: Plan, identities: Mapping[str, str | None], undoes: str | None = None) -> Entry:
    """A new entry, on disk before this returns."""
    stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    touched = dict.fromkeys(change.node for change in plan.changes)
    nodes = {name: NodeState(identities.get(name)) for name in touched}
    entry = Entry(stamp, what, store.utc_now(), nodes, plan, undoes=undoes)
    entry.save()
    return entry


def entries() -> list[Entry]:
    """All entries, newest first. A file that cannot be read is skipped: it is not one of ours."""
    found = [_read(file) for file in sorted(_folder().glob("*.json"), reverse=True)]
    return [entry for entry in found if entry is not None]


def entry(named: str | None) -> Entry:
    """The entry of that id (or its beginning), without one the newest that is not undone."""
    known = entries()
    if named is None:
        undone = {e.undoes for e in known if e.status == DONE}
        # an undo that went through is not what a bare `undo` means: that would be redo, which has to be named
        found = next((e for e in known if e.id not in undone and not (e.undoes and e.status == DONE)), None)
        if found is None:
            raise ClusterError("there is nothing to undo", hint="maccluster undo --list")
        return found
    matches = [e for e in known if e.id.startswith(named)]
    if len(matches) == 1:
        return matches[0]
    what = "is no change in the journal" if not matches else "fits several changes"
    raise ClusterError(
        f"{named!r} {what}{did_you_mean(named, (e.id for e in known))}", hint="maccluster undo --list"
    )


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
    except (OSError, ValueError, TypeError, KeyError):
        return None


def frozen(value: Any) -> Any:
    """JSON has no tuples; the values of settings do."""
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value
