"""What `tune` knows about a Linux node, with a Mac's names where they mean the same.

As with a Mac, `combine` makes final facts of parsed ones. A setting's value stands under its own name:
missing where this system has no such thing, None where it could not be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maccluster_cli.linux.tuning import buffers, clock, files, governor, posture, sleep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maccluster_cli.values import Fact, Facts, Setting

FACTS: tuple[Fact, ...] = (
    *sleep.FACTS,
    *files.FACTS,
    *buffers.FACTS,
    *governor.FACTS,
    *posture.FACTS,
    *clock.FACTS,
)
SETTINGS: tuple[Setting, ...] = (
    *sleep.SETTINGS,
    *governor.SETTINGS,
    *buffers.SETTINGS,
    *clock.SETTINGS,
    *files.SETTINGS,
)
BASELINE: Mapping[str, Any] = {
    **sleep.BASELINE,
    **governor.BASELINE,
    **buffers.BASELINE,
    **clock.BASELINE,
    **files.BASELINE,
}
REPORTS: tuple[str, ...] = (*files.REPORTS, *governor.REPORTS, *clock.REPORTS, *posture.REPORTS)


def combine(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Final facts: every report, and every setting that this node has."""
    kept = {name: part for name, part in parts.items() if not name.startswith("raw.")}
    values = dict.fromkeys(REPORTS) | kept
    for room in (sleep, files, buffers, governor, clock):
        values |= room.joined(parts)
    return values


def notes(facts: Facts) -> tuple[str, ...]:
    """What the reported facts mean for the owner of a cluster; on Linux there is nothing to add."""
    del facts
    return ()
