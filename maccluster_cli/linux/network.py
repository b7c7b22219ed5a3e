"""Interfaces and addresses from iproute2; speeds from the kernel's files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import TYPE_CHECKING, Any

from maccluster_cli.linux.files import FILES, below
from maccluster_cli.values import LINUX, Command, Fact, Interface

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maccluster_cli.values import Reply

IP = Command(("ip", "-j", "addr"), system=LINUX)

_SPEED = re.compile(r"[1-9]\d{0,7}", re.ASCII)
_LOOPBACK = "loopback"


def interfaces(reply: Reply) -> tuple[Interface, ...] | None:
    """Read every link; None when `ip` listed none, because a host always has a loopback."""
    links = [link for link in _links(reply.text) if isinstance(link.get("ifname"), str)]
    return tuple(_interface(link, links) for link in links) or None


def speeds(reply: Reply) -> dict[str, float]:
    """Bit/s by interface; the kernel prints Mbit/s, -1 for unknown, and an error while a link is down."""
    found = below(reply, "/sys/class/net/*/speed")
    return {name: int(text) * 1e6 for (name,), text in found.items() if _SPEED.fullmatch(text)}


def with_speeds(
    found: tuple[Interface, ...] | None, rates: Mapping[str, float] | None
) -> tuple[Interface, ...] | None:
    """Write each interface's speed beside it."""
    if found is None:
        return None
    return tuple(replace(interface, speed_bits_s=(rates or {}).get(interface.name)) for interface in found)


def _links(text: str) -> Iterator[Mapping[str, Any]]:
    try:
        links = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(links, list):
        yield from (link for link in links if isinstance(link, Mapping))


def _interface(link: Mapping[str, Any], links: list[Mapping[str, Any]]) -> Interface:
    name, mac, mtu = link["ifname"], link.get("address"), link.get("mtu")
    return Interface(
        name=name,
        mac=mac if isinstance(mac, str) and link.get("link_type") != _LOOPBACK else None,
        addresses=tuple(_addresses(link.get("addr_info"))),
        mtu=mtu if isinstance(mtu, int) and mtu > 0 else None,
        active=_active(link),
        members=tuple(other["ifname"] for other in links if other.get("master") == name),
    )


def _active(link: Mapping[str, Any]) -> bool | None:
    """Judge by the operational state; virtual links leave it at UNKNOWN."""
    return {"UP": True, "DOWN": False, "LOWERLAYERDOWN": False}.get(str(link.get("operstate")))


def _addresses(entries: Any) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, Mapping) or entry.get("family") != "inet":
            continue
        with suppress(ValueError):
            yield str(IPv4Interface(f"{entry.get('local')}/{entry.get('prefixlen')}"))


FACTS = (
    Fact("raw.interfaces", IP, interfaces),
    Fact("raw.speeds", FILES, speeds),
)
