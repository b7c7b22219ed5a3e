"""Daemons of others that write what a cluster sets: on a timer or at boot they win, and values drift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OURS = "io.maccluster."
# Part of a label -> what that daemon changes.
RIVALS = {
    "io.exo.networksetup": "puts Thunderbolt services back on DHCP every half hour",
    "limit.maxfiles": "sets the limit on open files at boot",
    "limit.maxproc": "sets the limit on processes at boot",
    "iogpu": "sets the GPU's wired limit at boot",
    "wired_limit": "sets the GPU's wired limit at boot",
    "wired-limit": "sets the GPU's wired limit at boot",
    "wiredlimit": "sets the GPU's wired limit at boot",
    "thunderbolt-bridge": "changes the Thunderbolt bridge",
    "sysctl": "sets kernel values at boot",
}


def _known(label: str) -> str | None:
    lowered = label.lower()
    return next((what for part, what in RIVALS.items() if part in lowered), None)


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """All labels, and of those the rivals: pairs of label and what it changes."""
    labels = parts.get("daemons")
    if labels is None:
        return dict.fromkeys(REPORTS)
    others = [label for label in labels if not label.startswith(OURS)]
    rivals = tuple((label, what) for label in others if (what := _known(label)))
    return {"daemons": labels, "daemons.rivals": rivals}


def notes(facts: Mapping[str, Any]) -> Iterator[str]:
    """One sentence a rival."""
    for label, what in facts.get("daemons.rivals") or ():
        yield f"{label} {what}: what maccluster sets there does not stay"


REPORTS = ("daemons", "daemons.rivals")
