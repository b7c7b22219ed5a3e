"""Who picks the clock of the CPUs. `systemd-tmpfiles` writes it now and at each boot, from one file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maccluster_cli.linux.files import below
from maccluster_cli.linux.tuning.kernel import GOVERNOR_FILE, KERNEL, POLICIES, texts
from maccluster_cli.linux.tuning.placing import put, root
from maccluster_cli.values import Command, Fact, Refusal, Setting

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

TMPFILES = "/usr/bin/systemd-tmpfiles"
_LINE = re.compile(
    rf"^w {re.escape(POLICIES[:-1])}(\*|\d+)/scaling_governor - - - - ([a-z_]+)$", re.MULTILINE
)
_NAME = re.compile(r"[a-z_]{1,32}", re.ASCII)

Value = tuple[str, str | None]


def _spoken(policies: Mapping[str, str]) -> str:
    """One word where all agree, else each policy with its own: "0=schedutil 4=performance"."""
    kinds = set(policies.values())
    if len(kinds) == 1:
        return kinds.pop()
    return " ".join(f"{number}={policies[number]}" for number in sorted(policies, key=int))


def governor(reply: Reply) -> Value | str | None:
    """What rules now and what our file says for the next boot; an empty text where nothing scales clocks."""
    found = texts(reply)
    if found is None:
        return None
    now = {
        number: name
        for (number,), name in below(reply, f"{POLICIES}/scaling_governor").items()
        if number.isascii() and number.isdigit() and _NAME.fullmatch(name)
    }
    if not now:
        return ""
    kept = dict(_LINE.findall(found.get(GOVERNOR_FILE, "")))
    if GOVERNOR_FILE in found and not kept:
        return None
    return (_spoken(now), (_spoken(kept) if kept else None))


def choices(reply: Reply) -> tuple[str, ...] | None:
    """Governors that every policy offers."""
    offers = [set(text.split()) for text in below(reply, f"{POLICIES}/scaling_available_governors").values()]
    return tuple(sorted(set.intersection(*offers))) if offers else None


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The setting where clocks scale at all, and what may be chosen."""
    found = parts.get("raw.governor")
    return {"cpu.governors": parts.get("cpu.governors")} | ({} if found == "" else {"cpu.governor": found})


def aim(facts: Mapping[str, Any], wish: Any) -> Value:
    """One governor for all CPUs, of those that the driver offers."""
    offered = facts.get("cpu.governors")
    if not isinstance(wish, str) or not _NAME.fullmatch(wish) or (offered and wish not in offered):
        raise Refusal(f"{wish!r} is no governor here; there are {', '.join(offered or ('performance',))}")
    return (wish, wish)


def _lines(spoken: str) -> tuple[str, ...]:
    pairs = [word.split("=") for word in spoken.split()] if "=" in spoken else [["*", spoken]]
    return tuple(f"w {POLICIES[:-1]}{number}/scaling_governor - - - - {name}" for number, name in pairs)


def write(have: Any, want: Any) -> tuple[Command, ...]:
    """Lay the file and have it carried out; then leave it for the next boot, change it, or take it away."""
    if want is None:
        return ()
    (old_now, file), (now, boot) = have or ("unknown", "unknown"), want
    commands: tuple[Command, ...] = ()
    if now != old_now:
        commands, file = (*put(GOVERNOR_FILE, _lines(now)), root(TMPFILES, "--create", GOVERNOR_FILE)), now
    if boot != file:
        commands += put(GOVERNOR_FILE, None if boot is None else _lines(boot))
    return commands


FACTS = (
    Fact("raw.governor", KERNEL, governor),
    Fact("cpu.governors", KERNEL, choices),
)
SETTINGS = (
    Setting("cpu.governor", "A clock that first has to rise makes every short step longer.", write, aim),
)
BASELINE: Mapping[str, Any] = {"cpu.governor": "performance"}
REPORTS = ("cpu.governors",)
