"""What profiles and recipes have in common: field types, and exact words when something is wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from maccluster_cli.errors import ProfileError, did_you_mean
from maccluster_cli.tomlplace import line_of

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
Name = Annotated[str, Field(pattern=NAME.pattern, max_length=63)]
User = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@\\ -]*$", max_length=256)]
Absolute = Annotated[str, Field(pattern=r"^(/|~/).+")]
Seconds = Annotated[float, Field(gt=0, le=86400, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Address = Annotated[
    str, Field(pattern=r"^\d{1,3}(\.\d{1,3}){3}$", max_length=15)
]  # the ring speaks IPv4 alone
Positive = Annotated[int, Field(gt=0)]


class Table(BaseModel):
    """A TOML table: no unknown keys, no conversions, no infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_T = TypeVar("_T", bound=Table)


# Pydantic shows the pattern; people want to know what is allowed.
_PLAIN = {
    ("string_pattern_mismatch", NAME.pattern): "letters, digits, dot, dash and underscore only",
    ("string_pattern_mismatch", r"^(/|~/).+"): "an absolute path, or one that begins with ~/",
    ("string_pattern_mismatch", r"^\d{1,3}(\.\d{1,3}){3}$"): "an IPv4 address",
    ("too_short", ""): "at least one is needed",
}


def text_of(file: Path, kind: str) -> str:
    """The text of a file; raises ProfileError with what stands in the way."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise ProfileError(
            f"cannot read the {kind} {file}: {reason}", hint="maccluster profile list"
        ) from error


def checked(model: type[_T], text: str, file: Path) -> _T:
    """The table checked; raises ProfileError with all mistakes at once."""
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
        return at(file, text, place, f"unknown key{_meant(model, place)}")
    if kind == "missing":
        return at(file, text, place[:-1], f"{place[-1]!r} is missing")
    said = _PLAIN.get((kind, str(problem.get("ctx", {}).get("pattern", ""))), said)
    given = problem.get("input")
    shown = f", not {given!r}" if isinstance(given, str | int | float) else ""
    return at(file, text, place, said[:1].lower() + said[1:] + shown)


def at(file: Path, text: str, place: Sequence[str | int], said: str) -> str:
    """``file:line: key: what is wrong``."""
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
