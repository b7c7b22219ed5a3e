"""Open files: what a login may open, and the kernel's cap for all; raised when asked, never lowered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maccluster_cli.linux.tuning import wishes
from maccluster_cli.linux.tuning.kernel import (
    KERNEL,
    LIMITS_FILE,
    SYSCTL_FILES_FILE,
    assignments,
    proc,
    set_now,
    texts,
    whole,
)
from maccluster_cli.linux.tuning.placing import put
from maccluster_cli.values import Command, Fact, Refusal, Setting

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

CAP, MOST = "fs.file-max", "fs.nr_open"
_OPEN = re.compile(r"^Max open files\s+(\d{1,19})\s+(\d{1,19})\s+files", re.MULTILINE | re.ASCII)
_SOFT = re.compile(r"^\* soft nofile (\d{1,19})$", re.MULTILINE | re.ASCII)
_HARD = re.compile(r"^\* hard nofile (\d{1,19})$", re.MULTILINE | re.ASCII)

Pair = tuple[int, int]
Value = tuple[int, int | None, Pair | None]


def limit(reply: Reply) -> Value | None:
    """The cap now, the cap that our file sets at boot, and our limits of a login (soft, hard)."""
    found = texts(reply) or {}
    now = whole(found.get(proc(CAP)))
    boot = whole(assignments(found.get(SYSCTL_FILES_FILE, "")).get(CAP))
    soft, hard = (pattern.search(found.get(LIMITS_FILE, "")) for pattern in (_SOFT, _HARD))
    lost = (SYSCTL_FILES_FILE in found and boot is None) or (LIMITS_FILE in found and not (soft and hard))
    if now is None or lost:
        return None
    return (now, boot, (int(soft[1]), int(hard[1])) if soft and hard else None)


def session(reply: Reply) -> Pair | None:
    """What this login may open: soft and hard limit."""
    found = _OPEN.search((texts(reply) or {}).get("/proc/self/limits", ""))
    return (int(found[1]), int(found[2])) if found else None


def most(reply: Reply) -> int | None:
    """What the kernel lets any process ask for."""
    return whole((texts(reply) or {}).get(proc(MOST)))


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The setting, and the two facts that `aim` weighs it by."""
    return {name: parts.get(name) for name in ("files.limit", *REPORTS)}


def aim(facts: Mapping[str, Any], wish: Any) -> Value:
    """Raise the soft limit of logins to the wish, and the caps above it where they are too low for it."""
    have, login, cap = facts.get("files.limit"), facts.get("files.session"), facts.get("files.most")
    if not have or not login or not cap:
        raise Refusal("the running limits could not be read")
    if not wishes.whole(wish):
        raise Refusal(f"{wish!r} is no limit: write files a process as a whole number")
    if wish > cap:
        raise Refusal(f"{wish} is above fs.nr_open ({cap}): nobody could log in any more")
    if wish < login[0]:
        raise Refusal(f"a login may open {login[0]} files already, more than asked for; nothing is lowered")
    now, boot, _ = have
    total = max(now, 2 * int(wish))
    return (total, boot if total == now else total, (int(wish), max(int(wish), login[1])))


def write(have: Any, want: Any) -> tuple[Command, ...]:
    """For the next boot first, then now: what was stopped between is not taken for done."""
    if want is None:
        return ()
    (old_now, old_boot, old_login), (now, boot, login) = have or ("unknown",) * 3, want
    cap = put(SYSCTL_FILES_FILE, None if boot is None else [f"{CAP} = {boot}"]) if boot != old_boot else ()
    users = put(LIMITS_FILE, _lines(login)) if login != old_login else ()
    return (*cap, *users, *((set_now(CAP, now),) if now != old_now else ()))


def _lines(login: Any) -> tuple[str, ...] | None:
    return None if login is None else (f"* soft nofile {login[0]}", f"* hard nofile {login[1]}")


FACTS = (
    Fact("files.limit", KERNEL, limit),
    Fact("files.session", KERNEL, session),
    Fact("files.most", KERNEL, most),
)
SETTINGS = (
    Setting(
        "files.limit",
        "Lets a login open more files; a job can also do that by itself with `ulimit -n`.",
        write,
        aim,
    ),
)
BASELINE: Mapping[str, Any] = {}  # few jobs need it, and those can ask for it themselves
REPORTS = ("files.session", "files.most")
