"""One `sysctl` call for the kernel values that tuning looks at."""

from __future__ import annotations

from maccluster_cli.macos.sysctl import value, whole
from maccluster_cli.values import DARWIN, Command

__all__ = ["SYSCTL", "value", "whole"]

SYSCTL = Command(
    (
        "sysctl",
        "hw.memsize",
        "kern.boottime",
        "kern.maxfiles",
        "kern.maxfilesperproc",
        "iogpu.wired_limit_mb",
    ),
    system=DARWIN,
)
