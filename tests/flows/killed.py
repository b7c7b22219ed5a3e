"""The command line that is killed at one step of its own: KILL_AT=STEP python -m tests.flows.killed ARGV...

Steps are what touches this machine's disk once the journal has been touched. Step 0 kills nothing and tells
on stderr how many there are.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from maccluster_cli.cli import main

_WRITING = os.O_WRONLY | os.O_RDWR
_seen = 0


def _is_step(event: str, args: tuple[Any, ...]) -> bool:
    if event == "open":
        return bool(int(args[2]) & _WRITING) and "/journal/" in str(args[0])
    return event in {"os.rename", "os.chmod", "os.remove", "os.mkdir", "socket.connect"}


def _watch(event: str, args: tuple[Any, ...]) -> None:
    global _seen  # noqa: PLW0603  # a hook has nowhere else to keep it
    if not _is_step(event, args) or not (_seen or event == "open"):
        return
    _seen += 1
    if _seen == int(os.environ["KILL_AT"]):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.addaudithook(_watch)
    try:
        main()
    finally:
        print("steps", _seen, file=sys.stderr)
