"""Which node is cabled to which, what figure the cables make, and the ring along which jobs run. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from typing import TYPE_CHECKING

from maccluster_cli.values import Cable, Interface, Peer, Port

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maccluster_cli.values import Facts

LARGEST_RING = 8  # nodes; in the worst case the search tries every order of them
_SELF_ASSIGNED = IPv4Network("169.254.0.0/16")  # macOS routes all of it out of one interface, often Wi-Fi
_SMALLEST_RING = 3


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable: a port of a node and the computer it sees there."""

    node: str
    port: Port
    peer: Peer


@dataclass(frozen=True, slots=True)
class LooseEnd:
    """A computer that is seen and does not see back; ``owner`` is its node, None for a stranger."""

    node: str
    receptacle: str | None
    interface: str | None
    name: str
    model: str | None
    domain_uuid: str
    owner: str | None = None


def cables(facts_by_node: Mapping[str, Facts]) -> tuple[Cable, ...]:
    """Cables that both ends confirm by each other's UUID, in the order of the nodes.

    A vendor's name or a model proves nothing, nor does a UUID that two nodes claim. ``a`` is the node that
    comes first. Nodes whose ports are unknown (None) take no part.
    """
    ends = tuple(_ends(facts_by_node))
    owners = _owners(facts_by_node)
    order = {node: place for place, node in enumerate(facts_by_node)}
    found = (
        _cable(a, b, facts_by_node)
        for a in ends
        for b in ends
        if order[a.node] < order[b.node] and _reciprocal(a, b, owners)
    )
    return tuple(found)


def strangers(facts_by_node: Mapping[str, Facts]) -> tuple[LooseEnd, ...]:
    """List computers at the end of a cable that belong to no known node: candidates for the profile."""
    return tuple(end for end in _loose(facts_by_node) if end.owner is None)


def half_cables(facts_by_node: Mapping[str, Facts]) -> tuple[LooseEnd, ...]:
    """List known nodes that do not see back who sees them: a stale report, or a link just made or cut."""
    return tuple(end for end in _loose(facts_by_node) if end.owner is not None)


def shape(nodes: Sequence[str], cables: Iterable[Cable]) -> str:
    """Name the figure: none, pair, chain, ring, mesh, star, mixed, or partial when a node is left out.

    Parallel cables count once. Three nodes with three cables are a mesh, which is more than a ring.
    """
    links = _links(nodes, cables)
    if not links:
        return "none"
    if not _connected(nodes, links):
        return "partial"
    degrees = sorted(Counter(node for link in links for node in link).values())
    return next((name for name, wanted in _figures(len(nodes)) if degrees == wanted), "mixed")


def ring_order(nodes: Sequence[str], cables: Iterable[Cable]) -> tuple[str, ...] | None:
    """Order the nodes so that each is cabled to the next and the last to the first; None without a way.

    The first node stays first, and of several rings the one nearest to the given order wins. Two nodes need
    one cable, one node needs none. More than `LARGEST_RING` nodes are not searched.
    """
    links = _links(nodes, cables)
    if not 1 <= len(nodes) <= LARGEST_RING:
        return None
    if len(nodes) < _SMALLEST_RING:
        return tuple(nodes) if len(links) == len(nodes) - 1 else None
    return next(_rings((nodes[0],), tuple(nodes[1:]), links), None)


def ring_addresses(
    order: Sequence[str], cables: Iterable[Cable], fallback: Mapping[str, str]
) -> tuple[str, ...]:
    """Give the address each rank listens on.

    In MLX's ring rank k-1 connects to rank k, so rank k's address is its own on the cable between these two;
    for rank 0 that is the cable to the last. Of parallel cables the fastest with addresses is taken. Where
    there is none, the rank's management address stands in.
    """
    known = tuple(cables)
    before = (*order[-1:], *order[:-1])
    return tuple(
        _address_towards(node, previous, known) or fallback[node]
        for previous, node in zip(before, order, strict=True)
    )


def _figures(count: int) -> tuple[tuple[str, list[int]], ...]:
    """Give each figure's sorted numbers of neighbours; of equal ones the first is the better name."""
    return (
        ("pair", [1, 1]),
        ("mesh", [count - 1] * count),
        ("ring", [2] * count),
        ("chain", [1, 1] + [2] * (count - 2)),  # with three nodes a star is a chain
        ("star", [1] * (count - 1) + [count - 1]),
    )


def _ends(facts_by_node: Mapping[str, Facts]) -> Iterator[End]:
    for node, facts in facts_by_node.items():
        for port in facts.get("tb.ports") or ():
            for peer in port.peers:
                if peer.domain_uuid:
                    yield End(node, port, peer)


