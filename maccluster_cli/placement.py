"""Which rank sits where, and on which address its neighbour reaches it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from maccluster_cli import topology
from maccluster_cli.errors import UsageError
from maccluster_cli.values import Cable, Node

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Seat:
    """One rank's place. ``port`` 0 until the node has said which one is free."""

    rank: int
    node: str
    address: str
    port: int = 0


def order(nodes: Sequence[Node], cables: Sequence[Cable]) -> tuple[Node, ...]:
    """Nodes in ring order: round the cables where they close a ring, as the profile has them otherwise."""
    names = topology.ring_order([node.name for node in nodes], cables)
    by_name = {node.name: node for node in nodes}
    return tuple(by_name[name] for name in names) if names else tuple(nodes)


def seats(nodes: Sequence[Node], cables: Sequence[Cable], management: Mapping[str, str]) -> tuple[Seat, ...]:
    """A seat for every rank of ``nodes`` (in ring order); ``management`` maps node to its LAN address.

    A rank listens where the rank before it dials: on the cable between their nodes, else on the LAN, and
    on loopback when both share a node.
    """
    names = [node.name for node in nodes]
    if len(nodes) == 1:
        addresses: Sequence[str] = (LOOPBACK,)
    else:
        addresses = topology.ring_addresses(names, cables, management)
    found: list[Seat] = []
    for node, address in zip(nodes, addresses, strict=True):
        for local_rank in range(node.ranks):
            found.append(Seat(len(found), node.name, LOOPBACK if local_rank else address))
    return tuple(found)


def needs_management(nodes: Sequence[Node], cables: Sequence[Cable]) -> bool:
    """Whether some pair of neighbours has no cable with addresses between them."""
    if len(nodes) == 1:
        return False
    nowhere = {node.name: "" for node in nodes}
    return "" in topology.ring_addresses([node.name for node in nodes], cables, nowhere)


def with_ports(seats_: Sequence[Seat], first: int) -> tuple[Seat, ...]:
    """Ports counted up from ``first``; 0 leaves the choice to the nodes."""
    return tuple(replace(seat, port=first + seat.rank if first else 0) for seat in seats_)


def check_batch(batch_size: int, world_size: int, recipe: str) -> None:
    """Every rank needs the same number of sequences. Raises UsageError otherwise."""
    if batch_size % world_size:
        near = max(world_size, round(batch_size / world_size) * world_size)
        raise UsageError(
            f"recipe {recipe}: batch_size {batch_size} does not divide among {world_size} ranks",
            hint=f"batch_size = {near}, or fewer --nodes",
        )
