"""Thunderbolt ports and what hangs on them, from `system_profiler`; their enX from the list of ports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maccluster_cli.macos.profiler import PROFILER, THUNDERBOLT, section, words
from maccluster_cli.values import Fact, Peer, Port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maccluster_cli.macos.profiler import Item
    from maccluster_cli.values import Reply

RDMA_PROTOCOL = 0xFA57  # 64087; the service's printed key is garbage on some releases, its number is not
_TAG = re.compile(r"receptacle_\d+_tag")
_RATE = re.compile(r"(up to\s+)?(\d{1,6}(?:\.\d{1,3})?)\s*Gb/s", re.IGNORECASE)
_DEEPEST = 8  # a Thunderbolt chain ends after six devices
_FASTEST_OF_4 = 40e9
_FASTEST_OF_2 = 20e9
_STATES = {
    "receptacle_connected": "connected",
    "receptacle_no_devices_connected": "empty",
    "device connected": "connected",
    "no device connected": "empty",
}


def ports(reply: Reply) -> tuple[Port, ...] | None:
    """All ports by receptacle; an empty tuple is a machine without Thunderbolt, None a tool that failed."""
    buses = _buses(reply)
    if buses is None:
        return None
    return tuple(sorted((port for bus in buses for port in _ports_of(bus)), key=_place))


def generation(reply: Reply) -> int | None:
    """Thunderbolt generation, from what an empty port says it could do ("Up to 120 Gb/s").

    Above 40 Gb/s is Thunderbolt 5. A port in use prints its negotiated rate instead: above 40 Gb/s that still
    proves 5 (a Mac with every port cabled shows nothing else), while 40 or less proves nothing, since a slow
    peer lowers it. "Up to 40 Gb/s" is 3 or 4, and the text does not tell which: inferred are 4 for a bus that
    calls itself USB4 (every Mac with Apple silicon, the M1 included, which is sold as "Thunderbolt / USB 4")
    or has no name, and 3 for any other. 20 Gb/s is 2. None when no port tells.
    """
    known = [found for bus in _buses(reply) or () if (found := _generation_of(bus)) is not None]
    return max(known, default=None)


def with_interfaces(
    found: tuple[Port, ...] | None, devices: Mapping[str, str] | None
) -> tuple[Port, ...] | None:
    """Name the enX of each port: receptacle N is hardware port "Thunderbolt N", and no other name will do."""
    if found is None or devices is None:
        return found
    by_name = {name: device for device, name in reversed(tuple(devices.items()))}
    return tuple(replace(port, interface=by_name.get(f"Thunderbolt {port.receptacle}")) for port in found)


def _buses(reply: Reply) -> tuple[Item, ...] | None:
    entries = section(reply, THUNDERBOLT)
    if entries is None:
        return None
    return tuple(entry for entry in entries if entry.get("Thunderbolt") != "no_hardware")


def _ports_of(bus: Item) -> Iterator[Port]:
    """One port a receptacle; two on a bus (Intel) share its devices, which hang on the first one in use."""
    tags = _tags(bus)
    states = [_state(tag) for tag in tags]
    holder = states.index("connected") if "connected" in states else 0
    for index, (tag, state) in enumerate(zip(tags, states, strict=True)):
        rate, capability = _rates(tag)
        yield Port(
            receptacle=_number(tag.get("receptacle_id_key")),
            domain_uuid=_uuid(bus),
            status=state,
            link_rate_bits_s=rate,
            capability_bits_s=capability,
            peers=tuple(_peers(bus, 0)) if index == holder else (),
        )


def _tags(bus: Item) -> list[Item]:
    found = [bus[key] for key in sorted(bus) if _TAG.fullmatch(key) and isinstance(bus[key], Mapping)]
    return found or [{}]


def _peers(parent: Item, depth: int) -> Iterator[Peer]:
    """Walk through hubs: a Mac behind one sits deeper in the tree."""
    below = parent.get("_items")
    if depth >= _DEEPEST or not isinstance(below, list):
        return
    for item in below:
        if isinstance(item, Mapping):
            yield _peer(item, depth)
            yield from _peers(item, depth + 1)


def _peer(item: Item, depth: int) -> Peer:
    """Only a domain UUID of its own makes it a computer; a display has Apple's vendor name as well."""
    model = words(item.get("device_name_key"))
    uuid = _uuid(item)
    return Peer(
        name=words(item.get("_name")) or model or "unnamed device",
        model=model,
        domain_uuid=uuid,
        offers_rdma=_offers_rdma(item) if uuid else None,
        depth=depth,
    )


def _offers_rdma(item: Item) -> bool | None:
    services = item.get("services_title")
    if not isinstance(services, list):
        return None
    numbers = [
        _number(service.get("protocol_id_key")) for service in services if isinstance(service, Mapping)
    ]
    return str(RDMA_PROTOCOL) in numbers


def _uuid(item: Item) -> str | None:
    found = words(item.get("domain_uuid_key"))
    return found.upper() if found else None


def _number(value: Any) -> str | None:
    """Give a number as text: receptacles are strings and protocols integers, and either may change."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return words(value)


def _state(tag: Item) -> str | None:
    return _STATES.get((words(tag.get("receptacle_status_key")) or "").lower())


def _rates(tag: Item) -> tuple[float | None, float | None]:
    """(negotiated, possible) in bit/s; one text holds either the one or the other."""
    found = _RATE.search(words(tag.get("current_speed_key")) or "")
    if not found:
        return None, None
    rate = float(found[2]) * 1e9
    return (None, rate) if found[1] else (rate, None)


def _generation_of(bus: Item) -> int | None:
    rates = [_rates(tag) for tag in _tags(bus)]
    if any((rate or possible or 0.0) > _FASTEST_OF_4 for rate, possible in rates):
        return 5
    best = max((possible for _, possible in rates if possible is not None), default=None)
    if best is None:
        return None
    if best <= _FASTEST_OF_2:
        return 2
    name = words(bus.get("_name")) or "usb4"
    return 4 if "usb4" in name.lower() else 3


def _place(port: Port) -> tuple[bool, int, str]:
    """Sort key: the tool lists buses from the last to the first."""
    label = port.receptacle or ""
    number = int(label) if label.isascii() and label.isdigit() and len(label) < len("1000") else 0
    return number == 0, number, label


FACTS = (
    Fact("raw.ports", PROFILER, ports),
    Fact("tb.generation", PROFILER, generation),
)
