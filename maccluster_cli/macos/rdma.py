"""Whether RDMA over Thunderbolt can work on this Mac, and what stands in its way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maccluster_cli.values import DARWIN, Command, Fact, Port, Rdma

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maccluster_cli.values import Reply

RDMA_CTL = Command(("rdma_ctl", "status"), system=DARWIN)
IBV_DEVICES = Command(("ibv_devices",), system=DARWIN)
IBV_DEVINFO = Command(("ibv_devinfo",), system=DARWIN)

NEEDED_GENERATION = 5
NEEDED_VERSION = (26, 2)
RECOVERY_STEP = "start the Mac in Recovery, open Terminal there, run `rdma_ctl enable`, restart"

_DEVICE = re.compile(r"^[ \t]*(rdma_\w+)[ \t]+[0-9a-f:]+[ \t]*$", re.ASCII | re.MULTILINE)
_HCA = re.compile(r"^hca_id:\s*(\S+)", re.MULTILINE)
_STATE = re.compile(r"^\s*state:\s*(PORT_\w+)", re.ASCII | re.MULTILINE)
_VERSION = re.compile(r"(\d{1,4})(?:\.(\d{1,4}))?", re.ASCII)
_BESIDE_ETHERNET = "rdma_en2"


@dataclass(frozen=True, slots=True)
class Signs:
    """All that the verdict rests on; None is what nobody could tell."""

    generation: int | None
    version: str | None
    enabled: bool | None
    states: Mapping[str, str | None] | None  # device -> PORT_ACTIVE, PORT_DOWN or None
    ports: tuple[Port, ...] | None
    studio: bool = False


def enabled(reply: Reply) -> bool | None:
    """Read the flag, which any Mac lets itself be set; the tool is absent before macOS 26.2."""
    return {"enabled": True, "disabled": False}.get(reply.text.strip())


def devices(reply: Reply) -> tuple[str, ...] | None:
    """Names that `ibv_devices` lists; its bare heading means that there are none."""
    names = tuple(_DEVICE.findall(reply.text))
    return names if names or "node GUID" in reply.text else None


def port_states(reply: Reply) -> dict[str, str | None] | None:
    """Device to state of its port, as `ibv_devinfo` prints them."""
    text = reply.text
    found = list(_HCA.finditer(text))
    if not found:
        told = text + reply.err.decode("utf-8", "replace")
        return {} if "No IB devices found" in told else None
    ends = [hca.start() for hca in found[1:]] + [len(text)]
    states = (_STATE.search(text, hca.end(), end) for hca, end in zip(found, ends, strict=True))
    return {hca[1]: state[1] if state else None for hca, state in zip(found, states, strict=True)}


def joined(parts: Mapping[str, Any], ports: tuple[Port, ...] | None) -> Rdma | None:
    """Judge by the facts of four subjects; None when not one of them is known."""
    names, states = parts.get("raw.rdma_devices"), parts.get("raw.rdma_states")
    known = None if names is None and states is None else dict.fromkeys(names or ()) | (states or {})
    signs = Signs(
        generation=parts.get("tb.generation"),
        version=parts.get("os.version"),
        enabled=parts.get("raw.rdma_enabled"),
        states=known,
        ports=ports,
        studio=parts.get("hw.name") == "Mac Studio",
    )
    told = (signs.generation, signs.version, signs.enabled, signs.states, signs.ports)
    return None if all(sign is None for sign in told) else verdict(signs)


def verdict(signs: Signs) -> Rdma:
    """Say what the hardware forbids before what a setting forbids, and both before what a device shows."""
    return _impossible(signs) or _off(signs) or _by_devices(signs)


def _impossible(signs: Signs) -> Rdma | None:
    """Never by the flag or by a device: both are seen on Macs that cannot do it."""
    ignore = "; the flag is set, ignore it" if signs.enabled else ""
    if signs.ports == ():
        return Rdma("impossible", f"no Thunderbolt port{ignore}")
    if signs.generation is not None and signs.generation < NEEDED_GENERATION:
        return Rdma("impossible", f"needs Thunderbolt 5, this Mac has {signs.generation}{ignore}")
    found = _VERSION.match(signs.version or "")
    if found and (int(found[1]), int(found[2] or 0)) < NEEDED_VERSION:
        return Rdma("impossible", f"needs macOS 26.2 or newer, this Mac runs {signs.version}")
    return None


def _off(signs: Signs) -> Rdma | None:
    return Rdma("off", f"switched off: {RECOVERY_STEP}") if signs.enabled is False else None


def _by_devices(signs: Signs) -> Rdma:
    if not signs.states:
        return Rdma("unknown", _silence(signs))
    usable = _usable(signs)
    names = tuple(usable)
    hint = _wrong_port(signs)
    if not names:
        return Rdma("unknown", f"no device but that of the port beside Ethernet{hint}")
    if "PORT_ACTIVE" in usable.values():
        up = ", ".join(name for name, state in usable.items() if state == "PORT_ACTIVE")
        return Rdma("active", f"active on {up}{hint}", names)
    if "PORT_DOWN" in usable.values():
        return Rdma(
            "ready", f"no active port: no cable, or the Mac at its other end has RDMA off{hint}", names
        )
    return Rdma("unknown", f"devices are there, but no port told its state{hint}", names)


def _silence(signs: Signs) -> str:
    if signs.enabled is None:
        return "neither rdma_ctl nor a device answered"
    if signs.states is None:
        return "enabled, but the list of devices could not be read"
    if signs.generation is None:
        return "enabled, but no device appeared, and no port tells whether this is Thunderbolt 5"
    return (
        "enabled, but no device appeared: restart the Mac; if that does not help, enable it in Recovery again"
    )


def _usable(signs: Signs) -> dict[str, str | None]:
    """Leave out a Mac Studio's port beside Ethernet: it cannot do RDMA, unless it proves the contrary."""
    states = dict(signs.states or {})
    if signs.studio and states.get(_BESIDE_ETHERNET) != "PORT_ACTIVE":
        states.pop(_BESIDE_ETHERNET, None)
    return states


def _wrong_port(signs: Signs) -> str:
    """Say so when a cable to another Mac is in that port."""
    if not signs.studio or (signs.states or {}).get(_BESIDE_ETHERNET) == "PORT_ACTIVE":
        return ""
    held = (port for port in signs.ports or () if f"rdma_{port.interface}" == _BESIDE_ETHERNET)
    cabled = any(peer.domain_uuid for port in held for peer in port.peers)
    return "; the port beside Ethernet (en2) cannot do RDMA, move its cable to another port" if cabled else ""


FACTS = (
    Fact("raw.rdma_enabled", RDMA_CTL, enabled),
    Fact("raw.rdma_devices", IBV_DEVICES, devices),
    Fact("raw.rdma_states", IBV_DEVINFO, port_states),
)
