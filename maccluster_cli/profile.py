"""Profiles and recipes: TOML in, checked values out, exact words when something is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maccluster_cli.errors import ProfileError, did_you_mean
from maccluster_cli.tomlplace import line_of
from maccluster_cli.values import Cable, Node, Plan, Profile

CABLE = "cable"  # plans call cables "cable 0", "cable 1", …; no node can be called that
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=63)]
Positive = Annotated[int, Field(gt=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_T = TypeVar("_T", bound=_Table)


class Ssh(_Table):
    """How long to wait for a node."""

    connect_timeout_s: float = Field(default=5.0, gt=0)
    command_timeout_s: float = Field(default=10.0, gt=0)


class NodeTable(_Table):
    """One machine; ``[defaults]`` has the same keys and fills in what a node leaves out."""

    host: str | None = Field(default=None, min_length=1)
    local: bool = False
    user: str | None = Field(default=None, min_length=1)
    port: int | None = Field(default=None, gt=0, lt=65536)
    key: str | None = Field(default=None, min_length=1)
    jump: str | None = Field(default=None, min_length=1)
    python: str | None = Field(default=None, min_length=1)
    workdir: str | None = Field(default=None, min_length=1)
    roles: list[Name] = []
    ranks: Positive | None = None
    uuid_hash: str | None = None


class CableTable(_Table):
    """A data link between two nodes, both ends in the same order everywhere."""

    ends: list[Name] = Field(min_length=2, max_length=2)
    addresses: list[str] | None = Field(default=None, min_length=2, max_length=2)
    interfaces: list[str] | None = Field(default=None, min_length=2, max_length=2)
    receptacles: list[str] | None = Field(default=None, min_length=2, max_length=2)
    rate_gbit_s: float | None = Field(default=None, gt=0)


class Job(_Table):
    """What every job on this cluster shares; ``port`` 0 lets maccluster choose one that is free."""

    port: int = Field(default=0, ge=0, lt=65000)


class ProfileFile(_Table):
    """A profile as it stands in a file."""

    schema_: Literal[1] = Field(alias="schema")
    name: Name
    description: str = ""
    ssh: Ssh = Ssh()
    job: Job = Job()
    defaults: NodeTable = NodeTable()
    nodes: dict[Name, NodeTable] = Field(min_length=1)
    cables: list[CableTable] = []

    @model_validator(mode="after")
    def _known_ends(self) -> ProfileFile:
        for cable in self.cables:
            for end in cable.ends:
                if end not in self.nodes:
                    raise ValueError(f"a cable ends at {end!r}, which is no node of this profile")
        return self


class Model(_Table):
    """What is trained: made on the spot, a folder, or an id on the hub."""

    source: str = Field(default="scratch", min_length=1)
    hidden_size: Positive = 64
    num_layers: Positive = 2
    num_heads: Positive = 4
    num_kv_heads: Positive = 2
    intermediate_size: Positive = 172
    vocab_size: Positive = 256
    max_position: Positive = 2048

    @model_validator(mode="after")
    def _heads(self) -> Model:
        if self.hidden_size % self.num_heads or self.num_heads % self.num_kv_heads:
            raise ValueError("hidden_size must divide by num_heads, and num_heads by num_kv_heads")
        return self


class Data(_Table):
    """What it is trained on: the generator ``sums``, or a folder with train.jsonl and valid.jsonl."""

    source: str = Field(default="sums", min_length=1)
    seed: int = 0


class Train(_Table):
    """How it is trained. ``batch_size`` counts sequences over all ranks together."""

    method: Literal["full", "lora"] = "full"
    strategy: Literal["dp"] = "dp"
    steps: Positive = 100
    batch_size: Positive = 8
    sequence_length: Positive = 128
    optimizer: Literal["adamw"] = "adamw"
    learning_rate: float = Field(default=1e-3, gt=0)
    warmup_steps: int = Field(default=0, ge=0)
    weight_decay: float = Field(default=0.0, ge=0)
    clip_norm: float = Field(default=1.0, gt=0)
    seed: int = 0
    max_bad_steps: Positive = 5


class Lora(_Table):
    """Low-rank adapters; only read where ``train.method`` is lora."""

    rank: Positive = 8
    scale: float = Field(default=20.0, gt=0)
    layers: int = Field(default=-1, ge=-1)
    targets: list[str] = ["q_proj", "v_proj"]


class Eval(_Table):
    """How many held-out examples the exact-match score counts, before and after."""

    examples: int = Field(default=64, ge=0)


class Recipe(_Table):
    """A training run, apart from the machines it runs on."""

    schema_: Literal[1] = Field(alias="schema")
    name: Name
    description: str = ""
    model: Model = Model()
    data: Data = Data()
    train: Train = Train()
    lora: Lora = Lora()
    eval: Eval = Eval()

    def for_worker(self) -> dict[str, Any]:
        """The recipe as plain data, the way it travels to the ranks."""
        return self.model_dump(exclude={"schema_", "description"})


def read_profile(file: Path) -> Profile:
    """A checked profile. Raises ProfileError with file, line, key and what was expected."""
    text = _text(file, "profile")
    table = _checked(ProfileFile, text, file)
    nodes = tuple(_node(name, node, table.defaults, len(table.nodes)) for name, node in table.nodes.items())
    for node in nodes:
        if not node.local and not node.host:
            raise ProfileError(_at(file, text, ("nodes", node.name), 'needs host = "…" or local = true'))
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
        description=table.description,
    )


def read_recipe(file: Path) -> Recipe:
    """A checked recipe. Raises ProfileError with file, line, key and what was expected."""
    return _checked(Recipe, _text(file, "recipe"), file)


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

    cables = document.setdefault("cables", tomlkit.aot())
    while len(cables) <= place:
        cables.append(tomlkit.table())
    return cables[place]


def _text(file: Path, kind: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise ProfileError(f"cannot read the {kind} {file}: {reason}") from error


def _checked(model: type[_T], text: str, file: Path) -> _T:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{file}: not valid TOML: {error}", hint=f"edit {file}") from error
    try:
        return model.model_validate(table)
    except ValidationError as error:
        lines = [_sentence(model, file, text, problem) for problem in error.errors()]
        raise ProfileError("\n".join(lines), hint=f"edit {file}") from error


def _sentence(model: type[BaseModel], file: Path, text: str, problem: Any) -> str:
    place = tuple(part for part in problem["loc"] if part != "[key]")
    kind, said = problem["type"], problem["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        return _at(file, text, place, f"unknown key{_meant(model, place)}")
    if kind == "missing":
        return _at(file, text, place[:-1], f"{place[-1]!r} is missing")
    given = problem.get("input")
    shown = f", not {given!r}" if isinstance(given, str | int | float) else ""
    return _at(file, text, place, said[:1].lower() + said[1:] + shown)


def _at(file: Path, text: str, place: Sequence[str | int], said: str) -> str:
    key = ".".join(str(part) for part in place)
    line = line_of(text, place)
    return f"{file}{f':{line}' if line else ''}: {f'{key}: ' if key else ''}{said}"


def _meant(model: type[BaseModel], place: Sequence[str | int]) -> str:
    known = _keys(model, place[:-1])
    if near := did_you_mean(str(place[-1]), known):
        return near
    return f" (known here: {', '.join(known)})" if known else ""


def _keys(model: Any, place: Sequence[str | int]) -> list[str]:
    """The keys a table at ``place`` may have, read off the model's own schema."""
    schema = model.model_json_schema(by_alias=True)
    here: Mapping[str, Any] = schema
    for part in place:
        here = _follow(schema, here, part)
    return list(_resolve(schema, here).get("properties", {}))


def _follow(schema: Mapping[str, Any], here: Mapping[str, Any], part: str | int) -> Mapping[str, Any]:
    table = _resolve(schema, here)
    inside = table.get("items") if isinstance(part, int) else table.get("properties", {}).get(part)
    fallback: Any = table.get("additionalProperties") or next(
        iter(table.get("patternProperties", {}).values()), {}
    )
    return inside or (fallback if isinstance(fallback, dict) else {})


def _resolve(schema: Mapping[str, Any], here: Mapping[str, Any]) -> Mapping[str, Any]:
    ref = here.get("$ref") or next((part["$ref"] for part in here.get("allOf", ()) if "$ref" in part), None)
    return schema["$defs"][ref.rsplit("/", 1)[1]] if ref else here


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
        **{key: merged.get(key) for key in ("user", "port", "key", "jump", "python", "workdir", "uuid_hash")},
    )


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
