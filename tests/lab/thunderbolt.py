"""What `system_profiler SPThunderboltDataType` says about each port, with and without a peer."""

from __future__ import annotations

import json
import textwrap
import uuid
from collections.abc import Mapping
from typing import Any

from tests.lab.hardware import Hardware
from tests.lab.topology import Cable, End, Host

SPACE = uuid.UUID("6d0c6f4e-9a0b-4c8e-8d57-1ab000000000")
RDMA_PROTOCOL = 64087
GARBLED = "\u02c7\u02c7\u02c7\u02c7\u02c7\u02c7AD"  # how the JSON form spoils the service's key
VENDOR, VENDOR_ID = "Apple Inc.", "0x0A27"
READABLE_KEY = (26, 3)  # the text form printed the key as `rdma` before this release


def identity(*words: object) -> str:
    """Build a UUID that stays the same from run to run."""
    return str(uuid.uuid5(SPACE, "/".join(map(str, words)))).upper()


def domain(host: str, receptacle: int) -> str:
    return identity(host, receptacle, "domain")


def switch_uid(host: str, receptacle: int) -> str:
    return f"0x05AC{identity(host, 'switch').replace('-', '')[:11]}{receptacle:X}"


def capability(hardware: Hardware) -> str:
    return "Up to 120 Gb/s" if hardware.thunderbolt >= 5 else "Up to 40 Gb/s"


def link_rate(one: Hardware, other: Hardware) -> str:
    return "80 Gb/s" if min(one.thunderbolt, other.thunderbolt) >= 5 else "40 Gb/s"


def _service(end: End, kind: str, protocol: int, revision: int) -> dict[str, Any]:
    return {
        "_name": kind,
        "protocol_id_key": protocol,
        "protocol_revision_key": revision,
        "protocol_version_key": 1,
        "service_uuid_key": identity(end.host, end.receptacle, kind),
    }


def _mac(peer: Host, end: End, *, rdma: bool) -> dict[str, Any]:
    """Describe a Mac at the far end. With RDMA off it offers only the network service."""
    services = [_service(end, "service_ip", 1, 1)]
    if rdma:
        services.append({**_service(end, "unknown_xd_service", RDMA_PROTOCOL, 0), "service_key_key": GARBLED})
    return {
        "_name": peer.hardware.machine,
        "device_id_key": "0xA",
        "device_name_key": peer.hardware.identifier,
        "domain_uuid_key": domain(end.host, end.receptacle),
        "services_title": services,
        "vendor_id_key": VENDOR_ID,
        "vendor_name_key": VENDOR,
    }


def _device(name: str, seed: str, speed: str) -> dict[str, Any]:
    """Describe a hub or dock: it has a switch and a mode, and no domain of its own."""
    return {
        "_name": name,
        "device_id_key": "0x3C1",
        "device_name_key": name,
        "device_revision_key": "0x1",
        "mode_key": "usb_four_v2" if speed.startswith("80") else "usb_four",
        "receptacle_upstream_ambiguous_tag": {
            "current_speed_key": speed,
            "link_status_key": "0x2",
            "micro_version_key": "1.2.0",
            "receptacle_status_key": "receptacle_connected",
        },
        "route_string_key": "1",
        "switch_uid_key": f"0x7EAD{identity(seed).replace('-', '')[:12]}",
        "switch_version_key": "60.2",
        "vendor_id_key": "0x7EAD",
        "vendor_name_key": "Example Devices",
    }


