"""One `system_profiler` call for three subjects, as JSON or, where that fails, from its indented text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maccluster_cli.macos.outline import items_under
from maccluster_cli.values import DARWIN, Command

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

Item = Mapping[str, Any]

THUNDERBOLT = "SPThunderboltDataType"
HARDWARE = "SPHardwareDataType"
DISPLAYS = "SPDisplaysDataType"

# Starting the tool costs more than any of its reports, so all three subjects share one call.
PROFILER = Command(
    ("system_profiler", "-json", THUNDERBOLT, HARDWARE, DISPLAYS), timeout_s=30.0, system=DARWIN
)

_HEADINGS = {
    THUNDERBOLT: ("Thunderbolt/USB4", "Thunderbolt"),
    HARDWARE: ("Hardware",),
    DISPLAYS: ("Graphics/Displays",),
}


def section(reply: Reply, kind: str) -> tuple[Item, ...] | None:
    """Entries of one report; None when the tool did not say, which is not the same as an empty list."""
    text = reply.text
    start = text.find("{")
    if start < 0:
        return items_under(text, _HEADINGS[kind])
    entries = _decoded(text[start:]).get(kind)
    if not isinstance(entries, list):
        return None
    return tuple(entry for entry in entries if isinstance(entry, Mapping))


def first(reply: Reply, kind: str, key: str) -> Any:
    """First value found under `key`, because a report may list several entries and trim any of them."""
    entries = section(reply, kind) or ()
    return next((entry[key] for entry in entries if entry.get(key) is not None), None)


def words(value: Any) -> str | None:
    """Give a non-empty string or nothing: keys change type between releases."""
    return value.strip() or None if isinstance(value, str) else None


def _decoded(text: str) -> Item:
    """Decode the first JSON object in the text; a cut or hostile one is an empty one."""
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
