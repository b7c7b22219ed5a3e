"""A far machine through Fabric: ssh_config, jump hosts, verified host keys, one connection a node."""

from __future__ import annotations

import contextlib
import select
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import paramiko

from maccluster_cli.transport import batch
from maccluster_cli.transport.base import Sink
from maccluster_cli.transport.dial import Trust, dial, explained, is_alive
from maccluster_cli.values import Node

if TYPE_CHECKING:
    import fabric

_CHUNK = 1 << 16
_SETTLE_S = 0.2
_KILLED = 128 + 9  # Paramiko does not say which signal it was; one that leaves no choice is the likeliest


@dataclass(frozen=True, slots=True)
class SshOptions:
    """How to connect; everything else comes from the profile's node and ssh_config."""

    connect_timeout_s: float = 5.0


class SshStream:
    """A script on a far machine; closing the channel ends its stdin, which is its lifeline."""

    def __init__(self, channel: paramiko.Channel, stdin: bytes) -> None:
        self._channel = channel
        self._unsent = memoryview(stdin)
        channel.settimeout(0.0)  # never block: the pump waits for both streams at once

    def pump(self, out: Sink, err: Sink, deadline_s: float | None = None) -> int | None:
        """Pass on both streams until they end; the exit code, or None when lost or past the deadline."""
        poll = select.poll()
        poll.register(self._channel.fileno(), select.POLLIN)
        while not self._drained(out, err):
            left_s = None if deadline_s is None else deadline_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return None
            wait_s = 0.02 if self._unsent else left_s
            poll.poll(None if wait_s is None else max(1, int(wait_s * 1000)))
            self._send()
        # a script may close its own output and go on; its status comes when it ends
        while not self._channel.status_event.wait(0.2) and not self._channel.closed:
            if deadline_s is not None and time.monotonic() > deadline_s:
                return None
        code = int(self._channel.exit_status)
        return code if code >= 0 else self._without_status()

    def _without_status(self) -> int | None:
        """Tell a script that a signal ended (SSH then sends no status) from a connection that went."""
        time.sleep(_SETTLE_S)  # Paramiko drops the channels of a dead connection before it marks it dead
        transport = self._channel.get_transport()
        return _KILLED if transport is not None and transport.is_active() else None

    def close(self) -> None:
        """Close the channel; a script that watches its lifeline ends."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.close()

    def _drained(self, out: Sink, err: Sink) -> bool:
        ended = bool(self._channel.eof_received or self._channel.closed)
        while self._channel.recv_ready():
            out(self._channel.recv(_CHUNK))
        while self._channel.recv_stderr_ready():
            err(self._channel.recv_stderr(_CHUNK))
        return ended and not self._channel.recv_ready() and not self._channel.recv_stderr_ready()

    def _send(self) -> None:
        try:
            while self._unsent and self._channel.send_ready():
                self._unsent = self._unsent[self._channel.send(self._unsent[:_CHUNK].tobytes()) :]
        except TimeoutError:  # the window is full for now
            return
        except OSError:  # it ended without reading; its exit code tells
            self._unsent = memoryview(b"")


class SshTransport:
    """One node over SSH. The connection opens with the first script and serves all later ones."""

    def __init__(self, node: Node, options: SshOptions, trust: Trust | None = None) -> None:
        self.node = node
        self._options = options
        self._trust = trust
        self._connection: fabric.Connection | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def open(self, script: str, stdin: bytes = b"") -> SshStream:
        """Start a script. Raises UnreachableError when there is no connection or it was lost."""
        connection = self._connected()
        with explained(self.node):
            transport = connection.client.get_transport()
            if transport is None or self._is_closed:
                raise paramiko.SSHException("the connection was lost")
            channel = transport.open_session(timeout=self._options.connect_timeout_s)
            channel.exec_command(batch.shell(script))
        return SshStream(channel, stdin)

    def address(self) -> str:
        """The address at which the node itself was reached, also behind a jump host: its own sshd tells."""
        out = bytearray()
        stream = self.open('printf %s "$SSH_CONNECTION"')
        try:
            stream.pump(out.extend, lambda _: None, time.monotonic() + self._options.connect_timeout_s)
        finally:
            stream.close()
        fields = out.decode("ascii", "replace").split()
        return fields[-2] if len(fields) >= 4 else ""  # noqa: PLR2004  # client, port, server, port

    def close(self) -> None:
        """Drop the connection; whatever hung on it ends through its lifeline."""
        self._is_closed = True  # first: a handshake that is under way must not end in a script nobody ends
        if self._connection is not None:
            self._connection.client.close()

    def _connected(self) -> fabric.Connection:
        with self._lock:
            if self._connection is not None and not self._is_closed and not is_alive(self._connection):
                self._connection = None  # the node went and may be back
            if self._connection is None:
                self._connection = dial(self.node, self._options.connect_timeout_s, self._trust)
            return self._connection
