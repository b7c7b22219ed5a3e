"""Numbers as people read them; None is a question mark, never a zero."""

from __future__ import annotations

from collections.abc import Sequence

from maccluster_cli.values import CoreLevel

UNKNOWN = "?"
_KIB = 1024.0


def size(count: float | None) -> str:
    """Bytes in binary units: ``64 GiB``."""
    if count is None:
        return UNKNOWN
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < _KIB:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"  # noqa: PLR2004
        count /= _KIB
    return f"{count:.1f} TiB"


def rate(bits_s: float | None) -> str:
    """Bits a second as a link is sold: ``80 Gb/s``."""
    if bits_s is None:
        return UNKNOWN
    return f"{bits_s / 1e9:g} Gb/s" if bits_s >= 1e9 else f"{bits_s / 1e6:g} Mb/s"  # noqa: PLR2004


def span(seconds: float | None) -> str:
    """A duration in its two largest units: ``3d 4h``."""
    if seconds is None:
        return UNKNOWN
    left = int(seconds)
    parts: list[str] = []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count or parts:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2]) or "0s"


def cores(levels: Sequence[CoreLevel] | None) -> str:
    """``12P+4E``; levels of one kind stand alone."""
    if not levels:
        return UNKNOWN
    if len(levels) == 1:
        return str(levels[0].count)
    return "+".join(f"{level.count}{level.name[:1]}" for level in levels)


def known(value: object) -> str:
    """Anything, or the question mark."""
    return UNKNOWN if value is None else str(value)
