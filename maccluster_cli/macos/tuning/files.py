"""The kernel's caps on open files: raised when asked, never lowered, and by default left alone.

A job's own limit (`ulimit -n`) is what it needs as a rule; the caps only bound it. They grow with memory, so
the numbers that are handed round on the web make them smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maccluster_cli.macos.tuning import launchdaemon, wishes
from maccluster_cli.macos.tuning.kernel import SYSCTL, whole
from maccluster_cli.macos.tuning.launchdaemon import FILES, UNREADABLE, at_boot, persist, root
from maccluster_cli.values import Command, Fact, Refusal, Setting

TOTAL, EACH = "kern.maxfiles", "kern.maxfilesperproc"
MOST = 10_000_000  # a cap near 2^31 makes a login walk that many descriptors, for minutes

Pair = tuple[int, int]
Value = tuple[int, int, Pair | None]


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """All files, files of one process, and the same pair as our daemon sets it at boot."""
    total, each = parts.get("raw.files"), parts.get("raw.files_each")
    boot = at_boot(parts, FILES, TOTAL, EACH)
    unknown = total is None or each is None or boot == UNREADABLE
    return {"files.limit": None if unknown else (total, each, boot)}


def _wished(wish: Any, total: int) -> Pair:
    """Read a wish: files a process, or [a process, all] as `launchctl limit maxfiles` orders them."""
    if wishes.whole(wish):
        return max(total, 2 * wish), int(wish)  # the kernel's own proportion
    if isinstance(wish, Sequence) and not isinstance(wish, str) and len(wish) == len("SH"):
        each, most = wish
        if wishes.whole(each) and wishes.whole(most) and each <= most:
            return int(most), int(each)
    raise Refusal(f"{wish!r} is no limit: write files a process, or [files a process, files in all]")


def aim(facts: Mapping[str, Any], wish: Any) -> Value:
    """Raise to the wish; refuse what would lower, and what would choke logins."""
    have = facts.get("files.limit")
    if not have:
        raise Refusal("the running limits could not be read")
    total, each = _wished(wish, have[0])
    if total > MOST or each > MOST:
        raise Refusal(f"more than {MOST} files make every login search for minutes")
    if total < have[0] or each < have[1]:
        raise Refusal(
            f"this kernel allows {have[1]} files a process and {have[0]} in all, more than asked for. "
            "The advice `launchctl limit maxfiles 65536 200000` lowers both; give the job `ulimit -n` instead"
        )
    return (total, each, (total, each))


def _words(pair: Sequence[Any]) -> tuple[str, str]:
    return f"{TOTAL}={pair[0]}", f"{EACH}={pair[1]}"


def write(have: Any, want: Any) -> tuple[Command, ...]:
    """Now first, then for the next boot. By `sysctl`, which also goes back; `launchctl limit` does not."""
    if want is None:
        return ()
    (*old_now, old_boot), (*now, boot) = have or ("unknown",) * 3, want
    changed = (word for word in _words(now) if word not in _words(old_now))
    at_once = tuple(root(launchdaemon.SYSCTL, word) for word in changed)
    later = persist(FILES, None if boot is None else _words(boot)) if boot != old_boot else ()
    return (*at_once, *later)


FACTS = (
    Fact("raw.files", SYSCTL, lambda reply: whole(reply, TOTAL)),
    Fact("raw.files_each", SYSCTL, lambda reply: whole(reply, EACH)),
)
SETTINGS = (
    Setting(
        "files.limit",
        "Raises what `ulimit -n` may ask for; no report is known of a cluster that this mended.",
        write,
        aim,
    ),
)
BASELINE: Mapping[str, Any] = {}  # the kernel's own limits grow with memory and are enough
REPORTS: tuple[str, ...] = ()
