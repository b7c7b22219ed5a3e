"""What a bug report needs to know about this installation."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata

_PARTS = ("typer", "fabric", "paramiko", "pydantic", "mlx", "mlx-lm")


def versions() -> Iterator[str]:
    """One line a part: Python, the libraries, the system."""
    yield f"python {platform.python_version()}"
    for part in _PARTS:
        try:
            yield f"{part} {metadata.version(part)}"
        except metadata.PackageNotFoundError:
            yield f"{part} not installed"
    mac = platform.mac_ver()[0]
    yield f"system {f'macOS {mac}' if mac else platform.platform(terse=True)} {platform.machine()}"
