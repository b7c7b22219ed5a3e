"""Who is there: three sources that fail apart from each other, laid side by side."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from maccluster_cli import topology
from maccluster_cli.flows.look import View, look
from maccluster_cli.transport.bonjour import Browse, Sighting
from maccluster_cli.transport.fleet import Fleet
from maccluster_cli.values import Cable, Node, Port


@dataclass(frozen=True, slots=True)
class Seen:
    """Which source saw a node; None where a source could not look."""

    ssh: bool
    bonjour: bool | None
    cable: bool | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything ``discover`` found."""

    views: tuple[View, ...]
    sightings: tuple[Sighting, ...] | None
    bonjour_error: str | None
    cables: tuple[Cable, ...]
    strangers: tuple[topology.LooseEnd, ...]
    expected: tuple[Cable, ...] = ()
    whole: bool = True

    @property
    def shape(self) -> str:
        """What the cables form: pair, chain, ring, mesh and so on."""
        return topology.shape([view.node.name for view in self.views], self.cables)

    def seen(self, view: View) -> Seen:
        """The three sources for one node."""
        bonjour = None if self.sightings is None else any(_is(view, s) for s in self.sightings)
        return Seen(view.error is None, bonjour, self._cable(view))

    def unknown(self) -> tuple[Sighting, ...]:
        """Announced machines that are no node of the profile, once each."""
        others = [s for s in self.sightings or () if not any(_is(view, s) for view in self.views)]
        return tuple({s.host: s for s in others}.values())

    def far_end(self, name: str) -> list[str]:
        """Where other nodes see a live cable that the profile says leads to ``name``."""
        ends = [
            (c.a, c.a_interface) if c.b == name else (c.b, c.b_interface)
            for c in self.expected
            if name in (c.a, c.b)
        ]
        ports = {view.node.name: view.facts.get("tb.ports") or () for view in self.views}
        return [f"{node}:{interface}" for node, interface in ends if _mac_at(ports.get(node, ()), interface)]

    def _cable(self, view: View) -> bool | None:
        name = view.node.name
        if any(name in (cable.a, cable.b) for cable in self.cables):
            return True
        if view.error is not None:
            return bool(self.far_end(name)) or None
        ports = view.facts.get("tb.ports")
        others = any(peer.domain_uuid for port in ports or () for peer in port.peers)
        return None if ports is None or (others and not self.whole) else False


def discover(
    fleet: Fleet,
    timeout_s: float,
    python: Callable[[Node], str | None],
    *,
    expected: Sequence[Cable] = (),
    bonjour_s: float = 0.0,
    whole: bool = True,
) -> Report:
    """Ask all nodes, listen on the network meanwhile (``bonjour_s`` 0: not), join what the cables say."""
    browse = Browse(bonjour_s) if bonjour_s > 0 else None
    views = tuple(look(fleet, timeout_s, python))
    facts = {view.node.name: view.facts for view in views if view.error is None}
    return Report(
        views=views,
        sightings=browse.result() if browse else None,
        bonjour_error=browse.error if browse else None,
        cables=topology.cables(facts),
        strangers=topology.strangers(facts)
        if whole
        else (),  # part of the nodes cannot tell who is a stranger
        expected=tuple(expected),
        whole=whole,
    )


def _is(view: View, sighting: Sighting) -> bool:
    """The same machine: by identity where both have one, by address, at last by name."""
    if view.identity and sighting.txt.get("id"):
        return sighting.txt["id"] == view.identity
    addresses = {view.node.host, *_addresses(view)}
    if addresses & set(sighting.addresses):
        return True
    return _first_label(sighting.host) in {_first_label(view.node.host), view.node.name.lower()}


def _addresses(view: View) -> Iterable[str]:
    for interface in view.facts.get("net.interfaces") or ():
        for address in interface.addresses:
            yield address.partition("/")[0]


def _first_label(host: str) -> str:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host.partition(".")[0].lower()


def _mac_at(ports: Iterable[Port], interface: str | None) -> bool:
    return any(port.interface == interface and any(peer.domain_uuid for peer in port.peers) for port in ports)
