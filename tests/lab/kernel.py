"""The five system calls that Python 3.11 does not offer."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from pathlib import Path

NEW_MOUNTS, NEW_UTS, NEW_IPC, NEW_PIDS, NEW_NET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
READ_ONLY, REMOUNT = 0x1, 0x20
DETACH = 2
PR_SET_PDEATHSIG = 1
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments[:2]}: {os.strerror(number)}")


def _text(value: str | Path | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def mount(
    source: str | Path | None,
    target: str | Path,
    kind: str | None = None,
    flags: int = 0,
    data: str | None = None,
) -> None:
    _call("mount", _text(source), _text(target), _text(kind), ctypes.c_ulong(flags), _text(data))


def unmount(target: str | Path) -> None:
    """Detach at once, whoever still uses it."""
    _call("umount2", _text(target), DETACH)


def unshare(flags: int) -> None:
    _call("unshare", flags)


def enter(namespace: Path) -> None:
    """Move this process into a network namespace."""
    with namespace.open() as handle:
        _call("setns", handle.fileno(), NEW_NET)


def set_host_name(name: str) -> None:
    _call("sethostname", name.encode(), len(name.encode()))


def pivot_root(new: str, old: str) -> None:
    """Swap roots. The C library has no wrapper, and the number depends on the architecture."""
    _call("syscall", ctypes.c_long(PIVOT_ROOT[platform.machine()]), _text(new), _text(old))


def die_with_parent() -> None:
    """A helper must not go on building a lab whose owner was killed."""
    _call("prctl", PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def outlive_parent() -> None:
    _call("prctl", PR_SET_PDEATHSIG, 0, 0, 0, 0)
