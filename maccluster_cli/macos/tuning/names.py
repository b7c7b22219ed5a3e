"""A Mac's three names: what people see, what Bonjour says, what the shell says; better one name for all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from maccluster_cli.macos.tuning import wishes
from maccluster_cli.macos.tuning.launchdaemon import root
from maccluster_cli.values import DARWIN, Command, Fact, Refusal, Setting

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

SCUTIL = "/usr/sbin/scutil"
KINDS = ("ComputerName", "LocalHostName", "HostName")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)
_LONGEST = 255


def _get(kind: str) -> Command:
    return Command(("scutil", "--get", kind), system=DARWIN)


def told(kind: str, reply: Reply) -> str | None:
    """Read one name; a name that was never set is an empty one."""
    if f"{kind}: not set".encode() in reply.err:
        return ""
    lines = [line.strip() for line in reply.text.splitlines() if line.strip()]
    return lines[0] if len(lines) == 1 and len(lines[0]) <= _LONGEST else None


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The three together, or None while one of them is unknown."""
    found = tuple(parts.get(f"raw.name.{kind}") for kind in KINDS)
    return {"names.consistent": None if None in found else found}


def aim(facts: Mapping[str, Any], wish: Any) -> tuple[str, ...]:
    """All three as the profile names the node; a name by which the node is reached is not taken from it."""
    have = tuple(facts.get("names.consistent") or ())
    if not wishes.yes_or_no(facts, wish):
        return have
    name = facts.get("node.name")
    if not isinstance(name, str) or not _LABEL.fullmatch(name):
        raise Refusal(f"{name!r} cannot be a Bonjour name: letters, digits and hyphens only, no dot")
    host = str(facts.get("node.host") or "").lower().rstrip(".")
    if host.endswith(".local") and host != f"{name.lower()}.local":
        raise Refusal(f"it is reached as {host}, a name it would lose: give the profile its address first")
    return (name,) * len(KINDS)


def write(have: Any, want: Any) -> tuple[Command, ...]:
    """Set the names that differ; an empty one takes the name away again."""
    if want is None:
        return ()
    before = tuple(have or ()) or (None,) * len(KINDS)
    return tuple(
        root(SCUTIL, "--set", kind, new)
        for kind, old, new in zip(KINDS, before, want, strict=True)
        if old != new
    )


FACTS = tuple(Fact(f"raw.name.{kind}", _get(kind), partial(told, kind)) for kind in KINDS)
SETTINGS = (
    Setting(
        "names.consistent",
        "A Mac that Bonjour has renamed is found again, and no two names mean the same node.",
        write,
        aim,
        risk="network",
    ),
)
BASELINE: Mapping[str, Any] = {}  # a name belongs to its owner; a profile asks for it or it stays
REPORTS: tuple[str, ...] = ()
