"""The outer process of a rank: it can always be stopped, whatever the inner one is stuck in.

MLX holds Python's lock while it waits for peers to connect, so a rank waiting there answers neither
a signal handler nor a watching thread. The outer process loads no MLX; the inner one keeps the
default action of SIGTERM, which the kernel carries out without asking Python.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from maccluster_cli.worker import fault
from maccluster_cli.worker.events import Events

GRACE_S = 0.5  # from SIGTERM to SIGKILL


def watch(spec_path: str) -> int:
    """Run the rank of ``spec_path`` until it ends, a stop signal arrives or stdin closes; its exit status."""
    wake = _signals()
    inner = _spawn(spec_path)
    while (code := _ended(inner)) is None:
        if _told_to_stop(wake):
            return _stop(inner)
    return _status(code)


def _spawn(spec_path: str) -> int:
    """Start the inner process; its stdin is a pipe whose other end closes even when we are killed."""
    argv = [sys.executable, "-u", "-m", "maccluster_cli.worker", "--inside", spec_path]
    read, _held_open = os.pipe()
    inner = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, read, 0)])
    os.close(read)
    return inner


def _ended(inner: int) -> int | None:
    """Return the exit status, or minus the signal that ended it; None while it runs."""
    pid, status = os.waitpid(inner, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if pid else None


def _signals() -> int:
    """Turn the signals that matter into bytes on a pipe; return the end to read."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(write)
    return read


def _told_to_stop(wake: int) -> bool:
    """Wait for news; True when it is a stop signal or the end of stdin, the controller's lifeline."""
    ready, _, _ = select.select([0, wake], [], [])
    if 0 in ready and not _read(0):
        return True
    return wake in ready and any(number != signal.SIGCHLD for number in _read(wake))


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # a closed stdin is the same as one at its end
        return b""


def _stop(inner: int) -> int:
    os.kill(inner, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while _ended(inner) is None:
        if time.monotonic() > deadline:
            os.kill(inner, signal.SIGKILL)
            break
        time.sleep(0.01)
    return fault.STOPPED


def _status(code: int) -> int:
    """Pass a status on; a death by signal becomes 128 + n as in a shell, and an event that names it."""
    if code >= 0 or code == -signal.SIGTERM:
        return code if code >= 0 else fault.STOPPED
    name = signal.Signals(-code).name
    error = fault.WorkerError(
        "crashed", f"the rank died of {name}", hint="see stderr; SIGKILL often means no memory"
    )
    if code == -signal.SIGALRM:
        error = fault.WorkerError(
            "peer_lost", "no connection to the peers in time", hint="did every rank start?"
        )
    Events(int(os.environ.get("MLX_RANK", "0")), 1).error(error)
    return fault.PEER_LOST if code == -signal.SIGALRM else 128 - code
