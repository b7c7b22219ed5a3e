"""Where ranks sit, and on which address the rank before them dials."""

from __future__ import annotations

import pytest

from maccluster_cli import placement
from maccluster_cli.errors import UsageError
from maccluster_cli.values import Cable, Node

A, B, C = (Node(name, name) for name in ("a", "b", "c"))
RING = (
    Cable("a", "b", "10.0.0.1", "10.0.0.2"),
    Cable("b", "c", "10.0.1.1", "10.0.1.2"),
    Cable("c", "a", "10.0.2.1", "10.0.2.2"),
)
LAN = {"a": "192.0.2.1", "b": "192.0.2.2", "c": "192.0.2.3"}


def addresses(nodes: tuple[Node, ...], cables: tuple[Cable, ...]) -> list[str]:
    return [seat.address for seat in placement.seats(nodes, cables, LAN)]


def test_a_rank_listens_on_the_cable_to_the_rank_before_it() -> None:
    assert addresses((A, B, C), RING) == ["10.0.2.2", "10.0.0.2", "10.0.1.2"]


def test_ranks_of_one_node_meet_on_loopback() -> None:
    double = tuple(Node(name, name, ranks=2) for name in ("a", "b", "c"))
    expected = ["10.0.2.2", "127.0.0.1", "10.0.0.2", "127.0.0.1", "10.0.1.2", "127.0.0.1"]
    assert addresses(double, RING) == expected
    assert [seat.rank for seat in placement.seats(double, RING, LAN)] == list(range(6))


def test_one_node_needs_no_network() -> None:
    assert addresses((Node("here", "", local=True, ranks=2),), ()) == ["127.0.0.1", "127.0.0.1"]
    assert not placement.needs_management((A,), ())


def test_the_lan_stands_in_for_a_cable_that_is_missing() -> None:
    assert addresses((A, B, C), RING[:2]) == ["192.0.2.1", "10.0.0.2", "10.0.1.2"]
    assert placement.needs_management((A, B, C), RING[:2])
    assert not placement.needs_management((A, B, C), RING)


def test_nodes_stand_in_the_order_of_the_ring() -> None:
    square = tuple(Cable(a, b, "10.0.0.1", "10.0.0.2") for a, b in ("ac", "cb", "bd", "da"))
    nodes = tuple(Node(name, name) for name in "abcd")
    order = [node.name for node in placement.order(nodes, square)]
    assert order in (["a", "c", "b", "d"], ["a", "d", "b", "c"])


def test_ports_count_up_or_are_left_open() -> None:
    seats = placement.seats((A, B), RING, LAN)
    assert [seat.port for seat in placement.with_ports(seats, 7000)] == [7000, 7001]
    assert [seat.port for seat in placement.with_ports(seats, 0)] == [0, 0]


@pytest.mark.parametrize(("batch", "ranks", "near"), [(8, 3, 9), (1, 4, 4), (10, 4, 8)])
def test_a_batch_that_does_not_divide_is_refused_with_one_that_does(
    batch: int, ranks: int, near: int
) -> None:
    with pytest.raises(UsageError) as caught:
        placement.check_batch(batch, ranks, "r")
    assert f"batch_size = {near}" in caught.value.hint
