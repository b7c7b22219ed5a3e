"""The outer process of a rank: it can always be stopped, whatever the inner one is stuck in.

MLX holds Python's lock while it waits for peers to connect, so a rank waiting there answers neither
a signal handler nor a watching thread. The outer process loads no MLX; the inner one keeps the
default action of SIGTERM, which the kernel carries out without asking Python.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

from maccluster_cli.worker import fault
from maccluster_cli.worker.events import Events

GRACE_S = 0.5  # from SIGTERM to SIGKILL


def watch(spec_path: str) -> int:
    """Run the rank of ``spec_path`` until it ends, a stop signal arrives or stdin closes; its exit status."""
    wake = _signals()
    argv = [sys.executable, "-u", "-m", "maccluster_cli.worker", "--inside", spec_path]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as inner:  # its stdin closes if we are killed
        while inner.poll() is None:
            if _told_to_stop(wake):
                return _stop(inner)
        return _status(inner.returncode)


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


def _stop(inner: subprocess.Popen[bytes]) -> int:
    inner.terminate()
    try:
        inner.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        inner.kill()
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
