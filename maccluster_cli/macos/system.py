"""The operating system: release, name of the host, load, time since boot."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from maccluster_cli.macos import sysctl
from maccluster_cli.macos.sysctl import SYSCTL
from maccluster_cli.values import DARWIN, Command, Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maccluster_cli.values import Reply

SW_VERS = Command(("sw_vers",), system=DARWIN)
LOCAL_NAME = Command(("scutil", "--get", "LocalHostName"), system=DARWIN)
NOW = Command(("date", "+%s"), system=DARWIN)  # the node's own clock, beside its own time of boot

_BOOT = re.compile(r"\bsec = (\d{1,12})(?:, usec = (\d{1,6}))?", re.ASCII)
_LOAD = re.compile(r"\{\s*(\d{1,6})[.,](\d{1,4})\s", re.ASCII)  # a comma where the node's locale has one
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", re.ASCII)
_SECONDS = re.compile(r"\d{1,12}", re.ASCII)


def release(label: str, reply: Reply) -> str | None:
    """Find a line of `sw_vers`; its label may be followed by one tab or two."""
    found = re.search(rf"^{label}:[ \t]*(\S.*?)\s*$", reply.text, re.MULTILINE)
    return found[1] if found else None


def local_name(reply: Reply) -> str | None:
    """Bonjour name without `.local`; "not set" and other sentences are no names."""
    found = reply.text.strip()
    return found if _HOST.fullmatch(found) else None


def load(reply: Reply) -> float | None:
    """Mean number of runnable threads over the last minute."""
    found = _LOAD.search(sysctl.value(reply, "vm.loadavg") or "")
    return float(f"{found[1]}.{found[2]}") if found else None


def booted_at(reply: Reply) -> float | None:
    """Time of boot in seconds since 1970."""
    found = _BOOT.search(sysctl.value(reply, "kern.boottime") or "")
    return float(f"{found[1]}.{found[2] or 0:0>6}") if found else None


def now(reply: Reply) -> float | None:
    """Read the node's clock in seconds since 1970."""
    found = reply.text.strip()
    return float(found) if _SECONDS.fullmatch(found) else None


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Fill from the kernel what `sw_vers` or `scutil` left open; uptime needs both clocks."""
    clock, boot = parts.get("raw.now"), parts.get("raw.booted_at")
    return {
        "os.version": _version(parts),
        "os.build": parts.get("os.build") or parts.get("raw.build"),
        "os.hostname": parts.get("os.hostname")
        or (parts.get("raw.hostname") or "").removesuffix(".local")
        or None,
        "os.uptime_s": _uptime(clock, boot),
    }


def _uptime(clock: float | None, boot: float | None) -> float | None:
    """`date` tells whole seconds, so a Mac that has just started may seem to start in a moment."""
    if clock is None or boot is None or clock < int(boot):
        return None
    return max(0.0, clock - boot)


def _version(parts: Mapping[str, Any]) -> str | None:
    return parts.get("os.version") or parts.get("raw.version")


def _kernel(name: str, reply: Reply) -> str | None:
    return sysctl.value(reply, name)


FACTS = (
    Fact("os.name", SW_VERS, partial(release, "ProductName")),
    Fact("os.version", SW_VERS, partial(release, "ProductVersion")),
    Fact("os.build", SW_VERS, partial(release, "BuildVersion")),
    Fact("os.hostname", LOCAL_NAME, local_name),
    Fact("os.load_1m", SYSCTL, load),
    Fact("raw.version", SYSCTL, partial(_kernel, "kern.osproductversion")),
    Fact("raw.build", SYSCTL, partial(_kernel, "kern.osversion")),
    Fact("raw.hostname", SYSCTL, partial(_kernel, "kern.hostname")),
    Fact("raw.booted_at", SYSCTL, booted_at),
    Fact("raw.now", NOW, now),
)
