"""The indented text of `system_profiler`, in the shape of its JSON so that one reader serves both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_DEEPEST = 24  # real reports stay below ten levels; a damaged one must not exhaust the stack

_KEYS = {
    "Chip": "chip_type",
    "Chipset Model": "sppci_model",
    "Device Name": "device_name_key",
    "Domain UUID": "domain_uuid_key",
    "Hardware UUID": "platform_UUID",
    "Memory": "physical_memory",
    "Model Identifier": "machine_model",
    "Model Name": "machine_name",
    "Protocol ID": "protocol_id_key",
    "Receptacle": "receptacle_id_key",
    "Speed": "current_speed_key",
    "Status": "receptacle_status_key",
    "Total Number of Cores": "number_processors",
    "UID": "switch_uid_key",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line and what stands indented below it; a heading has no value."""

    indent: int
    label: str
    value: str = ""
    below: list[Line] = field(default_factory=list)


def items_under(text: str, headings: tuple[str, ...]) -> tuple[dict[str, Any], ...] | None:
    """Entries below the first heading that is there; None when no such heading is there."""
    for line in _outline(text).below:
        if line.label in headings and not line.value:
            return tuple(_item(entry) for entry in line.below if entry.below)
    return None


def _outline(text: str) -> Line:
    root = Line(-1, "")
    path = [root]
    for raw in text.splitlines():
        if not raw.strip():
            continue
        line = _line(raw)
        while path[-1].indent >= line.indent:
            path.pop()
        if len(path) <= _DEEPEST:
            path[-1].below.append(line)
            path.append(line)
    return root


def _line(raw: str) -> Line:
    """Split a line; one that ends in a colon is a heading even with a colon inside ("Service: Unknown:")."""
    stripped = raw.strip()
    indent = len(raw) - len(raw.lstrip())
    if stripped.endswith(":"):
        return Line(indent, stripped[:-1])
    label, _, value = stripped.partition(":")
    return Line(indent, label, value.strip())


def _item(line: Line) -> dict[str, Any]:
    item: dict[str, Any] = {"_name": line.label}
    below: list[dict[str, Any]] = []
    for child in line.below:
        if child.label in _KEYS and child.value:
            item.setdefault(_KEYS[child.label], child.value)
        elif child.label == "Services":
            item["services_title"] = [_item(service) for service in child.below]
        elif child.label == "Port" or child.label.startswith("Port ("):
            port = _item(child)
            below += port.pop("_items", [])  # a device is indented a little more than the port it hangs on
            if child.label == "Port":
                item.setdefault("receptacle_1_tag", port)
        elif child.below:
            below.append(_item(child))
    if below:
        item["_items"] = below
    return item
