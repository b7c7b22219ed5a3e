"""Profiles: TOML in, a checked cluster out; and back, with the user's comments kept."""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from maccluster_cli.errors import ProfileError
from maccluster_cli.schema import (
    Absolute,
    Address,
    Name,
    Seconds,
    Table,
    User,
    at,
    checked,
    text_of,
)
from maccluster_cli.values import Cable, Node, Plan, Profile

CABLE = "cable"  # plans call cables "cable 0", "cable 1", …; no node can be called that


class Ssh(Table):
    """How long to wait for a node."""

    connect_timeout_s: Seconds = 5.0
    command_timeout_s: Seconds = 10.0


class NodeTable(Table):
    """One machine; ``[defaults]`` has the same keys and fills in what a node leaves out."""

    host: str | None = Field(default=None, min_length=1)
    local: bool = False
    user: User | None = None
    port: int | None = Field(default=None, gt=0, lt=65536)
    key: str | None = Field(default=None, min_length=1)
    jump: str | None = Field(default=None, min_length=1)
    python: Absolute | None = None
    workdir: Absolute | None = None
    roles: list[Name] = Field(default=[])
    ranks: Annotated[int, Field(gt=0, le=64)] | None = None
    uuid_hash: str | None = None
    tune: dict[str, Any] = Field(default={})


class CableTable(Table):
    """A data link between two nodes, both ends in the same order everywhere."""

    ends: list[Name] = Field(min_length=2, max_length=2)
    addresses: list[Address] | None = Field(default=None, min_length=2, max_length=2)
    interfaces: list[str] | None = Field(default=None, min_length=2, max_length=2)
    receptacles: list[str] | None = Field(default=None, min_length=2, max_length=2)
    rate_gbit_s: float | None = Field(default=None, gt=0)


class Job(Table):
    """What every job on this cluster shares; ``port`` 0 lets maccluster choose one that is free."""

    port: int = Field(default=0, ge=0, lt=65000)
    open_files: int | None = Field(default=None, gt=255, le=2**24)


class ProfileFile(Table):
    """A profile as it stands in a file."""

    schema_: Literal[1] = Field(alias="schema")
    name: Name
    description: str = ""
    ssh: Ssh = Ssh()
    job: Job = Job()
    defaults: NodeTable = NodeTable()
    nodes: dict[Name, NodeTable] = Field(min_length=1)
    cables: list[CableTable] = Field(default=[])

    @model_validator(mode="after")
    def _known_ends(self) -> ProfileFile:
        for cable in self.cables:
            for address in cable.addresses or ():
                if not _is_usable(address):
                    raise ValueError(f"{address} is no IPv4 address for data (169.254.x.x never is)")
            if cable.ends[0] == cable.ends[1]:
                raise ValueError(f"a cable leads from {cable.ends[0]!r} to itself")
            for end in cable.ends:
                if end not in self.nodes:
                    raise ValueError(f"a cable ends at {end!r}, which is no node of this profile")
        return self


def _is_usable(address: str) -> bool:
    try:
        number = ipaddress.IPv4Address(address)
    except ValueError:
        return False
    return not (number.is_link_local or number.is_unspecified or number.is_multicast)


def read_profile(file: Path) -> Profile:
    """A checked profile. Raises ProfileError with file, line, key and what was expected."""
    return parse_profile(text_of(file, "profile"), file)


def parse_profile(text: str, file: Path) -> Profile:
    """As ``read_profile``, of a text that may not stand in ``file`` yet."""
    table = checked(ProfileFile, text, file)
    nodes = tuple(_node(name, node, table.defaults, len(table.nodes)) for name, node in table.nodes.items())
    for node in nodes:
        if not node.local and not node.host:
            raise ProfileError(at(file, text, ("nodes", node.name), 'needs host = "…" or local = true'))
    for name, node_table in table.nodes.items():
        if node_table.host and (node_table.local or table.defaults.local):
            raise ProfileError(at(file, text, ("nodes", name), "host and local = true exclude each other"))
    cables = tuple(_cable(cable) for cable in table.cables)
    return Profile(
        name=table.name,
        file=file,
        text=text,
        nodes=nodes,
        cables=cables,
        connect_timeout_s=table.ssh.connect_timeout_s,
        command_timeout_s=table.ssh.command_timeout_s,
        first_port=table.job.port,
        open_files=table.job.open_files,
        description=table.description,
    )


def is_recipe(file: Path) -> bool:
    """Whether a file describes a training run: it has no nodes, and something to train."""
    try:
        table = tomllib.loads(text_of(file, "file"))
    except tomllib.TOMLDecodeError:
        return False
    return "nodes" not in table and bool({"train", "model", "data"} & set(table))


def renamed(text: str, name: str) -> str:
    """A profile's text under another name."""
    import tomlkit

    document = tomlkit.parse(text)
    document["name"] = name
    return tomlkit.dumps(document)


def amend(text: str, todo: Plan) -> str:
    """A profile's text with the plan's values in it; comments and order stay as the user wrote them."""
    import tomlkit

    document = tomlkit.parse(text)
    for change in todo.changes:
        kind, _, place = change.node.partition(" ")
        table = _cable_table(document, int(place)) if kind == CABLE and place else document["nodes"][kind]
        table[change.setting] = change.want
    return tomlkit.dumps(document)


def _cable_table(document: Any, place: int) -> Any:
    import tomlkit

    if not document.get("cables"):
        document.pop("cables", None)  # `cables = []` cannot take tables
        document["cables"] = tomlkit.aot()
    cables: Any = document["cables"]
    while len(cables) <= place:
        cables.append(tomlkit.table())
    return cables[place]


def _node(name: str, table: NodeTable, defaults: NodeTable, count: int) -> Node:
    merged = {**defaults.model_dump(exclude_unset=True), **table.model_dump(exclude_unset=True)}
    # Several nodes: the local one is reached over SSH too. A child of sshd may use the local network on
    # macOS, a child of a terminal application may not.
    local = bool(merged.get("local")) and count == 1
    host = merged.get("host") or ("localhost" if merged.get("local") else "")
    return Node(
        name=name,
        host=host,
        local=local,
        roles=tuple(merged.get("roles", ())),
        ranks=merged.get("ranks") or 1,
        tune=flat(_deep(defaults.tune, table.tune)),
        **{key: merged.get(key) for key in ("user", "port", "key", "jump", "python", "workdir", "uuid_hash")},
    )


def _deep(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of tables, joined key by key; what a node says wins."""
    joined = dict(below)
    for key, value in above.items():
        inner = below.get(key)
        both = isinstance(value, dict) and isinstance(inner, dict)
        joined[key] = _deep(inner, value) if both else value  # type: ignore[arg-type]  # both are tables
    return joined


def flat(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """``{"power": {"sleep": 0}}`` as ``{"power.sleep": 0}``: wishes under the names of settings."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{above}{key}.") if isinstance(value, dict) else {f"{above}{key}": value}
    return found


def _cable(table: CableTable) -> Cable:
    a_address, b_address = table.addresses or (None, None)
    a_interface, b_interface = table.interfaces or (None, None)
    a_receptacle, b_receptacle = table.receptacles or (None, None)
    return Cable(
        a=table.ends[0],
        b=table.ends[1],
        a_address=a_address,
        b_address=b_address,
        a_interface=a_interface,
        b_interface=b_interface,
        a_receptacle=a_receptacle,
        b_receptacle=b_receptacle,
        rate_bits_s=table.rate_gbit_s * 1e9 if table.rate_gbit_s else None,
    )
