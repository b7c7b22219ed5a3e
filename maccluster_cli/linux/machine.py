"""Which machine it is and what it runs, from the kernel's files."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from maccluster_cli.linux.files import FILES, below, read
from maccluster_cli.values import LINUX, Command, CoreLevel, Fact

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

DF = Command(("df", "-kP", "/"), system=LINUX)

_MACHINE_ID = re.compile(r"[0-9a-f]{32}")
_CHIP = re.compile(r"^(?:model name|Model|Hardware)\s*: *(\S.*)$", re.MULTILINE)
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
_ROOT = re.compile(r"\s(\d{1,18})\s+(\d{1,18})\s+(-?\d{1,18})\s+(?:\d{1,4}%|-)\s+/$", re.ASCII | re.MULTILINE)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_FIRMWARE_FILLER = {
    "to be filled by o.e.m.",
    "system product name",
    "system manufacturer",
    "default string",
    "none",
}
_DMI = "/sys/class/dmi/id"


def machine_id(reply: Reply) -> str | None:
    """Read the id that systemd keeps; the firmware's own UUID would need root."""
    found = read(reply, "/etc/machine-id") or ""
    return found if _MACHINE_ID.fullmatch(found) else None


def model(reply: Reply) -> str | None:
    """Name the product by DMI or, on boards without it, by the device tree."""
    return _firmware(reply, "product_name") or read(reply, "/proc/device-tree/model")


def name(reply: Reply) -> str | None:
    """Name vendor and product, since a product's name alone may be a bare number."""
    product, vendor = model(reply), _firmware(reply, "sys_vendor")
    return f"{vendor} {product}" if vendor and product else product


def chip(reply: Reply) -> str | None:
    """Name the first CPU; 64-bit Arm kernels give no name."""
    found = _CHIP.search(read(reply, "/proc/cpuinfo") or "")
    return found[1].strip() if found else None


def cores(reply: Reply) -> tuple[CoreLevel, ...] | None:
    """Count logical CPUs that are online ("0-3,8-11"); Linux tells no kinds apart here."""
    ranges = [
        _RANGE.fullmatch(part) for part in (read(reply, "/sys/devices/system/cpu/online") or "").split(",")
    ]
    count = 0
    for found in ranges:
        if not found:
            return None
        count += int(found[2] or found[1]) - int(found[1]) + 1
    return (CoreLevel("CPU", count),) if count > 0 else None


def memory(key: str, reply: Reply) -> int | None:
    """Read bytes from a line of /proc/meminfo, which counts in KiB."""
    found = re.search(
        rf"^{key}:\s+(\d{{1,15}}) kB$", read(reply, "/proc/meminfo") or "", re.MULTILINE | re.ASCII
    )
    return int(found[1]) << 10 if found else None


def swap_used(reply: Reply) -> int | None:
    """Bytes swapped out: a difference, so both of its parts must be there."""
    total, free = memory("SwapTotal", reply), memory("SwapFree", reply)
    return total - free if total is not None and free is not None and total >= free else None


def release(key: str, reply: Reply) -> str | None:
    """Read a line of os-release, with or without its quotes."""
    found = re.search(rf"^{key}=(.*)$", read(reply, "/etc/os-release") or "", re.MULTILINE)
    return found[1].strip().strip("\"'") or None if found else None


def leading(path: str, reply: Reply) -> float | None:
    """Read the first number of a file."""
    found = _NUMBER.match(read(reply, path) or "")
    return float(found[0]) if found else None


def power_source(reply: Reply) -> str | None:
    """Name what feeds it in a Mac's words; a machine without any supply listed does not say."""
    types = below(reply, "/sys/class/power_supply/*/type")
    online = below(reply, "/sys/class/power_supply/*/online")
    mains = [online.get(supply) for supply, kind in types.items() if kind in {"Mains", "USB"}]
    if "1" in mains:
        return "AC Power"
    return "Battery Power" if "0" in mains and "Battery" in types.values() else None


def disk_free(reply: Reply) -> int | None:
    """Bytes that a user may still write on `/`."""
    found = _ROOT.search(reply.text)
    return max(int(found[3]), 0) << 10 if found else None


def _firmware(reply: Reply, entry: str) -> str | None:
    found = read(reply, f"{_DMI}/{entry}")
    return None if found is None or found.lower() in _FIRMWARE_FILLER else found


def _file(path: str, reply: Reply) -> str | None:
    return read(reply, path)


FACTS = (
    Fact("id.uuid", FILES, machine_id),
    Fact("hw.model", FILES, model),
    Fact("hw.name", FILES, name),
    Fact("hw.chip", FILES, chip),
    Fact("hw.cores", FILES, cores),
    Fact("hw.memory_bytes", FILES, partial(memory, "MemTotal")),
    Fact("os.name", FILES, partial(release, "NAME")),
    Fact("os.version", FILES, partial(release, "VERSION_ID")),
    Fact("os.build", FILES, partial(_file, "/proc/sys/kernel/osrelease")),
    Fact("os.hostname", FILES, partial(_file, "/proc/sys/kernel/hostname")),
    Fact("os.uptime_s", FILES, partial(leading, "/proc/uptime")),
    Fact("os.load_1m", FILES, partial(leading, "/proc/loadavg")),
    Fact("power.source", FILES, power_source),
    Fact("mem.free_bytes", FILES, partial(memory, "MemAvailable")),
    Fact("mem.swap_used_bytes", FILES, swap_used),
    Fact("disk.free_bytes", DF, disk_free),
)
