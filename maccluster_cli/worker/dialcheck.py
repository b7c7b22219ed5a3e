"""Whether each rank of this node reaches the next one, on the exact addresses and ports of the coming job.

MLX's ring tries for half a minute and more before it says anything, and then names nobody.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from typing import Any

PATIENCE_S = 6.0  # the other nodes start this check at nearly the same time
_PAUSE_S = 0.1


def main() -> None:
    """Read ``[[rank, address, port, next_address, next_port], …]`` from argv, print one JSON object."""
    wishes: list[tuple[int, str, int, str, int]] = [
        (int(w[0]), w[1], int(w[2]), w[3], int(w[4])) for w in json.loads(sys.argv[1])
    ]
    print(json.dumps({"dials": check(wishes)}), flush=True)


def check(wishes: list[tuple[int, str, int, str, int]]) -> list[dict[str, Any]]:
    """Listen for all ranks of this node, dial the next of each; ``error`` is None where it answered."""
    end = time.monotonic() + PATIENCE_S
    listeners = [_listen(address, port) for _, address, port, _, _ in wishes]
    visited = [threading.Event() for _ in wishes]
    for listener, event in zip(listeners, visited, strict=True):
        threading.Thread(target=_accept, args=(listener, event), daemon=True).start()
    found = [{"rank": w[0], "error": _dial(w[3], w[4], end)} for w in wishes]
    for event in visited:  # the one before may still be on its way here
        event.wait(max(0.0, end - time.monotonic()))
    for listener in listeners:
        listener.close()
    return found


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(8)
    return listener


def _accept(listener: socket.socket, visited: threading.Event) -> None:
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return
        visited.set()


def _dial(address: str, port: int, end: float) -> str | None:
    """None once it answered, the last error when time is up."""
    while True:
        try:
            socket.create_connection((address, port), max(0.1, end - time.monotonic())).close()
        except OSError as error:
            if time.monotonic() + _PAUSE_S > end:
                return error.strerror or str(error)
            time.sleep(_PAUSE_S)
        else:
            return None


if __name__ == "__main__":
    main()
