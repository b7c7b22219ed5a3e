"""A far machine through Fabric: ssh_config, jump hosts, verified host keys, one connection a node."""

from __future__ import annotations

import contextlib
import functools
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fabric
import paramiko
from paramiko.client import MissingHostKeyPolicy

from maccluster_cli.errors import UnreachableError
from maccluster_cli.transport import batch
from maccluster_cli.transport.base import Sink
from maccluster_cli.values import Node

_CHUNK = 1 << 16
_SSH_PORT = 22
_SETTLE_S = 0.2
_KILLED = 128 + 9  # Paramiko does not say which signal it was; one that leaves no choice is the likeliest
Trust = Callable[[str, str, str], bool]  # node, key type, fingerprint -> does the person trust it?


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
        self._channel.status_event.wait(5)
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
        if self._unsent and self._channel.send_ready():
            with contextlib.suppress(OSError):  # it ended without reading; its exit code tells
                self._unsent = self._unsent[self._channel.send(self._unsent[:_CHUNK].tobytes()) :]


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
        with _explained(self.node):
            transport = connection.client.get_transport()
            if transport is None or self._is_closed:
                raise paramiko.SSHException("the connection was lost")
            channel = transport.open_session(timeout=self._options.connect_timeout_s)
            channel.exec_command(batch.shell(script))
        return SshStream(channel, stdin)

    def address(self) -> str:
        """The address that answered; ssh_config may call it something else than the profile does."""
        connection = self._connected()
        with _explained(self.node):
            return socket.gethostbyname(connection.host)

    def close(self) -> None:
        """Drop the connection; whatever hung on it ends through its lifeline."""
        self._is_closed = True  # first: a handshake that is under way must not end in a script nobody ends
        if self._connection is not None:
            self._connection.client.close()

    def _connected(self) -> fabric.Connection:
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection

    def _connect(self) -> fabric.Connection:
        with _explained(self.node):
            config = _config()
            connection = fabric.Connection(
                self.node.host,
                user=self.node.user,
                port=self.node.port,
                gateway=_gateway(self.node.jump, config),
                config=config,
                connect_timeout=self._options.connect_timeout_s,
                connect_kwargs=_keys(self.node.key),
            )
            self._verify(connection)
            if not connection.gateway:
                connection.connect_kwargs["sock"] = _socket(connection, self._options.connect_timeout_s)
            connection.open()
            return connection

    def _verify(self, connection: fabric.Connection) -> None:
        """Known hosts decide. Fabric alone would take any key: measured, even one that contradicts."""
        for hop in _hops(connection):
            name = hop.host if hop.port == _SSH_PORT else f"[{hop.host}]:{hop.port}"
            known: Any = _host_keys(_known_hosts(hop.ssh_config)).lookup(name) or {}
            for kind, key in known.items():
                hop.client.get_host_keys().add(name, kind, key)
            hop.client.set_missing_host_key_policy(_AskOnce(self.node.name, self._trust, hop.ssh_config))


class _AskOnce(MissingHostKeyPolicy):
    """An unknown key is a question for a person, never a silent yes."""

    def __init__(self, node: str, trust: Trust | None, ssh_config: dict[str, Any]) -> None:
        self._node, self._trust, self._ssh_config = node, trust, ssh_config

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Ask, remember a yes where ssh would, refuse otherwise."""
        del client
        if not self._trust or not self._trust(self._node, key.get_name(), key.fingerprint):
            raise _UnknownHostKeyError(f"its host key is not known here ({key.get_name()} {key.fingerprint})")
        file = _known_hosts(self._ssh_config)[0]
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as known:
            known.write(f"{hostname} {key.get_name()} {key.get_base64()}\n")


class _UnknownHostKeyError(paramiko.SSHException):
    pass


@contextlib.contextmanager
def _explained(node: Node) -> Iterator[None]:
    """Turn what SSH libraries raise into one sentence, the node's name and the next thing to type."""
    try:
        yield
    except paramiko.BadHostKeyException as bad:
        raise UnreachableError(
            "its host key has changed since it was trusted: another machine, or a new system",
            node=node.name,
            hint=f"if that is right: ssh-keygen -R {_known_name(node)}; then: ssh {node.host}",
        ) from bad
    except _UnknownHostKeyError as unknown:
        hint = f"check and accept it once: ssh {node.host}"
        raise UnreachableError(str(unknown), node=node.name, hint=hint) from unknown
    except paramiko.AuthenticationException as refused:
        who = f"{node.user}@{node.host}" if node.user else node.host
        raise UnreachableError(
            "login refused: none of your keys is accepted", node=node.name, hint=f"ssh-copy-id {who}"
        ) from refused
    except (OSError, EOFError, paramiko.SSHException, paramiko.PasswordRequiredException) as error:
        raise UnreachableError(
            _network_words(error), node=node.name, hint=f"maccluster discover --nodes {node.name}"
        ) from error


def _network_words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time (is it asleep, or on another network?)"
    if isinstance(error, socket.gaierror):
        return "its name is not known on this network"
    if isinstance(error, ConnectionRefusedError):
        return "it refuses SSH (is Remote Login on?)"
    text = str(error) or type(error).__name__
    return f"no SSH connection ({text.splitlines()[0]})"


def _known_name(node: Node) -> str:
    return f"'[{node.host}]:{node.port}'" if node.port and node.port != _SSH_PORT else node.host


@functools.cache
def _config() -> fabric.Config:
    """Read ssh_config once for all nodes; ``lazy`` keeps the user's own fabric files out of it."""
    config = fabric.Config(lazy=True)
    config.load_ssh_config()
    return config


def _gateway(jump: str | None, config: fabric.Config) -> fabric.Connection | None:
    """The jump host of a profile; without one, ssh_config's ProxyJump or ProxyCommand holds."""
    return fabric.Connection(jump, config=config) if jump else None


@functools.cache
def _private_key(file: str) -> paramiko.PKey:
    return paramiko.PKey.from_path(file)


def _keys(key: str | None) -> dict[str, Any]:
    """A named key alone, else agent and defaults. A stray RSA key costs 180 ms a connection, so not both."""
    if key:
        return {
            "pkey": _private_key(str(Path(key).expanduser())),
            "look_for_keys": False,
            "allow_agent": False,
        }
    return {}


def _hops(connection: fabric.Connection) -> Iterator[fabric.Connection]:
    hop: Any = connection
    while isinstance(hop, fabric.Connection):
        yield hop
        hop = hop.gateway


def _known_hosts(ssh_config: dict[str, Any]) -> tuple[Path, ...]:
    named = str(ssh_config.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2")).split()
    return (*(Path(name).expanduser() for name in named), Path("/etc/ssh/ssh_known_hosts"))


@functools.cache
def _host_keys(files: tuple[Path, ...]) -> paramiko.HostKeys:
    """Read once for all nodes: parsing 64 keys for each of 64 connections is most of what those cost."""
    keys = paramiko.HostKeys()
    for file in files:
        with contextlib.suppress(OSError):
            keys.load(str(file))
    return keys


def _socket(connection: fabric.Connection, timeout_s: float) -> socket.socket:
    """Our own socket: no Nagle (a warm command takes 21 ms, not 58), and a dead peer noticed in 8 s."""
    sock = socket.create_connection((connection.host, connection.port), timeout_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))  # Linux, macOS
    for option, value in ((idle, 2), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3)):
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
    return sock
