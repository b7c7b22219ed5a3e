"""All doors at once: nodes in parallel, one answer or one error each, nobody hides another."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from maccluster_cli.errors import ClusterError
from maccluster_cli.transport.base import Stream, Transport, ask
from maccluster_cli.transport.local import LocalTransport
from maccluster_cli.values import Command, Node, Reply

if TYPE_CHECKING:
    from maccluster_cli.transport.dial import Trust

T = TypeVar("T")
_HANDSHAKES = 16  # key exchange is work: more at a time only fight for the processor
_FAREWELL_S = 2.0  # for all threads together


class Outcome(Generic[T]):
    """What came of one node: a value or the error that stands in its place."""

    def __init__(self, node: Node, value: T | None = None, error: ClusterError | None = None) -> None:
        self.node = node
        self._value = value
        self.error = error

    @property
    def value(self) -> T:
        """The value; raises the error where there is none."""
        if self.error is not None:
            raise self.error
        return self._value  # type: ignore[return-value]  # None is a T where there was no error


class Fleet:
    """The nodes of a call. Connections open when first used and are shared by all that follows."""

    def __init__(
        self, nodes: Sequence[Node], connect_timeout_s: float = 5.0, trust: Trust | None = None
    ) -> None:
        self.nodes = tuple(nodes)
        self._connect_timeout_s = connect_timeout_s
        self._trust = _one_at_a_time(trust) if trust else None
        self._doors: dict[str, Transport] = {}
        self._handshakes = threading.Semaphore(_HANDSHAKES)

    def each(self, act: Callable[[Transport], T]) -> list[Outcome[T]]:
        """``act`` on every node at once; ClusterErrors are kept as that node's outcome."""
        if not self.nodes:
            return []

        def one(node: Node) -> Outcome[T]:
            try:
                return Outcome(node, act(self.door(node)))
            except ClusterError as error:
                return Outcome(node, error=error)

        for node in self.nodes:  # made here, so that two threads never make two
            self.door(node)
        return self._gather(one)

    def _gather(self, one: Callable[[Node], Outcome[T]]) -> list[Outcome[T]]:
        """A daemon thread a node: after a Ctrl-C one that waits for a person, or in vain, holds up nobody."""
        found: queue.SimpleQueue[tuple[int, Outcome[T] | BaseException]] = queue.SimpleQueue()

        def work(index: int, node: Node) -> None:
            try:
                found.put((index, one(node)))
            except BaseException as error:  # noqa: BLE001  # handed to the caller's thread
                found.put((index, error))

        threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in enumerate(self.nodes)]
        outcomes: dict[int, Outcome[T]] = {}
        try:
            for thread in threads:
                thread.start()
            for _ in threads:
                index, outcome = found.get()
                if isinstance(outcome, BaseException):
                    raise outcome  # noqa: TRY301  # what a thread met, in the thread that can tell it
                outcomes[index] = outcome
        except BaseException:  # Ctrl-C: without their connections the threads end
            self.close()
            for thread in threads:
                thread.join(_FAREWELL_S / len(threads))
            raise
        return [outcomes[index] for index in range(len(threads))]

    def ask(self, commands: Callable[[Node], Sequence[Command]]) -> list[Outcome[list[Reply | None]]]:
        """One round trip a node with all of its commands."""
        return self.each(lambda door: ask(door, commands(door.node)))

    def door(self, node: Node) -> Transport:
        """The transport of a node, made on first use."""
        if node.name not in self._doors:
            self._doors[node.name] = LocalTransport(node) if node.local else self._far(node)
        return self._doors[node.name]

    def only(self, nodes: Sequence[Node]) -> Fleet:
        """The same doors for some of the nodes."""
        part = Fleet(nodes, self._connect_timeout_s, self._trust)
        part._doors, part._handshakes = self._doors, self._handshakes
        return part

    def fresh(self, node: Node) -> Transport:
        """A door of its own: what an old connection still carries proves nothing about a new one."""
        return LocalTransport(node) if node.local else self._far(node)

    def close(self) -> None:
        """Drop all connections."""
        for door in self._doors.values():
            door.close()

    def _far(self, node: Node) -> Transport:
        from maccluster_cli.transport.ssh import SshOptions, SshTransport

        return _Gated(SshTransport(node, SshOptions(self._connect_timeout_s), self._trust), self._handshakes)


class _Gated:
    """Limits how many handshakes run at once; an open connection passes freely."""

    def __init__(self, door: Transport, gate: threading.Semaphore) -> None:
        self.node = door.node
        self._door = door
        self._gate = gate
        self._is_open = False

    def open(self, script: str, stdin: bytes = b"") -> Stream:
        if self._is_open:
            return self._door.open(script, stdin)  # should it have to dial again, it is alone in that
        with self._gate:
            stream = self._door.open(script, stdin)
        self._is_open = True
        return stream

    def address(self) -> str:
        return self._door.address()

    def close(self) -> None:
        self._door.close()


def _one_at_a_time(trust: Trust) -> Trust:
    lock = threading.Lock()

    def ask_alone(node: str, kind: str, fingerprint: str) -> bool:
        with lock:
            return trust(node, kind, fingerprint)

    return ask_alone
