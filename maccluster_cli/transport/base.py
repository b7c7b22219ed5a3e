"""What a door to a machine offers, whether the machine is far or this one."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from maccluster_cli.errors import ClusterError
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


def ask(
    transport: Transport, commands: Sequence[Command], *, tied: bool = True, patience_s: float | None = None
) -> list[Reply | None]:
    """Run all commands in one round trip. A reply with code None did not finish within ``patience_s``.

    Left out, that is the longest time-out among the commands: reads are quick, and one that hangs is the end.
    """
    mark = f"_{secrets.token_hex(12)}"
    out, err = bytearray(), bytearray()
    limit_s = patience_s or max((command.timeout_s for command in commands), default=10.0)
    stream = transport.open(batch.script(commands, mark, tied=tied))
    try:
        code = stream.pump(out.extend, err.extend, deadline(limit_s))
    finally:
        stream.close()
    if code is not None and commands and mark.encode() not in out:
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:]
        said = f": {last[0]}" if last else ""
        text = f"its login shell ended before our script began (exit code {code}{said})"
        raise ClusterError(text, node=transport.node.name, hint=f"ssh {transport.node.host}")
    return batch.replies(commands, mark, bytes(out), bytes(err))
