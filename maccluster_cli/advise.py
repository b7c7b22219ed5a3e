"""What is wrong or worth knowing on a node, out of its facts, and the next thing to type. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maccluster_cli import folk
from maccluster_cli.values import Facts, Plan

FAIL, WARN, NOTE = "fail", "warn", "note"
SPREAD_S = 1.0
SEVERITIES = (FAIL, WARN, NOTE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about one node. ``id`` stays the same; ``next`` has NODES where the nodes' names go."""

    id: str
    severity: str
    node: str
    evidence: str
    next: str = ""


def findings(node: str, facts: Facts, pending: Plan, notes: Sequence[str]) -> Iterator[Finding]:
    """Findings of a node that answered; ``pending`` is what its profile wants and it does not have."""
    yield from _sudo(node, facts)
    mine = [change.setting for change in pending.changes if change.node == node]
    if mine:
        text = f"not as wanted: {', '.join(mine)}"
        yield Finding("tune.drift", WARN, node, text, "maccluster tune --nodes NODES")
    for text in notes:
        yield Finding("posture", NOTE, node, text)


def _sudo(node: str, facts: Facts) -> Iterator[Finding]:
    state = facts.get("sudo")
    if state == "none":
        text = "sudo asks for a password there, and maccluster never sends one"
        yield Finding("sudo.password", FAIL, node, text, "maccluster doctor --nodes NODES --sudoers")
    elif state is None:
        yield Finding("sudo.unknown", NOTE, node, "whether sudo works without a password could not be read")


def clocks(offsets_s: Mapping[str, float]) -> Iterator[Finding]:
    """Nodes whose clocks differ from each other, whoever is right: their logs cannot be laid side by side."""
    if not offsets_s or max(offsets_s.values()) - min(offsets_s.values()) <= SPREAD_S:
        return
    middle = sorted(offsets_s.values())[(len(offsets_s) - 1) // 2]
    for node, offset_s in offsets_s.items():
        if abs(offset_s - middle) > SPREAD_S / 2:
            text = f"its clock is {offset_s - middle:+.1f} s off the other nodes'"
            yield Finding("clock.spread", WARN, node, text, "maccluster tune --nodes NODES")


def advice(node: str, wishes: Mapping[str, Any]) -> Iterator[Finding]:
    """Wishes of a profile that repeat what the web says and no system does."""
    for name, wish in wishes.items():
        if found := folk.advice(name, wish):
            yield Finding(f"folk.{found.id}", WARN, node, f"tune.{name}: {found.truth}", found.instead)
