"""Takes a lab down, whole or half built, whoever built it. Needs nothing but its state directory."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tests.lab import kernel
from tests.lab.paths import HOME, MARK, Paths

PATIENCE_S = 10.0
TEST_PREFIX = "test-"  # labs of test runs are called test-<pid> and test-<pid>-<number>


def _family() -> set[int]:
    """Find this process and all its parents; they may carry the mark and must live."""
    family, pid = set(), os.getpid()
    while pid > 1:
        family.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return family


def _namespaces(paths: Paths) -> set[int]:
    folder = paths.state / "ns"
    return {entry.stat().st_ino for entry in folder.iterdir()} if folder.exists() else set()


def processes(paths: Paths) -> Iterator[int]:
    """Yield everything that is inside one of the lab's networks or was started by the lab."""
    inside, family = _namespaces(paths), _family()
    mark = f"{MARK}={paths.prefix}\0".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in family:
            continue
        with contextlib.suppress(OSError):
            joined = (entry / "ns/net").stat().st_ino in inside
            if joined or mark in (entry / "environ").read_bytes() + b"\0":
                yield int(entry.name)


def _kill_all(paths: Paths) -> None:
    """Kill until nothing is left: a helper of a half-built lab may still be starting others."""
    end = time.monotonic() + PATIENCE_S
    while left := list(processes(paths)):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            raise RuntimeError(f"processes that do not die: {left}")
        time.sleep(0.005)


def down(paths: Paths) -> None:
    """Remove every process, namespace and mount of a lab. Doing it twice is no error."""
    _kill_all(paths)
    while os.path.ismount(paths.state):
        kernel.unmount(paths.state)
    shutil.rmtree(paths.state, ignore_errors=True)
    with contextlib.suppress(OSError):
        HOME.rmdir()


def sweep() -> None:
    """Take down the labs of test runs that are no more."""
    for folder in HOME.glob(f"{TEST_PREFIX}[0-9]*"):
        owner = folder.name.removeprefix(TEST_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            down(Paths(folder.name))
