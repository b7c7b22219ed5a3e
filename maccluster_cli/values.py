"""The nouns of the house: frozen, free of behaviour that reaches outside, units in their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DARWIN = "Darwin"
LINUX = "Linux"


@dataclass(frozen=True, slots=True)
class Command:
    """One command for one node. Words, never a shell line; only a transport joins them."""

    argv: tuple[str, ...]
    sudo: bool = False
    timeout_s: float = 10.0
    system: str = ""  # run only where `uname -s` says so; empty means everywhere
    vital: bool = False  # where it fails, nothing after it in the same script is run


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command answered. ``code`` is None when it never finished (time-out, lost connection)."""

    command: Command
    code: int | None
    out: bytes = b""
    err: bytes = b""

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 become U+FFFD."""
        return self.out.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that can be read off a node. ``parse`` returns None for unknown and never invents a zero."""

    name: str
    command: Command
    parse: Callable[[Reply], Any]


Facts = Mapping[str, Any]


def no_commands(have: Any, want: Any) -> tuple[Command, ...]:
    """The ``write`` of a setting that lives in a file of ours and needs no command on a node."""
    del have, want
    return ()


def as_wished(facts: Facts, wish: Any) -> Any:
    """The ``aim`` of a setting whose wish is its value already."""
    del facts
    return wish


@dataclass(frozen=True, slots=True)
class Setting:
    """A fact that can be written too. ``write(have, want)`` goes both ways, so nobody writes an undo.

    ``name`` is also the fact that holds its value: None where it could not be read, and missing where this
    system has no such thing. ``aim(facts, wish)`` turns what a profile asks for into the value that this very
    node should have; it raises Refusal with the reason where it should not.
    """

    name: str
    why: str
    write: Callable[[Any, Any], tuple[Command, ...]] = no_commands
    aim: Callable[[Facts, Any], Any] = as_wished
    reversible: bool = True
    risk: str = ""  # "network": may cut the node off, so a timed revert is armed first


@dataclass(frozen=True, slots=True)
class Subject:
    """All that is known about one subject on one system: how to read it, join it and change it."""

    system: str
    facts: tuple[Fact, ...]
    combine: Callable[[Mapping[str, Any]], dict[str, Any]]
    settings: tuple[Setting, ...] = ()


class Refusal(Exception):  # noqa: N818  # no failure: the node keeps what it has, for the reason in the text
    """Why a wish is not granted on a node, in words for its owner."""


@dataclass(frozen=True, slots=True)
class Change:
    """One setting on one node, from what is to what should be."""

    node: str
    setting: str
    have: Any
    want: Any


@dataclass(frozen=True, slots=True)
class Plan:
    """All that would change, in the order in which it would be done."""

    changes: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)


@dataclass(frozen=True, slots=True)
class Node:
    """A machine as the profile describes it. ``user``, ``port`` and ``key`` left unset fall to ssh_config."""

    name: str
    host: str
    local: bool = False
    user: str | None = None
    port: int | None = None
    key: str | None = None
    jump: str | None = None
    python: str | None = None
    workdir: str | None = None
    roles: tuple[str, ...] = ()
    ranks: int = 1
    uuid_hash: str | None = None
    tune: Mapping[str, Any] = field(default_factory=dict)  # wishes by the names of settings


@dataclass(frozen=True, slots=True)
class Cable:
    """A data link between two nodes; addresses are those that the ranks use."""

    a: str
    b: str
    a_address: str | None = None
    b_address: str | None = None
    a_interface: str | None = None
    b_interface: str | None = None
    a_receptacle: str | None = None
    b_receptacle: str | None = None
    rate_bits_s: float | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A cluster as a file describes it, checked and filled in. ``first_port`` 0: whichever is free."""

    name: str
    file: Path
    text: str
    nodes: tuple[Node, ...]
    cables: tuple[Cable, ...] = ()
    connect_timeout_s: float = 5.0
    command_timeout_s: float = 10.0
    first_port: int = 0
    open_files: int | None = None  # `ulimit -n` of every rank; None leaves what the login gives
    description: str = ""


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface: addresses as ``a.b.c.d/len``; ``speed_bits_s`` None where nobody says."""

    name: str
    port: str | None = None  # the hardware port's name on macOS, e.g. "Thunderbolt 1"
    mac: str | None = None
    addresses: tuple[str, ...] = ()
    mtu: int | None = None
    active: bool | None = None
    speed_bits_s: float | None = None
    members: tuple[str, ...] = ()  # of a bridge


@dataclass(frozen=True, slots=True)
class Peer:
    """What hangs on a Thunderbolt port: a Mac when ``domain_uuid`` is set, else a dock, display or disk."""

    name: str
    model: str | None = None
    domain_uuid: str | None = None
    offers_rdma: bool | None = None
    depth: int = 0  # hubs between; 0 is a direct cable


@dataclass(frozen=True, slots=True)
class Port:
    """One Thunderbolt receptacle and its bus."""

    receptacle: str | None
    domain_uuid: str | None
    interface: str | None = None
    status: str | None = None  # "connected", "empty" or None
    link_rate_bits_s: float | None = None  # negotiated; None while nothing is plugged in
    capability_bits_s: float | None = None  # what the port could do ("Up to ...")
    peers: tuple[Peer, ...] = ()


@dataclass(frozen=True, slots=True)
class Rdma:
    """Whether RDMA can work: ``state`` is active, ready, off, impossible or unknown; ``reason`` why."""

    state: str
    reason: str
    devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoreLevel:
    """A kind of CPU core, fastest kind first: Super, Performance, Efficiency, Standard."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One rank as an engine wants it started: environment, files to lay beside it, one command."""

    rank: int
    node: str
    env: Mapping[str, str]
    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)  # relative path -> content
