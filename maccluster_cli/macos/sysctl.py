"""One `sysctl` call for everything the kernel knows by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maccluster_cli.values import DARWIN, Command

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

LEVELS = range(3)  # kinds of core seen so far: one in a VM, two up to M5, three on M6

# Names that a release lacks are skipped or complained about, and the others are still printed.
SYSCTL = Command(
    (
        "sysctl",
        "hw.model",
        "hw.memsize",
        "hw.physicalcpu",
        "hw.nperflevels",
        *(f"hw.perflevel{level}.{part}" for level in LEVELS for part in ("name", "physicalcpu")),
        "machdep.cpu.brand_string",
        "kern.hostname",
        "kern.osproductversion",
        "kern.osversion",
        "kern.boottime",
        "vm.loadavg",
        "vm.swapusage",
        "iogpu.wired_limit_mb",
    ),
    system=DARWIN,
)

_LINE = re.compile(r"^([a-z]\w*(?:\.\w+)+):[ \t]?(.*)$", re.MULTILINE | re.ASCII)
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)


def value(reply: Reply, name: str) -> str | None:
    """Find what the kernel says under one name; an empty value counts as unknown."""
    for found in _LINE.finditer(reply.text):
        if found[1] == name:
            return found[2].strip() or None
    return None


def whole(reply: Reply, name: str) -> int | None:
    """Find a value that is a plain number; anything else is unknown, never zero."""
    found = value(reply, name)
    return int(found) if found and _WHOLE.fullmatch(found) else None
