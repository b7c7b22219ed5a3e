"""What a door to a machine offers, whether the machine is far or this one."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from maccluster_cli.transport import batch
from maccluster_cli.values import Command, Node, Reply

Sink = Callable[[bytes], None]


class Stream(Protocol):
    """A running script on a node; its stdin is the lifeline and stays open until ``close``."""

    def pump(self, out: Sink, err: Sink, deadline_s: float | None = None) -> int | None:
        """Pass on output until the script ends; its exit code, or None when lost or past the deadline."""

    def close(self) -> None:
        """End stdin: a script that watches its lifeline ends with it."""


class Transport(Protocol):
    """One node's door. ``open`` raises UnreachableError with the node's name and what to type next."""

    node: Node

    def open(self, script: str, stdin: bytes = b"") -> Stream:
        """Start a POSIX script; ``stdin`` is sent first, then the channel stays open."""

    def address(self) -> str:
        """The IPv4 address under which this node is reached."""

    def close(self) -> None:
        """Drop the connection."""


def deadline(seconds: float) -> float:
    """A point in time ``seconds`` from now, on the clock that ``pump`` compares with."""
    return time.monotonic() + seconds


def ask(transport: Transport, commands: Sequence[Command]) -> list[Reply | None]:
    """Run all commands in one round trip. A reply with code None did not finish in time."""
    mark = f"_{secrets.token_hex(12)}"
    out, err = bytearray(), bytearray()
    stream = transport.open(batch.script(commands, mark))
    try:
        stream.pump(out.extend, err.extend, deadline(max((c.timeout_s for c in commands), default=10.0)))
    finally:
        stream.close()
    return batch.replies(commands, mark, bytes(out), bytes(err))
