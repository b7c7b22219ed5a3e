"""Who is cabled to whom. A pure function of the request, so that any process can recompute a running lab."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tests.lab import hardware
from tests.lab.hardware import Hardware

SHAPES = ("none", "pair", "pairs", "chain", "ring", "mesh")
GATEWAY = "10.77.255.254"  # the controller; it forwards nothing


@dataclass(frozen=True, slots=True)
class Request:
    """What `up` was asked for. ``specs`` go round when there are more hosts than specs."""

    count: int
    links: str = "mesh"
    specs: tuple[str, ...] = ("mini-m4pro",)
    mtu: int = 1500
    bridge0: bool = False
    hub: bool = False
    names: tuple[str, ...] = ()

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Request:
        return cls(**{**stored, "specs": tuple(stored["specs"]), "names": tuple(stored["names"])})

    def host_names(self) -> tuple[str, ...]:
        names = self.names or tuple(f"mini{n + 1}" for n in range(self.count))
        if len(set(names)) != self.count or any(len(name) > 9 for name in names):
            raise ValueError("as many different names as hosts, none over 9 characters")
        return names


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable."""

    host: str
    receptacle: int
    interface: str
    address: str


@dataclass(frozen=True, slots=True)
class Cable:
    """A veth pair that plays a Thunderbolt cable; ``hub`` puts a hub in the middle, for the eye only."""

    a: End
    b: End
    hub: bool = False

    def joins(self, one: str, other: str) -> bool:
        return {one, other} == {self.a.host, self.b.host}

    def facing(self, host: str) -> tuple[End, End]:
        """Own end first, then the far one."""
        return (self.a, self.b) if self.a.host == host else (self.b, self.a)


@dataclass(slots=True)
class Host:
    """A machine of the lab; ``pid`` is its PID 1 as seen from outside, None while it is off."""

    name: str
    index: int
    hardware: Hardware
    lan_ip: str
    bridge_ip: str = ""
    pid: int | None = None
    cables: list[Cable] = field(default_factory=list)

    def cable_at(self, interface: str) -> Cable | None:
        """Return the cable that is plugged in at an interface."""
        return next((c for c in self.cables if c.facing(self.name)[0].interface == interface), None)


def edges(count: int, links: str) -> list[tuple[int, int]]:
    """Pairs of hosts that get a cable."""
    chain = [(n, n + 1) for n in range(count - 1)]
    match links:
        case "none":
            return []
        case "pair":
            return chain[:1]
        case "pairs":
            return chain[::2]
        case "chain":
            return chain
        case "ring":
            return chain + ([(0, count - 1)] if count > 2 else [])
        case "mesh":
            return list(combinations(range(count), 2))
    raise ValueError(f"{links}: not one of {', '.join(SHAPES)}")


def _hosts(request: Request) -> list[Host]:
    names = request.host_names()
    kinds = [hardware.parse(spec) for spec in request.specs]
    return [
        Host(
            name=name,
            index=n,
            hardware=kinds[n % len(kinds)],
            lan_ip=f"10.77.{n // 250}.{n % 250 + 1}",
            bridge_ip=f"169.254.{n // 250 + 1}.{n % 250 + 1}" if request.bridge0 else "",
        )
        for n, name in enumerate(names)
    ]


def _end(host: Host, address: str) -> End:
    taken = len(host.cables)
    if taken == len(host.hardware.ports):
        raise ValueError(f"{host.name} ({host.hardware.model}) has only {taken} Thunderbolt ports")
    receptacle, interface = host.hardware.ports[taken]
    return End(host.name, receptacle, interface, host.bridge_ip or address)


def lay_out(request: Request) -> tuple[list[Host], list[Cable]]:
    """All hosts and cables of a request."""
    hosts = _hosts(request)
    cables = []
    for n, (i, j) in enumerate(edges(request.count, request.links)):
        a, b = hosts[i], hosts[j]
        net, first = f"10.78.{n // 64}", n % 64 * 4 + 1
        hub = request.hub or a.hardware.hub or b.hardware.hub
        cable = Cable(_end(a, f"{net}.{first}"), _end(b, f"{net}.{first + 1}"), hub)
        a.cables.append(cable)
        b.cables.append(cable)
        cables.append(cable)
    return hosts, cables
