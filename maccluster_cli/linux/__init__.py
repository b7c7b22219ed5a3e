"""What a Linux node's files and commands say, under the names that a Mac's facts have.

As with a Mac, `combine` makes the final facts from the parsed ones; what Linux has no word for is None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maccluster_cli.linux import machine, network, thunderbolt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maccluster_cli.values import Fact

FACTS: tuple[Fact, ...] = (*machine.FACTS, *network.FACTS, *thunderbolt.FACTS)

NAMES: tuple[str, ...] = (
    *(fact.name for fact in FACTS if not fact.name.startswith("raw.")),
    "net.interfaces",
    "hw.gpu_cores",
    "mem.wired_limit_mb",
    "power.sleep_min",
    "power.sleep_disabled",
)


def combine(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Turn parsed facts into final ones: every name of `NAMES` is there, and what nobody knows is None."""
    values = dict.fromkeys(NAMES) | {
        name: part for name, part in parts.items() if not name.startswith("raw.")
    }
    values["net.interfaces"] = network.with_speeds(parts.get("raw.interfaces"), parts.get("raw.speeds"))
    return values