def _owners(facts_by_node: Mapping[str, Facts]) -> dict[str, str | None]:
    """Find the node by UUID; None where two nodes claim one, as copies of a machine do."""
    owners: dict[str, str | None] = {}
    for node, facts in facts_by_node.items():
        for port in facts.get("tb.ports") or ():
            if port.domain_uuid:
                owners[port.domain_uuid] = node if owners.get(port.domain_uuid, node) == node else None
    return owners


def _reciprocal(a: End, b: End, owners: Mapping[str, str | None]) -> bool:
    if a.port.domain_uuid is None or owners.get(a.port.domain_uuid) is None:
        return False
    seen = a.peer.domain_uuid == b.port.domain_uuid and b.peer.domain_uuid == a.port.domain_uuid
    return seen and owners.get(b.port.domain_uuid or "") is not None


def _loose(facts_by_node: Mapping[str, Facts]) -> Iterator[LooseEnd]:
    ends = tuple(_ends(facts_by_node))
    owners = _owners(facts_by_node)
    confirmed = {(end.port.domain_uuid, end.peer.domain_uuid) for end in ends}
    for end in ends:
        uuid = end.peer.domain_uuid or ""
        if (uuid, end.port.domain_uuid) not in confirmed:
            port = end.port
            yield LooseEnd(
                end.node,
                port.receptacle,
                port.interface,
                end.peer.name,
                end.peer.model,
                uuid,
                owners.get(uuid),
            )


def _cable(a: End, b: End, facts_by_node: Mapping[str, Facts]) -> Cable:
    a_address, b_address = _common_subnet(_addresses(a, facts_by_node), _addresses(b, facts_by_node))
    rates = [end.port.link_rate_bits_s for end in (a, b) if end.port.link_rate_bits_s is not None]
    return Cable(
        a=a.node,
        b=b.node,
        a_address=a_address,
        b_address=b_address,
        a_interface=a.port.interface,
        b_interface=b.port.interface,
        a_receptacle=a.port.receptacle,
        b_receptacle=b.port.receptacle,
        rate_bits_s=min(rates, default=None),
    )


def _addresses(end: End, facts_by_node: Mapping[str, Facts]) -> list[IPv4Interface]:
    """List the port's own addresses, narrowest subnet first, without self-assigned ones."""
    interfaces: Iterable[Interface] = facts_by_node[end.node].get("net.interfaces") or ()
    named = (one for one in interfaces if one.name == end.port.interface)
    found = (IPv4Interface(address) for one in named for address in one.addresses)
    usable = (address for address in found if address.ip not in _SELF_ASSIGNED)
    return sorted(usable, key=lambda address: -address.network.prefixlen)


def _common_subnet(
    of_a: Iterable[IPv4Interface], of_b: Sequence[IPv4Interface]
) -> tuple[str, str] | tuple[None, None]:
    """Find the first pair in which each lies in the other's subnet."""
    for a in of_a:
        for b in of_b:
            if a.ip != b.ip and a.ip in b.network and b.ip in a.network:
                return str(a.ip), str(b.ip)
    return None, None


def _links(nodes: Sequence[str], cables: Iterable[Cable]) -> set[frozenset[str]]:
    """Collect pairs of distinct nodes of this set with at least one cable."""
    return {frozenset((cable.a, cable.b)) for cable in cables if {cable.a, cable.b} <= set(nodes)} - {
        frozenset((node,)) for node in nodes
    }


def _connected(nodes: Sequence[str], links: Iterable[frozenset[str]]) -> bool:
    """Spread from the first node until nothing new is reached."""
    pairs = tuple(links)
    reached: frozenset[str] = frozenset(nodes[:1])
    while True:
        wider = reached.union(*(pair for pair in pairs if pair & reached))
        if wider == reached:
            return reached == frozenset(nodes)
        reached = wider


def _rings(
    path: tuple[str, ...], left: tuple[str, ...], links: set[frozenset[str]]
) -> Iterator[tuple[str, ...]]:
    """Find every closed path through what is left, in the given order of the nodes."""
    if not left:
        if frozenset((path[0], path[-1])) in links:
            yield path
        return
    for node in left:
        if frozenset((path[-1], node)) in links:
            yield from _rings((*path, node), tuple(other for other in left if other != node), links)


def _address_towards(node: str, previous: str, cables: Iterable[Cable]) -> str | None:
    """Choose the own address on the best cable to `previous`."""
    between = (cable for cable in cables if {cable.a, cable.b} == {node, previous} and node != previous)
    usable = [cable for cable in between if cable.a_address and cable.b_address]
    if not usable:
        return None
    best = max(usable, key=lambda cable: cable.rate_bits_s or 0.0)  # the first of equals
    return best.a_address if best.a == node else best.b_address
