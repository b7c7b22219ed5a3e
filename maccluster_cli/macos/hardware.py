"""Which Mac it is: model, chip, cores, memory; the profiler's words step in where the kernel is silent."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from maccluster_cli.macos import sysctl
from maccluster_cli.macos.profiler import DISPLAYS, HARDWARE, PROFILER, first, words
from maccluster_cli.macos.sysctl import LEVELS, SYSCTL
from maccluster_cli.values import CoreLevel, Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maccluster_cli.values import Reply

_UUID = re.compile(r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_MEMORY = re.compile(r"(\d{1,9})\s*(GB|TB)")
_LEADING = re.compile(r"\d{1,6}", re.ASCII)
_FIELDS = re.compile(r"(?:proc\s+)?(\d{1,6}(?::\d{1,6})*)", re.ASCII)
_IN_WORDS = re.compile(r"(\d{1,6})\s+(super|performance|efficiency)", re.IGNORECASE | re.ASCII)
_UNITS = {"GB": 1 << 30, "TB": 1 << 40}
_FASTEST_FIRST = ("Super", "Performance", "Efficiency")
_REORDERED = 27  # from this release on "proc" lists Super first; see cores_from_text


def uuid(reply: Reply) -> str | None:
    """Read the hardware UUID; a masked or odd one is unknown, since nodes are recognised by it."""
    found = (words(first(reply, HARDWARE, "platform_UUID")) or "").upper()
    return found if _UUID.fullmatch(found) else None


def memory(reply: Reply) -> int | None:
    """Bytes from "48 GB"; Apple's memory gigabytes are binary."""
    found = _MEMORY.fullmatch(words(first(reply, HARDWARE, "physical_memory")) or "")
    return int(found[1]) * _UNITS[found[2]] if found else None


def gpu_cores(reply: Reply) -> int | None:
    """GPU cores; the JSON holds them as a string, and a virtual machine has none to show."""
    told = first(reply, DISPLAYS, "sppci_cores") or first(reply, DISPLAYS, "number_processors")
    found = _LEADING.match(words(told) or str(told))
    return int(found[0]) or None if found else None


def cores(reply: Reply) -> tuple[CoreLevel, ...] | None:
    """Levels as the kernel numbers them, level 0 the fastest; None unless every level has its count."""
    levels = [
        level for level in LEVELS if _level(reply, level, "name") or _level(reply, level, "physicalcpu")
    ]
    counts = [sysctl.whole(reply, f"hw.perflevel{level}.physicalcpu") for level in levels]
    if len(levels) == 1 and counts == [None]:
        counts = [sysctl.whole(reply, "hw.physicalcpu")]  # a VM names its only level and leaves out the count
    if not levels or None in counts or len(levels) < (sysctl.whole(reply, "hw.nperflevels") or 0):
        return None
    names = [_level(reply, level, "name") or _unnamed(level, len(levels)) for level in levels]
    return tuple(CoreLevel(name, count) for name, count in zip(names, counts, strict=True) if count)


def processors(reply: Reply) -> str | None:
    """`number_processors` as text; how to read it depends on the release, so that is done later."""
    told = first(reply, HARDWARE, "number_processors")
    return str(told) if isinstance(told, int) and not isinstance(told, bool) else words(told)


def cores_from_text(told: str | None, version: str | None) -> tuple[CoreLevel, ...] | None:
    """Levels from `number_processors`, whose order changed twice.

    Up to macOS 15 it is total:P:E, on 26 total:P:E:M (with M above zero, P are Super and M Performance
    cores), from 27 total:Super:P:E. A bare number comes from a VM. Parts that do not add up are not believed.
    """
    spoken = _IN_WORDS.findall(told or "")
    if spoken:
        return _levels({name.capitalize(): int(count) for count, name in spoken})
    found = _FIELDS.fullmatch(told or "")
    if not found:
        return None
    total, *parts = (int(part) for part in found[1].split(":"))
    if not parts:
        return _levels({"Standard": total})
    named = _named(parts, _major(version))
    return _levels(named) if named and sum(named.values()) == total else None


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Take the kernel's word first, the profiler's where that is missing."""
    told = cores_from_text(parts.get("raw.processors"), parts.get("os.version"))
    return {
        "hw.model": parts.get("hw.model") or parts.get("raw.model"),
        "hw.chip": parts.get("hw.chip") or parts.get("raw.chip"),
        "hw.memory_bytes": parts.get("hw.memory_bytes") or parts.get("raw.memory_bytes"),
        "hw.cores": parts.get("hw.cores") or told,
    }


def _named(parts: list[int], major: int | None) -> dict[str, int] | None:
    match parts:
        case [fast, slow]:
            return {"Performance": fast, "Efficiency": slow}
        case [top, middle, low] if major is not None and major >= _REORDERED:
            return {"Super": top, "Performance": middle, "Efficiency": low}
        case [fast, slow, 0] if major is not None:
            return {"Performance": fast, "Efficiency": slow}
        case [top, low, middle] if major is not None:
            return {"Super": top, "Performance": middle, "Efficiency": low}
    return None


def _levels(counts: dict[str, int]) -> tuple[CoreLevel, ...] | None:
    order = sorted(counts, key=lambda name: _FASTEST_FIRST.index(name) if name in _FASTEST_FIRST else 0)
    return tuple(CoreLevel(name, counts[name]) for name in order if counts[name]) or None


def _major(version: str | None) -> int | None:
    found = _LEADING.match(version or "")
    return int(found[0]) if found else None


def _level(reply: Reply, level: int, part: str) -> str | None:
    return sysctl.value(reply, f"hw.perflevel{level}.{part}")


def _unnamed(level: int, levels: int) -> str:
    """Releases too old to name the levels only ran on chips with these two."""
    return ("Performance", "Efficiency")[level] if levels == len("PE") else "Standard"


def _words_of(kind: str, key: str, reply: Reply) -> str | None:
    return words(first(reply, kind, key))


def _sysctl_of(name: str, reply: Reply) -> str | None:
    return sysctl.value(reply, name)


FACTS = (
    Fact("id.uuid", PROFILER, uuid),
    Fact("hw.model", SYSCTL, partial(_sysctl_of, "hw.model")),
    Fact("hw.name", PROFILER, partial(_words_of, HARDWARE, "machine_name")),
    Fact("hw.chip", PROFILER, partial(_words_of, HARDWARE, "chip_type")),
    Fact("hw.cores", SYSCTL, cores),
    Fact("hw.gpu_cores", PROFILER, gpu_cores),
    Fact("hw.memory_bytes", SYSCTL, lambda reply: sysctl.whole(reply, "hw.memsize")),
    Fact("raw.model", PROFILER, partial(_words_of, HARDWARE, "machine_model")),
    Fact("raw.chip", SYSCTL, partial(_sysctl_of, "machdep.cpu.brand_string")),
    Fact("raw.memory_bytes", PROFILER, memory),
    Fact("raw.processors", PROFILER, processors),
)