def _bus(host: Host, receptacle: int, speed: str, status: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = sorted(number for number, _ in host.hardware.ports)
    connected = "connected" if items else "no_devices_connected"
    tag = {
        "current_speed_key": speed,
        "link_status_key": status,
        "receptacle_id_key": str(receptacle),
        "receptacle_status_key": f"receptacle_{connected}",
    }
    if items:
        tag["micro_version_key"] = "0.0.0"
    return {
        **({"_items": items} if items else {}),
        "_name": f"thunderboltusb4_bus_{numbers.index(receptacle)}",
        "device_name_key": host.hardware.machine,
        "domain_uuid_key": domain(host.name, receptacle),
        "receptacle_1_tag": tag,
        "route_string_key": "0",
        "switch_uid_key": switch_uid(host.name, receptacle),
        "vendor_name_key": VENDOR,
    }


def _dock_port(host: Host) -> int | None:
    """A dock sits on the highest receptacle that is free."""
    free = [number for number, device in host.hardware.ports if not host.cable_at(device)]
    return max(free, default=None) if host.hardware.dock else None


def without_peer(host: Host, receptacle: int) -> dict[str, Any]:
    """Describe a port whose interface has no carrier: it is empty, or something that is no Mac is there."""
    if receptacle == _dock_port(host):
        speed = link_rate(host.hardware, host.hardware)
        return _bus(host, receptacle, speed, "0x2", [_device("Desk Dock", f"{host.name}/dock", speed)])
    return _bus(host, receptacle, capability(host.hardware), "0x100", [])


def with_peer(host: Host, cable: Cable, peer: Host, *, rdma: bool) -> dict[str, Any]:
    own, far = cable.facing(host.name)
    speed = link_rate(host.hardware, peer.hardware)
    item = _mac(peer, far, rdma=rdma)
    if not cable.hub:
        return _bus(host, own.receptacle, speed, "0x2", [item])
    hub = _device("Star Hub", f"{cable.a.host}/{cable.a.receptacle}/hub", speed)
    return _bus(host, own.receptacle, speed, "0x4", [{**hub, "_items": [item]}])


def as_json(bus: Mapping[str, Any], *, last: bool) -> str:
    """One element of the list, indented as Apple does, with its comma."""
    text = json.dumps(bus, indent=2, separators=(",", " : "), sort_keys=True)
    return textwrap.indent(text, "    ") + ("\n" if last else ",\n")


_LABELS = (
    ("vendor_name_key", "Vendor Name"),
    ("device_name_key", "Device Name"),
    ("mode_key", "Mode"),
    ("device_id_key", "Device ID"),
    ("vendor_id_key", "Vendor ID"),
    ("device_revision_key", "Device Revision"),
    ("switch_uid_key", "UID"),
    ("route_string_key", "Route String"),
    ("switch_version_key", "Firmware Version"),
    ("domain_uuid_key", "Domain UUID"),
)
_MODES = {"usb_four": "USB4", "usb_four_v2": "USB4 v2"}


def _port_text(title: str, tag: Mapping[str, Any]) -> list[str]:
    connected = tag["receptacle_status_key"] == "receptacle_connected"
    lines = [
        f"{title}:",
        f"    Status: {'Device connected' if connected else 'No device connected'}",
        f"    Link Status: {tag['link_status_key']}",
        f"    Speed: {tag['current_speed_key']}",
    ]
    if "receptacle_id_key" in tag:
        lines.append(f"    Receptacle: {tag['receptacle_id_key']}")
    if "micro_version_key" in tag:
        lines.append(f"    Micro Firmware Version: {tag['micro_version_key']}")
    return lines


def _service_text(service: Mapping[str, Any], release: tuple[int, ...]) -> list[str]:
    rdma = service["protocol_id_key"] == RDMA_PROTOCOL
    lines = [
        f"  {'Service: Unknown' if rdma else 'Internet Protocol'}:",
        f"    Protocol ID: {service['protocol_id_key']}",
        f"    Protocol Version: {service['protocol_version_key']}",
        f"    Protocol Revision: {service['protocol_revision_key']}",
    ]
    if rdma:
        lines.append(f"    Service Key: {'rdma' if release < READABLE_KEY else GARBLED}")
    return [*lines, f"    Service UUID: {service['service_uuid_key']}"]


def _item_text(item: Mapping[str, Any], release: tuple[int, ...]) -> list[str]:
    lines = [f"{label}: {_MODES.get(item[key], item[key])}" for key, label in _LABELS if key in item]
    if services := item.get("services_title"):
        lines.append("Services:")
        lines += [line for service in services for line in _service_text(service, release)]
    if tag := item.get("receptacle_1_tag"):
        lines += _port_text("Port", tag)
    if tag := item.get("receptacle_upstream_ambiguous_tag"):
        lines += _port_text("Port (Upstream)", tag)
    for below in item.get("_items", ()):
        lines += ["", f"  {below['_name']}:", ""]
        lines += [f"    {line}" if line else "" for line in _item_text(below, release)]
    return lines


def as_text(bus: Mapping[str, Any], release: tuple[int, ...]) -> str:
    number = bus["_name"].rpartition("_")[2]
    lines = [f"    Thunderbolt/USB4 Bus {number}:", ""]
    lines += [f"      {line}" if line else "" for line in _item_text(bus, release)]
    return "\n".join((*lines, "", ""))
