"""Socket buffers: a fast link with a long way needs more than the kernel lets a socket have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maccluster_cli.linux.tuning import wishes
from maccluster_cli.linux.tuning.kernel import (
    BUFFERS,
    KERNEL,
    SYSCTL_FILE,
    assignments,
    proc,
    read_only,
    set_now,
    texts,
)
from maccluster_cli.linux.tuning.placing import put
from maccluster_cli.values import Command, Fact, Refusal, Setting

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

DEFAULT_BYTES = 16 << 20  # 10 Gb/s over 10 ms and more; a LAN needs less
MOST_BYTES = (1 << 31) - 1  # the kernel keeps them as signed 32-bit numbers
ABSENT = "absent"

Pairs = tuple[tuple[str, str], ...]
Value = tuple[Pairs, Pairs | None]


def _numbers(text: str) -> str | None:
    words = text.split()
    return " ".join(words) if words and all(word.isascii() and word.isdigit() for word in words) else None


def buffers(reply: Reply) -> Value | str | None:
    """Values by name, now and in our file for the next boot; a container may lack some, or not write them."""
    found = texts(reply)
    if found is None:
        return None
    open_to_us = (name for name in BUFFERS if proc(name) not in read_only(reply))
    now = tuple((name, value) for name in open_to_us if (value := _numbers(found.get(proc(name), ""))))
    if SYSCTL_FILE not in found:
        return (now, None) if now else ABSENT
    kept = assignments(found[SYSCTL_FILE])
    boot = tuple((name, kept[name]) for name in BUFFERS if name in kept)
    return (now, boot) if now and boot else None


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """One value for all of them; none where this network has none of the names."""
    found = parts.get("raw.buffers")
    return {} if found == ABSENT else {"net.buffers": found}


def aim(facts: Mapping[str, Any], wish: Any) -> Value:
    """Raise each maximum to the wish, in bytes; what is larger already stays."""
    have = facts.get("net.buffers")
    if not have:
        raise Refusal("the running buffers could not be read")
    if not wishes.whole(wish) or wish > MOST_BYTES:
        raise Refusal(f"{wish!r} is no size: write bytes as a whole number")
    now, boot = have
    raised = tuple((name, _raised(text, int(wish))) for name, text in now)
    return have if raised == now and boot is None else (raised, raised)


def _raised(text: str, least: int) -> str:
    *low, high = text.split()
    return " ".join((*low, str(max(int(high), least))))


def write(have: Any, want: Any) -> tuple[Command, ...]:
    """For the next boot first, then now: what was stopped between is not taken for done."""
    if want is None:
        return ()
    (old_now, old_boot), (now, boot) = have or ((), "unknown"), want
    lines = None if boot is None else [f"{name} = {value}" for name, value in boot]
    later = put(SYSCTL_FILE, lines) if boot != old_boot else ()
    before = dict(old_now)
    return (*later, *(set_now(name, value) for name, value in now if before.get(name) != value))


FACTS = (Fact("raw.buffers", KERNEL, buffers),)
SETTINGS = (
    Setting("net.buffers", "Lets a connection keep a fast link full; sizes are upper bounds.", write, aim),
)
BASELINE: Mapping[str, Any] = {"net.buffers": DEFAULT_BYTES}
