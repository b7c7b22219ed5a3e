"""One process that prints the kernel's values and our own files that set them again at boot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maccluster_cli.linux.files import contents
from maccluster_cli.values import LINUX, Command

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

SYSCTL = "/usr/sbin/sysctl"
SYSCTL_FILE = "/etc/sysctl.d/90-maccluster.conf"
SYSCTL_FILES_FILE = "/etc/sysctl.d/90-maccluster-files.conf"  # of its own, so that each setting owns its file
LIMITS_FILE = "/etc/security/limits.d/90-maccluster.conf"
GOVERNOR_FILE = "/etc/tmpfiles.d/90-maccluster.conf"
POLICIES = "/sys/devices/system/cpu/cpufreq/policy*"
BUFFERS = ("net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def proc(name: str) -> str:
    """The file in which the kernel keeps a value."""
    return f"/proc/sys/{name.replace('.', '/')}"


_PATHS = (
    "/proc/self/limits",
    *(proc(name) for name in ("fs.file-max", "fs.nr_open", *BUFFERS)),
    *(SYSCTL_FILE, SYSCTL_FILES_FILE, LIMITS_FILE, GOVERNOR_FILE),
    f"{POLICIES}/scaling_governor",
    f"{POLICIES}/scaling_available_governors",
)
# A network of its own shows some of the names and lets nobody write them, which only their modes tell.
_MODES = " ".join(proc(name) for name in BUFFERS)
KERNEL = Command(
    ("sh", "-c", f"exec 2>/dev/null; ls -l {_MODES}; exec head -n 300 -- {' '.join(_PATHS)}"), system=LINUX
)
_READ_ONLY = re.compile(r"^-r--r--r--\S* [^\n]* (/proc/sys/\S+)$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"^([a-z][\w.-]*) = (\d[\d ]*)$", re.MULTILINE | re.ASCII)


def texts(reply: Reply) -> dict[str, str] | None:
    """Texts by path, or None when nothing was read: every Linux has the first of the files."""
    return contents(reply) or None


def read_only(reply: Reply) -> frozenset[str]:
    """Files below /proc/sys that not even root may write here."""
    return frozenset(_READ_ONLY.findall(reply.text))


def assignments(text: str) -> dict[str, str]:
    """Values by name, as a file below sysctl.d of ours lists them."""
    return {name: value.strip() for name, value in _ASSIGNMENT.findall(text)}


def set_now(name: str, value: object) -> Command:
    """Give the kernel one value."""
    return Command((SYSCTL, "-q", "-w", f"{name}={value}"), sudo=True, system=LINUX)


def whole(text: str | None) -> int | None:
    """Read a plain number; the largest that the kernel knows has 19 digits."""
    return int(text) if text and re.fullmatch(r"\d{1,19}", text, re.ASCII) else None
