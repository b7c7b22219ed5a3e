"""Advice that is handed round, recognised in a profile, with what is true of it. See `folk.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_LONGEST = 2000  # of a value's text that is searched


@dataclass(frozen=True, slots=True)
class Pattern:
    """What gives a piece of advice away; an empty text is found everywhere."""

    key: str = ""
    value: str = ""

    def fits(self, key: str, value: str) -> bool:
        """Both must be found."""
        return _found(self.key, key) and _found(self.value, value)


@dataclass(frozen=True, slots=True)
class Folk:
    """One piece of advice: what it claims, what is true, what to use instead."""

    id: str
    where: tuple[Pattern, ...]
    claim: str
    truth: str
    instead: str


@cache
def known() -> tuple[Folk, ...]:
    """All pieces, in the file's order."""
    text = files("maccluster_cli").joinpath("folk.toml").read_text("utf-8")
    return tuple(_folk(table) for table in tomllib.loads(text)["folk"])


def advice(key: str, value: object) -> Folk | None:
    """Recognise the first piece that a key of a profile and its value speak of."""
    text = _text(value)
    return next((folk for folk in known() if any(p.fits(key, text) for p in folk.where)), None)


def _folk(table: Mapping[str, Any]) -> Folk:
    return Folk(**{**table, "where": tuple(Pattern(**pattern) for pattern in table["where"])})


def _text(value: object) -> str:
    """A value as one would write it; of a table nothing, since its keys are looked at one by one."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return " ".join(_text(item) for item in value)[:_LONGEST]
    return "" if value is None or isinstance(value, Mapping) else str(value)[:_LONGEST]


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
