"""The event stream: one JSON object a line, on a descriptor that nothing else can reach."""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any

from maccluster_cli.worker import fault


def claim_stdout() -> int:
    """Keep the real stdout for events and point descriptor 1 at stderr, so that libraries may print."""
    claimed = os.dup(1)
    os.dup2(2, 1)
    return claimed


class Events:
    """Writes events of one rank; each is one write, so lines of ranks that share a pipe do not mix."""

    def __init__(self, rank: int, descriptor: int) -> None:
        self.rank = rank
        self.descriptor = descriptor

    def emit(self, event: str, **fields: Any) -> None:
        """Write one event; a number that is not finite becomes null, which JSON can carry."""
        head = {"event": event, "rank": self.rank, "t": time.time()}
        line = json.dumps(head | {k: _finite(v) for k, v in fields.items()}, allow_nan=False)
        try:
            os.write(self.descriptor, line.encode() + b"\n")
        except OSError:  # nobody reads any more: the controller is gone
            os._exit(fault.STOPPED)

    def error(self, error: fault.WorkerError) -> None:
        """Write the one event that explains a status other than 0."""
        self.emit("error", kind=error.kind, message=error.message, hint=error.hint)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
