"""What is only told: disk encryption, firewall, integrity protection, sudo, heat, and sleeps since boot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from maccluster_cli.macos.system import booted_at
from maccluster_cli.macos.tuning.kernel import SYSCTL
from maccluster_cli.sudo import granted
from maccluster_cli.values import DARWIN, Command, Fact

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

_FIREWALL = "/usr/libexec/ApplicationFirewall/socketfilterfw"
FILEVAULT = Command(("fdesetup", "status"), system=DARWIN)
FIREWALL = Command((_FIREWALL, "--getglobalstate"), system=DARWIN)
STEALTH = Command((_FIREWALL, "--getstealthmode"), system=DARWIN)
INTEGRITY = Command(("csrutil", "status"), system=DARWIN)
THERMAL = Command(("pmset", "-g", "therm"), system=DARWIN)
SUDO = Command(("sudo", "-n", "-l"), system=DARWIN)
# The log has tens of thousands of lines; its last word says that it was read at all.
_SLEEPS = (
    """pmset -g log | awk '$4 == "Sleep" {print substr($0, 1, 25)} END {print NR, "lines"}' | tail -n 500"""
)
LOG = Command(("sh", "-c", _SLEEPS), system=DARWIN)

_LEVEL = re.compile(r"^\s*((?:Thermal|Performance) Warning Level = \d{1,3})\s*$", re.MULTILINE | re.ASCII)
_READ = re.compile(r"^[1-9]\d{0,8} lines$", re.MULTILINE | re.ASCII)
_STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}$", re.MULTILINE | re.ASCII)


def _said(pattern: str, yes: str) -> Any:
    """A parser of a fixed sentence with one word that decides."""
    sentence = re.compile(pattern, re.MULTILINE)

    def parse(reply: Reply) -> bool | None:
        found = sentence.search(reply.text)
        return found[1].lower() == yes if found else None

    return parse


def thermal(reply: Reply) -> tuple[str, ...] | None:
    """Levels that were recorded; "Note: No ..." means that none was, not that the Mac is cool."""
    levels = tuple(_LEVEL.findall(reply.text))
    return levels if levels or "Note: No" in reply.text else None


def sleeps(reply: Reply) -> tuple[str, ...] | None:
    """Times at which the Mac fell asleep, as the log gives them."""
    return tuple(_STAMP.findall(reply.text)) if _READ.search(reply.text) else None


def _since(boot: float | None, stamps: tuple[str, ...]) -> Iterator[str]:
    for stamp in stamps:
        with suppress(ValueError, OverflowError):
            if boot is None or datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S %z").timestamp() >= boot:
                yield stamp


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Sleeps count from the last boot on."""
    stamps = parts.get("raw.sleeps")
    since = None if stamps is None else list(_since(parts.get("raw.booted_at"), stamps))
    found = {name: parts.get(name) for name in REPORTS}
    count, last = (None, None) if since is None else (len(since), since[-1] if since else None)
    return found | {"power.sleeps": count, "power.last_sleep": last}


def notes(facts: Mapping[str, Any]) -> Iterator[str]:
    """What the owner should know about it, in sentences."""
    if facts.get("posture.filevault"):
        yield "FileVault is on: after a reboot it is out of reach until someone unlocks its disk"
    if facts.get("posture.firewall"):
        yield "the firewall is on: the Python of the ranks must be allowed to accept connections"
    if facts.get("posture.sip") is False:
        yield "System Integrity Protection is off: limits can be lowered by accident"
    if facts.get("power.low_power"):
        yield "Low Power Mode is on for the mains: it slows this node, and all ranks wait for the slowest"
    if facts.get("power.sleeps"):
        yield f"it slept {facts['power.sleeps']} times since boot, last at {facts.get('power.last_sleep')}"
    if facts.get("thermal.notes"):
        yield f"heat was recorded: {', '.join(facts['thermal.notes'])}"


FACTS = (
    Fact("raw.booted_at", SYSCTL, booted_at),
    Fact("posture.filevault", FILEVAULT, _said(r"^FileVault is (On|Off)\.", "on")),
    Fact("posture.firewall", FIREWALL, _said(r"\(State = (\d)\)", "1")),
    Fact("posture.stealth", STEALTH, _said(r"stealth mode (?:is )?(on|off|enabled|disabled)", "on")),
    Fact("posture.sip", INTEGRITY, _said(r"Protection status: (enabled|disabled)\b", "enabled")),
    Fact("thermal.notes", THERMAL, thermal),
    Fact("sudo", SUDO, granted),
    Fact("raw.sleeps", LOG, sleeps),
)
REPORTS = (
    "posture.filevault",
    "posture.firewall",
    "posture.stealth",
    "posture.sip",
    "thermal.notes",
    "sudo",
    "power.sleeps",
    "power.last_sleep",
)
