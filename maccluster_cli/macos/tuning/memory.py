"""How much memory the GPU may keep wired: now by `sysctl`, at the next boot by a daemon of ours.

The kernel's own limit is about two thirds to three quarters of memory (from reports of what Metal recommends;
not documented), which on a large Mac leaves far more unused than macOS needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maccluster_cli.macos.tuning import launchdaemon, wishes
from maccluster_cli.macos.tuning.kernel import SYSCTL, whole
from maccluster_cli.macos.tuning.launchdaemon import UNREADABLE, WIRED, at_boot, persist, root
from maccluster_cli.values import Command, Fact, Refusal, Setting

NAME = "iogpu.wired_limit_mb"
DEFAULT = (0, None)
_GIB_MB = 1 << 10
_SMALL_MB = 48 * _GIB_MB  # below it macOS's own share already leaves it little more than it needs
_LEFT_MB = 8 * _GIB_MB
_LEFT_SHARE = 0.10
_LEAST_LEFT_MB = 4 * _GIB_MB
_LEAST_LEFT_SHARE = 0.08

Value = tuple[int, int | None]


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Limit now and at boot, both in MiB; 0 is the kernel's own. No such name: no such setting."""
    now, boot = parts.get("raw.wired_now"), at_boot(parts, WIRED, NAME)
    if now is None and parts.get("hw.memory_bytes"):
        return {}
    if now is None or boot == UNREADABLE:
        return {"memory.wired_limit": None}
    return {"memory.wired_limit": (now, boot[0] if boot else None)}


def automatic(memory_mb: int) -> Value:
    """Leave macOS the larger of 8 GiB and a tenth; a Mac under 48 GiB keeps the default.

    An inference, not Apple's: kernel panics were reported with 93 % of memory wired, and capping the limit
    avoided them (mlx#3186). 48 GiB -> 40, 64 -> 56, 128 -> 115, 512 -> 460.
    """
    if memory_mb < _SMALL_MB:
        return DEFAULT
    limit = memory_mb - max(_LEFT_MB, int(memory_mb * _LEFT_SHARE))
    return (limit, limit)


def aim(facts: Mapping[str, Any], wish: Any) -> Value:
    """The limit for this Mac's memory: "auto", "default", or MiB that leave macOS enough."""
    if wish == "default" or (wishes.whole(wish) and wish == 0):
        return DEFAULT
    memory = facts.get("hw.memory_bytes")
    if not wishes.whole(memory) or not memory:
        raise Refusal("how much memory this Mac has could not be read")
    memory_mb = int(memory) >> 20
    if wish == "auto":
        return automatic(memory_mb)
    if not wishes.whole(wish) or wish < 0:
        raise Refusal(f'{wish!r} is no limit: write "auto", "default", or MiB as a whole number')
    return _checked(int(wish), memory_mb)


def _checked(limit_mb: int, memory_mb: int) -> Value:
    most = memory_mb - max(_LEAST_LEFT_MB, int(memory_mb * _LEAST_LEFT_SHARE))
    if limit_mb > most:
        instead = automatic(memory_mb)[0] or "the default"
        raise Refusal(
            f"{limit_mb} of {memory_mb} MiB would leave macOS too little: near a full limit the "
            f'kernel panics. At most {max(most, 0)} here; "auto" gives {instead}'
        )
    return (limit_mb, limit_mb)


def write(have: Any, want: Any) -> tuple[Command, ...]:
    """Now first, then for the next boot; only what differs."""
    if want is None:
        return ()
    (old_now, old_boot), (now, boot) = have or ("unknown", "unknown"), want
    at_once = (root(launchdaemon.SYSCTL, f"{NAME}={now}"),) if now != old_now else ()
    later = persist(WIRED, None if boot is None else [f"{NAME}={boot}"]) if boot != old_boot else ()
    return (*at_once, *later)


FACTS = (
    Fact("hw.memory_bytes", SYSCTL, lambda reply: whole(reply, "hw.memsize")),
    Fact("raw.wired_now", SYSCTL, lambda reply: whole(reply, NAME)),
)
SETTINGS = (
    Setting(
        "memory.wired_limit",
        "A larger share of memory for the GPU fits a larger model; macOS keeps what it needs.",
        write,
        aim,
    ),
)
BASELINE: Mapping[str, Any] = {"memory.wired_limit": "auto"}
REPORTS = ("hw.memory_bytes",)
