"""Writes the profile that a user of the product would have for the lab."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from tests.lab.layers import USER
from tests.lab.topology import Cable, Host

HEAD = f"""\
schema = 1
name = "lab"
[ssh]
connect_timeout_s = 5
[defaults]
user = "{USER}"
python = {json.dumps(sys.executable)}
"""


def _cable(cable: Cable) -> str:
    ends = (cable.a, cable.b)
    return (
        "[[cables]]\n"
        f"ends = {json.dumps([end.host for end in ends])}\n"
        f"addresses = {json.dumps([end.address for end in ends])}\n"
        f"interfaces = {json.dumps([end.interface for end in ends])}\n"
    )


def render(hosts: Iterable[Host], cables: Iterable[Cable]) -> str:
    """Nodes, then the cables whose two ends are both among them."""
    names = {host.name: None for host in hosts}
    nodes = "".join(f'[nodes.{name}]\nhost = "{name}"\n' for name in names)
    inside = (cable for cable in cables if {cable.a.host, cable.b.host} <= names.keys())
    return HEAD + nodes + "".join(map(_cable, inside))
