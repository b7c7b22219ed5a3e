"""The clock: whether a time service keeps it, and how far it is off by that service's own account."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maccluster_cli.linux.tuning import wishes
from maccluster_cli.linux.tuning.placing import root
from maccluster_cli.values import LINUX, Command, Fact, Setting

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

TIMEDATECTL = "/usr/bin/timedatectl"
STATE = Command(("timedatectl", "show"), system=LINUX)
TIMESYNC = Command(("timedatectl", "timesync-status"), system=LINUX)
CHRONY = Command(("chronyc", "-n", "tracking"), system=LINUX)
ABSENT = "absent"
_COMMAND_MISSING = 127
_UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_SERVICE = re.compile(r"^NTP=(yes|no)$", re.MULTILINE)
_NONE = re.compile(r"^CanNTP=no$", re.MULTILINE)
_SYSTEM_TIME = re.compile(
    r"^System time\s*: (\d{1,9}\.\d{1,12}) seconds (slow|fast) of NTP time", re.MULTILINE | re.ASCII
)
_OFFSET = re.compile(r"^\s*Offset: ([+-]?\d{1,9}(?:\.\d{1,9})?)(us|µs|ms|s)\s*$", re.MULTILINE | re.ASCII)


def network_time(reply: Reply) -> bool | str | None:
    """Whether a time service is on; `ABSENT` where there is none to switch."""
    if reply.code == _COMMAND_MISSING or _NONE.search(reply.text):
        return ABSENT
    found = _SERVICE.search(reply.text)
    return found[1] == "yes" if found else None


def chrony_offset(reply: Reply) -> float | None:
    """Seconds that this node is behind; chrony calls that slow."""
    found = _SYSTEM_TIME.search(reply.text)
    return float(found[1]) * (1 if found[2] == "slow" else -1) if found else None


def timesync_offset(reply: Reply) -> float | None:
    """Seconds that this node is behind, as systemd's own client measured last."""
    found = _OFFSET.search(reply.text)
    return float(found[1]) * _UNITS[found[2]] if found else None


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The offset by whichever service runs."""
    chrony, kept = parts.get("raw.offset_chrony"), parts.get("raw.network_time")
    report = {"clock.offset_s": parts.get("raw.offset_timesync") if chrony is None else chrony}
    return report | ({} if kept == ABSENT else {"clock.network_time": kept})


def write(have: Any, want: Any) -> tuple[Command, ...]:
    """Switch the service on or off."""
    del have
    return (root(TIMEDATECTL, "set-ntp", "true" if want else "false"),) if want is not None else ()


FACTS = (
    Fact("raw.network_time", STATE, network_time),
    Fact("raw.offset_chrony", CHRONY, chrony_offset),
    Fact("raw.offset_timesync", TIMESYNC, timesync_offset),
)
SETTINGS = (
    Setting(
        "clock.network_time",
        "Logs and checkpoints of all nodes can be laid side by side.",
        write,
        wishes.yes_or_no,
    ),
)
BASELINE: Mapping[str, Any] = {"clock.network_time": True}
REPORTS = ("clock.offset_s",)
