"""What memory and disk are left for a job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maccluster_cli.macos import sysctl
from maccluster_cli.macos.sysctl import SYSCTL
from maccluster_cli.values import DARWIN, Command, Fact

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

VM_STAT = Command(("vm_stat",), system=DARWIN)
DF = Command(("df", "-k", "/"), system=DARWIN)

_PAGE = re.compile(r"page size of (\d{1,9}) bytes", re.ASCII)
_PAGES = re.compile(r'^"?Pages ([a-z ]+)"?:\s+(\d{1,15})\.?\s*$', re.ASCII | re.MULTILINE)
_USED = re.compile(r"used = (\d{1,12})[.,](\d{1,2})M", re.ASCII)
_ROOT = re.compile(r"\s(\d{1,18})\s+(\d{1,18})\s+(-?\d{1,18})\s+\d{1,4}%.*\s/$", re.ASCII | re.MULTILINE)
_TAKEN_FOR_FREE = ("free", "inactive", "speculative")


def free_bytes(reply: Reply) -> int | None:
    """Bytes a new process could get without swapping: free, inactive and speculative pages.

    The page size comes from the header (16 KiB on Apple silicon). Inactive pages count because the file cache
    is among them. A missing kind makes the sum unknown rather than small.
    """
    size = _PAGE.search(reply.text)
    pages = {kind: int(count) for kind, count in _PAGES.findall(reply.text)}
    if not size or any(kind not in pages for kind in _TAKEN_FOR_FREE):
        return None
    return int(size[1]) * sum(pages[kind] for kind in _TAKEN_FOR_FREE)


def swap_used_bytes(reply: Reply) -> int | None:
    """Bytes swapped out; a node that swaps slows the whole ring."""
    found = _USED.search(sysctl.value(reply, "vm.swapusage") or "")
    return int(float(f"{found[1]}.{found[2]}") * (1 << 20)) if found else None


def disk_free_bytes(reply: Reply) -> int | None:
    """Bytes left on `/`; on APFS its container shares them with the volume that holds the data."""
    found = _ROOT.search(reply.text)
    return max(int(found[3]), 0) << 10 if found else None


FACTS = (
    Fact("mem.free_bytes", VM_STAT, free_bytes),
    Fact("mem.swap_used_bytes", SYSCTL, swap_used_bytes),
    Fact("mem.wired_limit_mb", SYSCTL, lambda reply: sysctl.whole(reply, "iogpu.wired_limit_mb")),
    Fact("disk.free_bytes", DF, disk_free_bytes),
)
