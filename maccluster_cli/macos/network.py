"""Interfaces, their addresses and which hardware port each one is."""

from __future__ import annotations

import re
from dataclasses import replace
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from maccluster_cli.values import DARWIN, Command, Fact, Interface

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maccluster_cli.values import Reply

IFCONFIG = Command(("ifconfig", "-a"), system=DARWIN)
HARDWARE_PORTS = Command(("networksetup", "-listallhardwareports"), system=DARWIN)

_HEADER = re.compile(
    r"^([A-Za-z][\w.-]*): flags=[0-9a-f]+(?:<[^>\n]*>)?(?:.*? mtu (\d{1,9}))?", re.ASCII | re.MULTILINE
)
_MAC = re.compile(r"^\s+ether ((?:[0-9a-f]{1,2}:){5}[0-9a-f]{1,2})\b", re.ASCII | re.MULTILINE)
_INET = re.compile(r"^\s+inet (\S+)(?: --> \S+)?(?: netmask (\S+))?", re.MULTILINE)
_STATUS = re.compile(r"^\s+status: (\S+)", re.MULTILINE)
_MEDIA = re.compile(r"^\s+media: .*?\b(\d{1,6}(?:\.\d)?)(G?)base", re.IGNORECASE | re.MULTILINE)
_MEMBER = re.compile(r"^\s+member: (\S+)", re.MULTILINE)
_HEX_MASK = re.compile(r"0x[0-9a-f]{8}", re.ASCII)
_FULL = 32


def interfaces(reply: Reply) -> tuple[Interface, ...] | None:
    """Every interface `ifconfig` lists; None when it listed none, because a host always has a loopback."""
    return tuple(_interface(header, text) for header, text in _blocks(reply.text)) or None


def hardware_ports(reply: Reply) -> dict[str, str] | None:
    """Device to port name. Errors come on stdout with exit 0, so only the expected lines count."""
    found: dict[str, str] = {}
    port = None
    for line in reply.text.splitlines():
        label, _, value = line.partition(": ")
        if label == "Hardware Port":
            port = value.strip()
        elif label == "Device" and port and value.strip():
            found.setdefault(value.strip(), port)
            port = None
    return found or None


def with_ports(
    found: tuple[Interface, ...] | None, devices: Mapping[str, str] | None
) -> tuple[Interface, ...] | None:
    """Write each interface's hardware port beside it."""
    if found is None or not devices:
        return found
    return tuple(replace(interface, port=devices.get(interface.name)) for interface in found)


def _blocks(text: str) -> Iterator[tuple[re.Match[str], str]]:
    headers = list(_HEADER.finditer(text))
    ends = [*(header.start() for header in headers), len(text)]
    for header, end in zip(headers, ends[1:], strict=True):
        yield header, text[header.end() : end]


def _interface(header: re.Match[str], text: str) -> Interface:
    mac = _MAC.search(text)
    status = _STATUS.search(text)
    active = status[1] == "active" if status else None
    return Interface(
        name=header[1],
        mac=mac[1] if mac else None,
        addresses=tuple(_addresses(text)),
        mtu=int(header[2]) if header[2] else None,
        active=active,
        speed_bits_s=_speed(text) if active else None,
        members=tuple(_MEMBER.findall(text)),
    )


def _addresses(text: str) -> Iterator[str]:
    """IPv4 with its prefix; an address that has no readable mask stands for itself alone."""
    for found in _INET.finditer(text):
        host, _, length = found[1].partition("/")
        try:
            address = IPv4Address(host)
            bits = int(length) if length else _prefix(found[2])
        except ValueError:
            continue
        if 0 <= bits <= _FULL:
            yield f"{address}/{bits}"


def _prefix(mask: str | None) -> int:
    if mask is None:
        return _FULL
    bits = int(mask, 16) if _HEX_MASK.fullmatch(mask) else int(IPv4Address(mask))
    return bits.bit_count()


def _speed(text: str) -> float | None:
    """Bit/s of an Ethernet medium; a Thunderbolt port says only "autoselect"."""
    found = _MEDIA.search(text)
    return float(found[1]) * (1e9 if found[2] else 1e6) if found else None


FACTS = (
    Fact("raw.interfaces", IFCONFIG, interfaces),
    Fact("raw.hardware_ports", HARDWARE_PORTS, hardware_ports),
)
