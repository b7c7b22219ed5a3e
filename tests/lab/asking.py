"""Short ways for tests to ask a host what its commands say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.lab.cluster import Lab


def say(lab: Lab, host: str, line: str) -> tuple[str, str, int]:
    ran = lab.ssh(host, line)
    return ran.stdout, ran.stderr, ran.returncode


def thunderbolt(lab: Lab, host: str) -> list[dict[str, Any]]:
    out = lab.ssh(host, "system_profiler SPThunderboltDataType -json").stdout
    buses: list[dict[str, Any]] = json.loads(out)["SPThunderboltDataType"]
    return buses


def below(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for child in item.get("_items", ()):
        yield child
        yield from below(child)


def macs(bus: dict[str, Any]) -> list[str]:
    return [item["domain_uuid_key"] for item in below(bus) if "domain_uuid_key" in item]
