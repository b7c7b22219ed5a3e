"""What `tune` knows about a Mac: what can be read, what can be set, in which order, and to what by default.

Reading takes two steps, as in the room above: each `Fact` parses one reply, `combine` puts them together.
A setting's value stands under its own name: missing where this Mac has no such thing, None where it could
not be read. The order of `SETTINGS` is that of use: what loses nodes first, then memory, names, clock, files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maccluster_cli.macos.tuning import clock, daemons, files, launchdaemon, memory, names, posture, power

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maccluster_cli.values import Fact, Facts, Setting

# What may take seconds stands last: a script that is cut has answered all else by then.
FACTS: tuple[Fact, ...] = (
    *power.FACTS,
    *memory.FACTS,
    *files.FACTS,
    *launchdaemon.FACTS,
    *names.FACTS,
    *(fact for fact in posture.FACTS if fact.command != posture.LOG),
    *clock.FACTS,
    *(fact for fact in posture.FACTS if fact.command == posture.LOG),
)
SETTINGS: tuple[Setting, ...] = (
    *power.SETTINGS,
    *memory.SETTINGS,
    *names.SETTINGS,
    *clock.SETTINGS,
    *files.SETTINGS,
)
BASELINE: Mapping[str, Any] = {
    **power.BASELINE,
    **memory.BASELINE,
    **names.BASELINE,
    **clock.BASELINE,
    **files.BASELINE,
}
REPORTS: tuple[str, ...] = (
    *power.REPORTS,
    *memory.REPORTS,
    *clock.REPORTS,
    *posture.REPORTS,
    *daemons.REPORTS,
)


def combine(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Final facts: every report, and every setting that this Mac has."""
    kept = {name: part for name, part in parts.items() if not name.startswith("raw.")}
    values = dict.fromkeys(REPORTS) | kept
    for room in (power, memory, files, clock, names, posture, daemons):
        values |= room.joined(parts)
    return values


def notes(facts: Facts) -> tuple[str, ...]:
    """What the reported facts mean for the owner of a cluster, a sentence each."""
    return (*posture.notes(facts), *daemons.notes(facts))
