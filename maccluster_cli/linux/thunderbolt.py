"""Thunderbolt and RDMA devices as the kernel's files show them.

The layout is that of the kernel (Documentation/ABI/testing/sysfs-bus-thunderbolt): "0-0" is the
host itself, "0-1" what hangs on its port 1, "0-301" what hangs on port 3 of that. Another computer has a
`unique_id`, as devices have, but nothing to authorise.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from maccluster_cli.linux.files import FILES, below, contents
from maccluster_cli.values import Fact, Peer, Port, Rdma

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maccluster_cli.values import Reply

_DEVICES = "/sys/bus/thunderbolt/devices/"
_ROUTE = re.compile(r"(\d{1,3})-([0-9a-f]{1,14})", re.ASCII)
_RATE = re.compile(r"(\d{1,4}(?:\.\d)?) Gb/s", re.ASCII)
_HOST = "0"
_HOP = 2  # hex digits of one hop in a route


def ports(reply: Reply) -> tuple[Port, ...] | None:
    """Read the host's ports; None without the Thunderbolt bus. A free port shows only as an unused host."""
    ids = _entries(reply, "unique_id")
    hosts = {domain: uuid for (domain, route), uuid in ids.items() if route == _HOST}
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for domain, route in ids:
        if route != _HOST:
            found[domain, route[-_HOP:].lstrip("0")].append(route)
    idle = tuple(Port(None, uuid.upper(), status="empty") for uuid in _idle(hosts, found))
    used = tuple(
        _port(reply, hosts.get(domain), domain, sorted(routes, key=len))
        for (domain, _), routes in sorted(found.items())
    )
    return used + idle or None


def generation(reply: Reply) -> int | None:
    """Read the host's generation, 4 being USB4 of either version."""
    found = [text for (_, route), text in _entries(reply, "generation").items() if route == _HOST]
    return max((int(text) for text in found if text in {"1", "2", "3", "4", "5"}), default=None)


def rdma(reply: Reply) -> Rdma | None:
    """Judge by the state of the verbs devices ("4: ACTIVE"); None when the files were not read at all."""
    if not contents(reply):
        return None
    states = {
        device: text for (device, _), text in below(reply, "/sys/class/infiniband/*/ports/*/state").items()
    }
    names = tuple(states)
    if not names:
        return Rdma("impossible", "no verbs device on this machine")
    up = ", ".join(name for name, state in states.items() if state.endswith("ACTIVE"))
    return Rdma("active", f"active on {up}", names) if up else Rdma("ready", "no port is active", names)


def _idle(hosts: Mapping[str, str], found: Mapping[tuple[str, str], list[str]]) -> list[str]:
    busy = {domain for domain, _ in found}
    return [uuid for domain, uuid in sorted(hosts.items()) if domain not in busy]


def _port(reply: Reply, uuid: str | None, domain: str, routes: list[str]) -> Port:
    return Port(
        receptacle=routes[0][-_HOP:].lstrip("0"),
        domain_uuid=uuid.upper() if uuid else None,
        interface=_interface(reply, domain, routes),
        status="connected",
        link_rate_bits_s=_rate(reply, domain, routes[0]),
        peers=tuple(_peer(reply, domain, route) for route in routes),
    )


def _peer(reply: Reply, domain: str, route: str) -> Peer:
    key = (domain, route)
    label = _entries(reply, "device_name").get(key)
    computer = key not in _entries(reply, "authorized")
    uuid = _entries(reply, "unique_id")[key].upper()
    return Peer(label or "unnamed device", label, uuid if computer else None, depth=(len(route) - 1) // _HOP)


def _interface(reply: Reply, domain: str, routes: list[str]) -> str | None:
    """Find the network device below one of the services ("0-1.0/net/thunderbolt0")."""
    for service, interface in below(reply, f"{_DEVICES}*/net/*/operstate"):
        if service.rpartition(".")[0] in {f"{domain}-{route}" for route in routes}:
            return interface
    return None


def _rate(reply: Reply, domain: str, route: str) -> float | None:
    """Multiply speed and lanes, which the kernel gives apart."""
    speed = _RATE.match(_entries(reply, "rx_speed").get((domain, route), ""))
    lanes = _entries(reply, "rx_lanes").get((domain, route), "")
    return float(speed[1]) * 1e9 * int(lanes) if speed and lanes in {"1", "2", "3"} else None


def _entries(reply: Reply, leaf: str) -> dict[tuple[str, str], str]:
    """Give one attribute of all devices by (domain, route)."""
    found = below(reply, f"{_DEVICES}*/{leaf}")
    return {
        (route[1], route[2]): text
        for (name,), text in found.items()
        if (route := _ROUTE.fullmatch(name)) and text
    }


FACTS = (
    Fact("tb.ports", FILES, ports),
    Fact("tb.generation", FILES, generation),
    Fact("rdma", FILES, rdma),
)
