"""Opening an SSH connection: keys, jump hosts, verified host keys, sockets that notice the end."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fabric
import paramiko
from paramiko.client import MissingHostKeyPolicy
from paramiko.pkey import UnknownKeyType

from maccluster_cli.errors import UnreachableError
from maccluster_cli.transport import knownhosts
from maccluster_cli.values import Node

Trust = Callable[[str, str, str], bool]  # node, key type, fingerprint -> does the person trust it?
_RXT_CONNDROPTIME = 0x80  # TCP_RXT_CONNDROPTIME of macOS's netinet/tcp.h; Python has no name for it


def dial(node: Node, limit_s: float, trust: Trust | None) -> fabric.Connection:
    """An open connection to a node whose key, and that of every hop, was verified."""
    with explained(node):
        config = _config()
        connection = fabric.Connection(
            node.host,
            user=node.user,
            port=node.port,
            gateway=_gateway(node, config, limit_s),
            config=config,
            connect_timeout=limit_s,
            connect_kwargs=_keys(node.key),
        )
        for hop in _hops(connection):
            hop.connect_timeout = limit_s
            _verify(hop, node.name if hop is connection else hop.original_host, trust)
        if isinstance(connection.gateway, fabric.Connection):
            _open_way(node, connection.gateway)
        elif not connection.gateway:
            connection.connect_kwargs["sock"] = _socket(connection, limit_s)
        connection.open()
        return connection


def _open_way(node: Node, gateway: fabric.Connection) -> None:
    """Open the hosts on the way first, so that what fails there is not said of the node."""
    try:
        gateway.open()
    except _HostKeyError:
        raise
    except (OSError, EOFError, paramiko.SSHException) as error:
        refused = isinstance(error, paramiko.AuthenticationException)
        words = "login refused: none of your keys is accepted" if refused else _network_words(error)
        label = gateway.original_host
        text = _of_hop(node, label, words)
        raise UnreachableError(text, node=node.name, hint=f"ssh {label}") from error


def is_alive(connection: fabric.Connection) -> bool:
    """Whether it still carries anything."""
    transport = connection.client.get_transport()
    return transport is not None and transport.is_active()


def _verify(hop: fabric.Connection, label: str, trust: Trust | None) -> None:
    """Known hosts decide. Fabric alone would take any key: measured, even one that contradicts."""
    name = knownhosts.lookup_name(hop.host, hop.port, hop.ssh_config.get("hostkeyalias"))
    known = knownhosts.known(_known_hosts(hop.ssh_config), name)
    if files := hop.connect_kwargs.get("key_filename"):
        named = [files] if isinstance(files, str) else files
        # what ssh does with an IdentityFile that is not there, or is the public half: the agent may have it
        hop.connect_kwargs["key_filename"] = [
            f for f in named if Path(f).is_file() and not f.endswith(".pub")
        ]
    agent = hop.ssh_config.get("identityagent", "")
    if agent and agent not in {"none", "SSH_AUTH_SOCK"}:
        os.environ["SSH_AUTH_SOCK"] = str(Path(agent).expanduser())  # where Paramiko looks for an agent
    hop.connect_kwargs["disabled_algorithms"] = {"keys": known.unwanted()}
    hop.client.set_missing_host_key_policy(_Doorkeeper(hop, label, (name, known), trust))


class _Doorkeeper(MissingHostKeyPolicy):
    """Decides about every key of every hop; Paramiko itself is given none to compare with."""

    def __init__(
        self, hop: fabric.Connection, label: str, known: tuple[str, knownhosts.Known], trust: Trust | None
    ) -> None:
        self._hop, self._label, self._trust = hop, label, trust
        self._name, self._known = known

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Take a known key, refuse a revoked or a changed one, ask about a new one and remember a yes."""
        del client, hostname
        pair = (key.get_name(), key.get_base64())
        if pair in self._known.revoked:
            raise self._refusal("its host key was revoked in known_hosts", "do not connect; ask its owner")
        if pair in self._known.keys:
            return
        ssh = f"ssh {self._hop.original_host}"
        if any(kind == pair[0] for kind, _ in self._known.keys):
            text = "its host key has changed since it was trusted: another machine, or a new system"
            raise self._refusal(text, f"if that is right: ssh-keygen -R '{self._name}'; then: {ssh}")
        if not self._trust or not self._trust(self._label, key.get_name(), key.fingerprint):
            text = f"its host key is not known here ({key.get_name()} {key.fingerprint})"
            raise self._refusal(text, f"check and accept it once: {ssh}")
        knownhosts.remember(_known_hosts(self._hop.ssh_config)[0], self._name, key)

    def _refusal(self, text: str, hint: str) -> _HostKeyError:
        return _HostKeyError(self._label, text, hint)


class _HostKeyError(paramiko.SSHException):
    def __init__(self, label: str, text: str, hint: str) -> None:
        super().__init__(text)
        self.label, self.hint = label, hint


