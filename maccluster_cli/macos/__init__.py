"""What a Mac's own commands say.

Reading takes two pure steps. Each `Fact` parses the reply of one command. What takes several replies (which
enX a port is, whether RDMA can work) is put together afterwards by `combine`:

    values = combine({fact.name: fact.parse(reply) for fact in FACTS})

Names that begin with `raw.` are parts for that second step and do not survive it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maccluster_cli.macos import hardware, memory, network, power, rdma, system, thunderbolt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maccluster_cli.values import Fact

FACTS: tuple[Fact, ...] = (
    *hardware.FACTS,
    *system.FACTS,
    *network.FACTS,
    *thunderbolt.FACTS,
    *rdma.FACTS,
    *power.FACTS,
    *memory.FACTS,
)

NAMES: tuple[str, ...] = (
    *(fact.name for fact in FACTS if not fact.name.startswith("raw.")),
    "os.uptime_s",
    "net.interfaces",
    "tb.ports",
    "rdma",
)


def combine(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Turn parsed facts into final ones: every name of `NAMES` is there, and what nobody knows is None.

    Facts that other rooms read along with these pass through as they are.
    """
    values = dict.fromkeys(NAMES) | {
        name: part for name, part in parts.items() if not name.startswith("raw.")
    }
    values |= system.joined(parts)
    values |= hardware.joined({**parts, "os.version": values["os.version"]})
    devices = parts.get("raw.hardware_ports")
    values["net.interfaces"] = network.with_ports(parts.get("raw.interfaces"), devices)
    values["tb.ports"] = thunderbolt.with_interfaces(parts.get("raw.ports"), devices)
    values["rdma"] = rdma.joined({**parts, **values}, values["tb.ports"])
    return values
