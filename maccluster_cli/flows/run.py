"""The job story at its smallest: one command or script on every node, all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maccluster_cli.errors import UNREACHABLE, ClusterError
from maccluster_cli.transport import batch
from maccluster_cli.transport.base import Transport, deadline
from maccluster_cli.transport.fleet import Fleet, Outcome

Line = Callable[[str, bytes, bool], None]  # node, a line without its end, is it stderr


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: exit code and both streams, byte for byte."""

    code: int
    out: bytes
    err: bytes


def run(
    fleet: Fleet,
    words: Sequence[str],
    *,
    payload: bytes | None = None,
    timeout_s: float | None = None,
    on_line: Line | None = None,
) -> list[Outcome[Ran]]:
    """Run on all nodes. Several words run as they are; a single one is a line for the node's sh."""
    if payload is not None:
        script = batch.with_payload(" ".join(('"$_in"', *map(batch.quote, words))), len(payload))
    else:
        script = batch.alone(words[0] if len(words) == 1 else " ".join(map(batch.quote, words)))
    return fleet.each(lambda door: _one(door, script, payload or b"", timeout_s, on_line))


class UnfinishedError(ClusterError):
    """A command that did not end; what it had said by then is not lost."""

    out: bytes = b""
    err: bytes = b""


def _one(door: Transport, script: str, stdin: bytes, timeout_s: float | None, on_line: Line | None) -> Ran:
    out, err = _Lines(door.node.name, on_line, is_err=False), _Lines(door.node.name, on_line, is_err=True)
    end = deadline(timeout_s) if timeout_s else None
    stream = door.open(script, stdin)
    try:
        code = stream.pump(out.take, err.take, end)
    finally:
        stream.close()
    out.end()
    err.end()
    if code is None:
        error = _unfinished(door.node.name, timeout_s if end and end <= deadline(0) else None)
        error.out, error.err = bytes(out.all), bytes(err.all)
        raise error
    return Ran(code, bytes(out.all), bytes(err.all))


def _unfinished(name: str, timeout_s: float | None) -> UnfinishedError:
    if timeout_s:
        return UnfinishedError(f"not done after {timeout_s:g} s", node=name, hint="a longer --timeout")
    hint = f"maccluster status --nodes {name}"
    return UnfinishedError("the connection was lost", node=name, hint=hint, code=UNREACHABLE)


class _Lines:
    """Keeps every byte, or hands on whole lines as they come and keeps none."""

    def __init__(self, node: str, on_line: Line | None, *, is_err: bool) -> None:
        self.all = bytearray()
        self._node, self._on_line, self._is_err = node, on_line, is_err

    def take(self, data: bytes) -> None:
        self.all += data
        if self._on_line:  # told and forgotten: a stream may go on for days
            *lines, rest = self.all.split(b"\n")
            for line in lines:
                self._on_line(self._node, bytes(line), self._is_err)
            self.all = bytearray(rest)

    def end(self) -> None:
        if self._on_line and self.all:
            self._on_line(self._node, bytes(self.all), self._is_err)
            self.all = bytearray()
