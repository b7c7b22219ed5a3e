"""What is wrong or worth knowing on a node, out of its facts, and the next thing to type. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maccluster_cli.values import Facts, Plan

FAIL, WARN, NOTE = "fail", "warn", "note"
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
