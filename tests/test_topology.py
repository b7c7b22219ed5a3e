"""Cables, figures and rings: cases by hand, and laws that hold for any cluster."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maccluster_cli import topology
from maccluster_cli.values import Cable, Interface, Peer, Port

if TYPE_CHECKING:
    from collections.abc import Iterable

Pair = tuple[str, str]


def port(node: str, number: int, *peers: str, rate: float | None = 80e9) -> Port:
    """Receptacle N of a node is enN; its UUID is NODE-N."""
    seen = tuple(Peer("Mac Studio", "Mac16,9", uuid) for uuid in peers)
    return Port(
        str(number), f"{node}-{number}", f"en{number}", "connected", rate if peers else None, 120e9, seen
    )


def net(**addresses: tuple[str, ...]) -> tuple[Interface, ...]:
    return tuple(Interface(name, addresses=found) for name, found in addresses.items())


def facts(*ports: Port, **addresses: tuple[str, ...]) -> dict[str, Any]:
    return {"tb.ports": ports, "net.interfaces": net(**addresses)}


def cabled(nodes: Iterable[str], pairs: Iterable[Pair]) -> dict[str, dict[str, Any]]:
    """Facts of nodes with one cable a pair, each with a /30 of its own."""
    ports: dict[str, list[Port]] = {node: [] for node in nodes}
    addresses: dict[str, dict[str, tuple[str, ...]]] = {node: {} for node in ports}
    for number, (a, b) in enumerate(pairs):
        a_number, b_number = len(ports[a]) + 1, len(ports[b]) + 1
        ports[a].append(port(a, a_number, f"{b}-{b_number}"))
        ports[b].append(port(b, b_number, f"{a}-{a_number}"))
        addresses[a][f"en{a_number}"] = (f"10.0.{number}.1/30",)
        addresses[b][f"en{b_number}"] = (f"10.0.{number}.2/30",)
    return {node: facts(*ports[node], **addresses[node]) for node in ports}


def wires(*pairs: Pair) -> tuple[Cable, ...]:
    return tuple(Cable(a, b) for a, b in pairs)


NODES = ("north", "east", "south", "west")
N, E, S, W = NODES


def test_a_cable_carries_all_that_both_ends_say() -> None:
    nodes = {
        N: facts(port(N, 2, "east-5", rate=80e9), en2=("169.254.1.1/16", "192.0.2.1/30")),
        E: facts(port(E, 5, "north-2", rate=40e9), en5=("192.0.2.2/30",), en0=("198.51.100.2/24",)),
    }
    assert topology.cables(nodes) == (Cable(N, E, "192.0.2.1", "192.0.2.2", "en2", "en5", "2", "5", 40e9),)


def test_the_node_named_first_is_a() -> None:
    nodes = cabled(NODES, [(W, N), (S, E)])
    assert [(cable.a, cable.b) for cable in topology.cables(nodes)] == [(N, W), (E, S)]


def test_one_sided_reports_make_no_cable() -> None:
    nodes = {N: facts(port(N, 1, "east-1")), E: facts(port(E, 1))}
    assert topology.cables(nodes) == ()
    (end,) = topology.half_cables(nodes)
    assert (end.node, end.receptacle, end.interface, end.owner) == (N, "1", "en1", E)
    assert topology.strangers(nodes) == ()


def test_crossed_reports_make_no_cable() -> None:
    nodes = {N: facts(port(N, 1, "east-1")), E: facts(port(E, 1, "north-2")), S: facts()}
    assert topology.cables(nodes) == ()


def test_a_stranger_is_named_with_its_place() -> None:
    nodes = {N: facts(port(N, 3, "unheard-of")), E: facts(port(E, 1))}
    assert topology.strangers(nodes) == (
        topology.LooseEnd(N, "3", "en3", "Mac Studio", "Mac16,9", "unheard-of", None),
    )
    assert topology.half_cables(nodes) == ()


def test_docks_and_displays_are_no_strangers() -> None:
    dock = Port("1", "north-1", "en1", "connected", 40e9, None, (Peer("Dock"),))
    assert topology.strangers({N: facts(dock)}) == ()
    assert topology.cables({N: facts(dock)}) == ()


def test_a_uuid_that_two_nodes_claim_proves_nothing() -> None:
    twin = facts(port("twin", 1, "south-1"))
    nodes = {N: twin, E: twin, S: facts(port(S, 1, "twin-1"))}
    assert topology.cables(nodes) == ()


def test_ports_without_uuids_make_no_cable() -> None:
    blank = Port("1", None, "en1", "connected", 80e9, None, (Peer("Mac"),))
    assert topology.cables({N: facts(blank), E: facts(blank)}) == ()


def test_a_cable_between_two_ports_of_one_mac_joins_no_nodes() -> None:
    nodes = {N: facts(port(N, 1, "north-2"), port(N, 2, "north-1"))}
    assert topology.cables(nodes) == ()
    assert topology.strangers(nodes) == ()


@pytest.mark.parametrize("unknown", [{"tb.ports": None}, {}])
def test_unknown_ports_invent_no_cable(unknown: dict[str, Any]) -> None:
    nodes = {N: unknown, E: facts(port(E, 1, "north-1"))}
    assert topology.cables(nodes) == ()
    assert topology.shape(tuple(nodes), ()) == "none"
    assert [end.domain_uuid for end in topology.strangers(nodes)] == ["north-1"]


def test_two_cables_between_two_macs_are_two_cables() -> None:
    nodes = cabled((N, E), [(N, E), (N, E)])
    found = topology.cables(nodes)
    assert [cable.a_receptacle for cable in found] == ["1", "2"]
    assert topology.shape((N, E), found) == "pair"


def test_macs_behind_one_hub_are_each_cabled() -> None:
    nodes = {
        N: facts(port(N, 1, "east-1", "south-1")),
        E: facts(port(E, 1, "north-1")),
        S: facts(port(S, 1, "north-1")),
    }
    assert [(cable.a, cable.b) for cable in topology.cables(nodes)] == [(N, E), (N, S)]


@pytest.mark.parametrize(
    ("of_a", "of_b", "wanted"),
    [
        (("192.0.2.1/24",), ("192.0.2.2/24",), ("192.0.2.1", "192.0.2.2")),
        (("192.0.2.1/24",), ("198.51.100.2/24",), (None, None)),
        (("169.254.1.1/16",), ("169.254.1.2/16",), (None, None)),
        (("192.0.2.1/24",), ("192.0.2.1/24",), (None, None)),
        (("192.0.2.1/32",), ("192.0.2.2/32",), (None, None)),
        (("192.0.2.1/30",), ("192.0.2.200/24",), (None, None)),
        (("192.0.2.1/30",), ("192.0.2.2/24",), ("192.0.2.1", "192.0.2.2")),
        (("10.0.0.1/8", "192.0.2.1/30"), ("10.0.0.2/8", "192.0.2.2/30"), ("192.0.2.1", "192.0.2.2")),
        ((), ("192.0.2.2/24",), (None, None)),
    ],
)
def test_addresses_need_one_subnet(
    of_a: tuple[str, ...], of_b: tuple[str, ...], wanted: tuple[str | None, str | None]
) -> None:
    nodes = {N: facts(port(N, 1, "east-1"), en1=of_a), E: facts(port(E, 1, "north-1"), en1=of_b)}
    (cable,) = topology.cables(nodes)
    assert (cable.a_address, cable.b_address) == wanted


def test_an_address_of_the_bridge_is_not_the_ports() -> None:
    nodes = {
        N: facts(port(N, 1, "east-1"), bridge0=("192.0.2.1/24",)),
        E: facts(port(E, 1, "north-1"), bridge0=("192.0.2.2/24",)),
    }
    (cable,) = topology.cables(nodes)
    assert cable.a_address is None
    assert cable.b_address is None


def test_a_rate_of_one_end_is_taken_when_the_other_is_silent() -> None:
    nodes = {N: facts(port(N, 1, "east-1", rate=None)), E: facts(port(E, 1, "north-1", rate=40e9))}
    assert topology.cables(nodes)[0].rate_bits_s == 40e9


@pytest.mark.parametrize(
    ("count", "pairs", "wanted"),
    [
        (1, [], "none"),
        (2, [], "none"),
        (2, [(N, E)], "pair"),
        (3, [(N, E)], "partial"),
        (3, [(N, E), (E, S)], "chain"),
        (3, [(N, E), (E, S), (S, N)], "mesh"),
        (4, [(N, E), (S, W)], "partial"),
        (4, [(E, N), (N, S), (S, W)], "chain"),
        (4, [(N, E), (E, S), (S, W), (W, N)], "ring"),
        (4, [(N, E), (N, S), (N, W)], "star"),
        (4, [(N, E), (E, S), (S, N), (N, W)], "mixed"),
        (4, [(N, E), (E, S), (S, W), (W, N), (N, S)], "mixed"),
        (4, list(combinations(NODES, 2)), "mesh"),
    ],
)
def test_shapes(count: int, pairs: list[Pair], wanted: str) -> None:
    assert topology.shape(NODES[:count], wires(*pairs)) == wanted
    assert topology.shape(NODES[:count], wires(*pairs, *pairs)) == wanted  # parallel cables count once


def test_two_separate_rings_are_no_ring() -> None:
    six = tuple("abcdef")
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "f"), ("f", "d")]
    assert topology.shape(six, wires(*pairs)) == "partial"
    assert topology.ring_order(six, wires(*pairs)) is None


@pytest.mark.parametrize(
    ("nodes", "pairs", "wanted"),
    [
        ((N,), [], (N,)),
        ((), [], None),
        ((N, E), [(E, N)], (N, E)),
        ((N, E), [], None),
        ((N, E, S), [(N, E), (E, S)], None),
        (NODES, [(N, S), (S, E), (E, W), (W, N)], (N, S, E, W)),
        (NODES, list(combinations(NODES, 2)), NODES),
        (NODES, [(N, E), (N, S), (N, W)], None),
        (tuple("abcdefghi"), list(pairwise("abcdefghia")), None),
    ],
)
def test_ring_orders(nodes: tuple[str, ...], pairs: list[Pair], wanted: tuple[str, ...] | None) -> None:
    assert topology.ring_order(nodes, wires(*pairs)) == wanted


def test_each_rank_listens_on_the_cable_to_the_rank_before() -> None:
    found = topology.cables(cabled(NODES[:3], [(N, E), (E, S), (S, N)]))
    assert topology.ring_addresses((N, E, S), found, {}) == ("10.0.2.2", "10.0.0.2", "10.0.1.2")
    assert topology.ring_addresses((E, S, N), found, {}) == ("10.0.0.2", "10.0.1.2", "10.0.2.2")
    assert topology.ring_addresses((S, E, N), found, {}) == ("10.0.2.1", "10.0.1.1", "10.0.0.1")


def test_two_ranks_share_one_cable_and_take_the_fastest() -> None:
    slow = Cable(N, E, "192.0.2.1", "192.0.2.2", rate_bits_s=40e9)
    fast = Cable(N, E, "192.0.2.5", "192.0.2.6", rate_bits_s=80e9)
    bare = Cable(N, E, rate_bits_s=120e9)
    assert topology.ring_addresses((N, E), (slow, fast, bare), {}) == ("192.0.2.5", "192.0.2.6")
    assert topology.ring_addresses((E, N), (slow, fast, bare), {}) == ("192.0.2.6", "192.0.2.5")


def test_the_management_address_stands_in() -> None:
    fallback = {N: "198.51.100.1", E: "198.51.100.2", S: "198.51.100.3"}
    found = (Cable(N, E, "192.0.2.1", "192.0.2.2"), Cable(E, S))
    assert topology.ring_addresses((N, E, S), found, fallback) == (
        "198.51.100.1",
        "192.0.2.2",
        "198.51.100.3",
    )
    assert topology.ring_addresses((N,), found, fallback) == ("198.51.100.1",)
    assert topology.ring_addresses((), found, fallback) == ()


@st.composite
def graphs(draw: st.DrawFn) -> tuple[tuple[str, ...], list[Pair]]:
    nodes = tuple("abcdefgh"[: draw(st.integers(2, 6))])
    every = list(combinations(nodes, 2))
    return nodes, draw(st.lists(st.sampled_from(every), unique=True))


@given(graphs())
def test_every_cable_is_found_from_both_ends_reports(graph: tuple[tuple[str, ...], list[Pair]]) -> None:
    nodes, pairs = graph
    read = cabled(nodes, pairs)
    found = topology.cables(read)
    assert sorted((cable.a, cable.b) for cable in found) == sorted(pairs)
    assert topology.strangers(read) == topology.half_cables(read) == ()
    assert all(cable.a_address and cable.b_address for cable in found)


@given(graphs(), st.randoms())
def test_names_of_figures_do_not_depend_on_order(
    graph: tuple[tuple[str, ...], list[Pair]], random: Any
) -> None:
    nodes, pairs = graph
    shuffled, turned = list(nodes), [(b, a) for a, b in pairs]
    random.shuffle(shuffled)
    random.shuffle(turned)
    assert topology.shape(nodes, wires(*pairs)) == topology.shape(shuffled, wires(*turned))


@given(graphs(), st.data())
def test_a_node_that_falls_silent_turns_cables_into_strangers(
    graph: tuple[tuple[str, ...], list[Pair]], data: st.DataObject
) -> None:
    nodes, pairs = graph
    lost = data.draw(st.sampled_from(nodes))
    read = cabled(nodes, pairs) | {lost: {"tb.ports": None}}
    assert len(topology.cables(read)) == sum(lost not in pair for pair in pairs)
    assert len(topology.strangers(read)) == sum(lost in pair for pair in pairs)


@given(graphs())
def test_a_ring_visits_each_node_once_along_cables(graph: tuple[tuple[str, ...], list[Pair]]) -> None:
    nodes, pairs = graph
    found = topology.cables(cabled(nodes, pairs))
    order = topology.ring_order(nodes, found)
    if order is None:
        assert topology.shape(nodes, found) not in ({"pair", "ring", "mesh"})
        return
    assert order[0] == nodes[0]
    assert sorted(order) == sorted(nodes)
    links = {frozenset(pair) for pair in pairs}
    assert all(frozenset(step) in links for step in pairwise((*order, order[0])))


@given(graphs())
def test_ring_addresses_belong_to_their_rank_and_its_neighbour(
    graph: tuple[tuple[str, ...], list[Pair]],
) -> None:
    nodes, pairs = graph
    read = cabled(nodes, pairs)
    found = topology.cables(read)
    order = topology.ring_order(nodes, found)
    if order is None:
        return
    addresses = topology.ring_addresses(order, found, {})
    assert len(set(addresses)) == len(order)
    for node, before, address in zip(order, (order[-1], *order[:-1]), addresses, strict=True):
        own = [one for interface in read[node]["net.interfaces"] for one in interface.addresses]
        assert f"{address}/30" in own
        cable = next(one for one in found if address in {one.a_address, one.b_address})
        assert {cable.a, cable.b} == {node, before}
