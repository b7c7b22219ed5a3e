"""Which keys a host may show, as OpenSSH reads known_hosts: patterns, hashes, several keys, revocations."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

SSH_PORT = 22
# Host key algorithms by the key type that stands in known_hosts; one RSA key serves two signatures.
ALGORITHMS = {
    "ssh-ed25519": ("ssh-ed25519",),
    "ecdsa-sha2-nistp256": ("ecdsa-sha2-nistp256",),
    "ecdsa-sha2-nistp384": ("ecdsa-sha2-nistp384",),
    "ecdsa-sha2-nistp521": ("ecdsa-sha2-nistp521",),
    "ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of known_hosts. ``marker`` is empty, @revoked or @cert-authority."""

    hosts: tuple[str, ...]
    kind: str
    key: str  # base64
    marker: str = ""

    def names(self, name: str) -> bool:
        """Whether the line is about ``name``; a negated pattern that fits decides against it."""
        if any(host.startswith("!") and fnmatch.fnmatchcase(name, host[1:].lower()) for host in self.hosts):
            return False
        return any(_fits(name, host) for host in self.hosts)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about one host: keys by (type, base64), and those that must never be taken again."""

    keys: frozenset[tuple[str, str]]
    revoked: frozenset[tuple[str, str]]

    def unwanted(self) -> list[str]:
        """Algorithms to leave out of the negotiation, so that the host shows a key of a type we know."""
        kinds = {kind for kind, _ in self.keys}
        if not kinds & set(ALGORITHMS):
            return []
        return [name for kind, names in ALGORITHMS.items() if kind not in kinds for name in names]


def lookup_name(host: str, port: int, alias: str | None) -> str:
    """The name under which a host stands in known_hosts."""
    if alias:
        return alias.lower()
    return host.lower() if port == SSH_PORT else f"[{host.lower()}]:{port}"


def known(files: Sequence[Path], name: str) -> Known:
    """Everything the files say about ``name``."""
    mine = [line for line in _lines(tuple(files)) if line.names(name)]
    pairs = {marker: {(x.kind, x.key) for x in mine if x.marker == marker} for marker in ("", "@revoked")}
    return Known(frozenset(pairs[""] - pairs["@revoked"]), frozenset(pairs["@revoked"]))


def remember(file: Path, name: str, key: paramiko.PKey) -> None:
    """Add a line, on a line of its own whatever the file ended with."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = file.read_bytes() if file.exists() else b""
    gap = "\n" if before and not before.endswith(b"\n") else ""
    with file.open("a", encoding="utf-8") as out:
        out.write(f"{gap}{name} {key.get_name()} {key.get_base64()}\n")
    _lines.cache_clear()


@functools.cache
def _lines(files: tuple[Path, ...]) -> tuple[Line, ...]:
    """Read once for all nodes: parsing 64 keys for each of 64 connections is most of what those cost."""
    return tuple(line for file in files for line in _parsed(file))


def _parsed(file: Path) -> Iterator[Line]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for row in text.splitlines():
        fields = row.split()
        marker = fields.pop(0) if fields and fields[0].startswith("@") else ""
        if len(fields) >= 3 and not fields[0].startswith("#"):  # noqa: PLR2004  # hosts, type, key
            yield Line(tuple(fields[0].split(",")), fields[1], fields[2], marker)


def _fits(name: str, host: str) -> bool:
    if host.startswith("|1|"):
        return _hashed(name, host) == host
    return fnmatch.fnmatchcase(name, host.lower())


def _hashed(name: str, host: str) -> str:
    try:
        return str(paramiko.HostKeys.hash_host(name, host))
    except (ValueError, IndexError):
        return ""
