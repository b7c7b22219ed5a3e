"""One process that prints every small file of /proc, /sys and /etc that is worth reading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maccluster_cli.values import LINUX, Command

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

_PATHS = (
    "/etc/os-release",
    "/etc/machine-id",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/osrelease",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/proc/device-tree/model",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/devices/system/cpu/online",
    "/sys/class/net/*/speed",
    "/sys/class/power_supply/*/type",
    "/sys/class/power_supply/*/online",
    "/sys/class/infiniband/*/ports/*/state",
    "/sys/bus/thunderbolt/devices/*/unique_id",
    "/sys/bus/thunderbolt/devices/*/device_name",
    "/sys/bus/thunderbolt/devices/*/generation",
    "/sys/bus/thunderbolt/devices/*/authorized",
    "/sys/bus/thunderbolt/devices/*/rx_speed",
    "/sys/bus/thunderbolt/devices/*/rx_lanes",
    "/sys/bus/thunderbolt/devices/*/net/*/operstate",
)

# `head` names each file and copes with any bytes, which `grep ''` does not; 60 lines hold all of meminfo and
# the first CPU of cpuinfo. The shell is there for the patterns and is replaced by `head`.
FILES = Command(("sh", "-c", f"exec head -n 60 -- {' '.join(_PATHS)} 2>/dev/null"), system=LINUX)

_TITLE = re.compile(r"^==> (/\S+) <==$", re.MULTILINE)


def contents(reply: Reply) -> dict[str, str]:
    """Text by path; a file that could not be read is empty or not there."""
    text = reply.text
    titles = list(_TITLE.finditer(text))
    ends = [*(title.start() for title in titles), len(text)]
    return {
        title[1]: text[title.end() : end].strip(" \t\r\n\0")
        for title, end in zip(titles, ends[1:], strict=True)
    }


def read(reply: Reply, path: str) -> str | None:
    """Give one file's text; an empty file is as good as none."""
    return contents(reply).get(path) or None


def below(reply: Reply, pattern: str) -> dict[tuple[str, ...], str]:
    """Give the texts of all paths that match, by what stood for each `*`."""
    wanted = re.compile(re.escape(pattern).replace(r"\*", "([^/]+)"))
    pairs = ((wanted.fullmatch(path), text) for path, text in contents(reply).items())
    return {found.groups(): text for found, text in pairs if found}