class _KeyFileError(paramiko.SSHException):
    pass


@contextlib.contextmanager
def explained(node: Node) -> Iterator[None]:
    """Turn what SSH libraries raise into one sentence, the node's name and the next thing to type."""
    try:
        yield
    except _HostKeyError as key:
        raise UnreachableError(_of_hop(node, key.label, str(key)), node=node.name, hint=key.hint) from key
    except _KeyFileError as key:
        raise UnreachableError(
            str(key), node=node.name, hint="key = in the profile names a private key"
        ) from key
    except paramiko.PasswordRequiredException as locked:
        text = "your key is locked with a passphrase, and maccluster never asks for one"
        raise UnreachableError(text, node=node.name, hint="ssh-add") from locked
    except paramiko.AuthenticationException as refused:
        who = f"{node.user}@{node.host}" if node.user else node.host
        raise UnreachableError(
            "login refused: none of your keys is accepted", node=node.name, hint=f"ssh-copy-id {who}"
        ) from refused
    except (UnicodeDecodeError, paramiko.ConfigParseError) as error:
        raise UnreachableError(
            f"ssh_config cannot be read: {error}", node=node.name, hint="ssh -G ."
        ) from error
    except (OSError, EOFError, paramiko.SSHException) as error:
        raise UnreachableError(
            _network_words(error), node=node.name, hint=f"maccluster discover --nodes {node.name}"
        ) from error


def _of_hop(node: Node, label: str, text: str) -> str:
    """A host on the way is named, so that nobody forgets the key of the wrong one."""
    return text if label == node.name else f"{label}, the host on the way to it: {text}"


def _network_words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time (is it asleep, or on another network?)"
    if isinstance(error, socket.gaierror):
        return "its name is not known on this network"
    if isinstance(error, ConnectionRefusedError):
        return "it refuses SSH (is Remote Login on?)"
    text = str(error) or type(error).__name__
    return f"no SSH connection ({text.splitlines()[0]})"


@functools.cache
def _config() -> fabric.Config:
    """Read ssh_config once for all nodes; ``lazy`` keeps the user's own fabric files out of it."""
    config = fabric.Config(lazy=True)
    config.load_ssh_config()
    return config


def _gateway(node: Node, config: fabric.Config, limit_s: float) -> fabric.Connection | bool | None:
    """The jump host of the profile; None leaves it to ssh_config, whose ``ProxyJump none`` means none."""
    if node.jump:
        way: fabric.Connection | None = None
        for host in node.jump.split(","):
            way = fabric.Connection(host.strip(), gateway=way, config=config, connect_timeout=limit_s)
        return way
    wish = config.base_ssh_config.lookup(node.host).get("proxyjump", "")
    return False if wish.lower() == "none" else None


@functools.cache
def _private_key(file: str) -> paramiko.PKey | None:
    """The key, or None for one that only the agent can open."""
    try:
        return paramiko.PKey.from_path(file)
    except OSError as error:
        raise _KeyFileError(f"cannot read the key {file}: {error.strerror}") from error
    except (paramiko.PasswordRequiredException, TypeError):
        return None
    except (ValueError, UnknownKeyType, paramiko.SSHException) as error:
        raise _KeyFileError(f"{file} is not a private key") from error


def _keys(key: str | None) -> dict[str, Any]:
    """A named key alone, else agent and defaults. A stray RSA key costs 180 ms a connection, so not both."""
    if not key:
        return {}
    file = str(Path(key).expanduser())
    loaded = _private_key(file)
    if loaded is None:
        return {"key_filename": [file], "look_for_keys": False}
    return {"pkey": loaded, "look_for_keys": False, "allow_agent": False}


def _hops(connection: fabric.Connection) -> Iterator[fabric.Connection]:
    hop: Any = connection
    while isinstance(hop, fabric.Connection):
        yield hop
        hop = hop.gateway


def _known_hosts(ssh_config: dict[str, Any]) -> tuple[Path, ...]:
    named = str(ssh_config.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2")).split()
    return (*(Path(name).expanduser() for name in named), Path("/etc/ssh/ssh_known_hosts"))


def _socket(connection: fabric.Connection, timeout_s: float) -> socket.socket:
    """Our own socket: no Nagle (a warm command takes 21 ms, not 58), and a dead peer noticed in 8 s."""
    sock = socket.create_connection((connection.host, connection.port), timeout_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))  # Linux, macOS
    # keepalive is silent while sent data waits for its answer; this ends that wait: ms on Linux, s on macOS
    waiting = getattr(socket, "TCP_USER_TIMEOUT", _RXT_CONNDROPTIME)
    patience = 8 if waiting == _RXT_CONNDROPTIME else 8000
    for option, value in ((idle, 2), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3), (waiting, patience)):
        with contextlib.suppress(OSError):  # an option this system lacks leaves the others
            if option is not None:
                sock.setsockopt(socket.IPPROTO_TCP, option, value)
    return sock
