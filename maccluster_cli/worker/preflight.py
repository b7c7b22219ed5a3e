"""Answers, on the node and with the ranks' own interpreter, what must hold before any rank starts."""

from __future__ import annotations

import errno
import json
import platform
import shutil
import socket
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Read ``[[rank, address, port], …]`` from argv, print one JSON object."""
    wishes: list[tuple[int, str, int]] = [(int(r), str(a), int(p)) for r, a, p in json.loads(sys.argv[1])]
    print(json.dumps(answer(wishes)), flush=True)


def answer(wishes: list[tuple[int, str, int]]) -> dict[str, Any]:
    """Versions, free bytes of this folder's disk, and for each rank a port that can be bound or why not."""
    held: list[socket.socket] = []
    try:
        seats = [_seat(rank, address, port, held) for rank, address, port in wishes]
    finally:
        for sock in held:  # held until all are chosen, so that two ranks never get the same port
            sock.close()
    here = Path.cwd()
    return {
        "executable": sys.executable,
        "python": platform.python_version(),
        "system": platform.system(),
        "folder": str(here),
        "free_bytes": shutil.disk_usage(here).free,
        "seats": seats,
        **_engine(),
    }


def _seat(rank: int, address: str, port: int, held: list[socket.socket]) -> dict[str, Any]:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    held.append(sock)
    # as the ring does: an address still in TIME_WAIT from the last job is no obstacle
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
        sock.listen(1)
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        return {"rank": rank, "error": "in_use" if in_use else "no_address", "detail": error.strerror}
    return {"rank": rank, "port": sock.getsockname()[1]}


def _engine() -> dict[str, Any]:
    try:
        import mlx.core as mx
    except ImportError as error:
        return {"mlx": None, "mlx_error": str(error)}
    return {"mlx": str(vars(mx)["__version__"]), "device": "gpu" if mx.metal.is_available() else "cpu"}


if __name__ == "__main__":
    main()
