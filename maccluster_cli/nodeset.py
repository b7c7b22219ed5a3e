"""Which nodes are meant: ``mini[1-4],!mini3``, ``@role``, ``studio*``; and names folded back for people."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence

from maccluster_cli.errors import UsageError, did_you_mean
from maccluster_cli.values import Node

_RANGE = re.compile(r"\[([^\]]*)\]")
_NUMBERED = re.compile(r"^(.*?)(\d+)$")
_SHOW = "maccluster profile show"
_LONGEST = 24  # characters of a range, far more than any real one has
_MOST = 4096  # a typing slip such as [1-999999999] must not eat the machine


def select(expression: str, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Nodes that ``expression`` names, in the profile's order. Raises UsageError for a name nobody has."""
    wanted: set[str] = set()
    terms = [term for term in _split(expression) if term]
    if not terms:
        raise UsageError("no node is named", hint="--nodes takes names such as 'mini[1-4],!mini3' or @role")
    if all(term.startswith("!") for term in terms):
        wanted = {node.name for node in nodes}
    for term in terms:
        names = _resolve(term.removeprefix("!"), nodes)
        wanted = wanted - names if term.startswith("!") else wanted | names
    if not wanted:
        raise UsageError(f"{expression!r} leaves no node", hint=_SHOW)
    return tuple(node for node in nodes if node.name in wanted)


def expand(pattern: str) -> tuple[str, ...]:
    """``mini[1-3,5]`` as four names; zero padding is kept. Raises UsageError for a broken range."""
    found = _RANGE.search(pattern)
    if not found:
        return (pattern,)
    head, tail = pattern[: found.start()], pattern[found.end() :]
    rest = expand(tail)
    numbers = _numbers(found[1], pattern)
    if len(numbers) * len(rest) > _MOST:
        raise UsageError(f"{pattern!r} names more than {_MOST} nodes")
    return tuple(f"{head}{number}{end}" for number in numbers for end in rest)


def fold(names: Iterable[str]) -> str:
    """``mini1 mini2 mini3 nas`` as ``mini[1-3],nas``: short for people, valid for ``--nodes``."""
    split = [(name, _NUMBERED.match(name)) for name in dict.fromkeys(names)]
    padded = {(m[1], len(m[2])) for _, m in split if m and m[2].startswith("0")}
    groups: dict[tuple[str, int], list[int]] = {}
    order: list[str | tuple[str, int]] = []
    for name, found in split:
        if not found:
            order.append(name)
            continue
        width = len(found[2])
        key = (found[1], width if (found[1], width) in padded else 0)
        if key not in groups:
            order.append(key)
        groups.setdefault(key, []).append(int(found[2]))
    return ",".join(item if isinstance(item, str) else _fold_group(item, groups[item]) for item in order)


def _fold_group(key: tuple[str, int], numbers: list[int]) -> str:
    prefix, width = key
    spans = [
        f"{lo:0{width}d}" if lo == hi else f"{lo:0{width}d}-{hi:0{width}d}"
        for lo, hi in _spans(sorted(numbers))
    ]
    inside = ",".join(spans)
    return f"{prefix}[{inside}]" if len(numbers) > 1 else f"{prefix}{inside}"


def _spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def _split(expression: str) -> list[str]:
    """Split at commas outside brackets."""
    return [term.strip() for term in re.split(r",(?![^\[]*\])", expression)]


def _numbers(inside: str, pattern: str) -> list[str]:
    numbers: list[str] = []
    for part in inside.split(","):
        lo, _, hi = part.partition("-")
        if (
            not lo.isdecimal()
            or (hi and not hi.isdecimal())
            or ("-" in part and not hi)
            or len(part) > _LONGEST
        ):
            raise UsageError(
                f"cannot read the range in {pattern!r}", hint="write it as name[1-4] or name[1,3]"
            )
        last = int(hi or lo)
        if not 0 <= last - int(lo) < _MOST:
            raise UsageError(f"the range in {pattern!r} runs backwards or is too long")
        width = len(lo) if lo.startswith("0") else 0
        numbers += [f"{number:0{width}d}" for number in range(int(lo), last + 1)]
    return numbers


def _resolve(term: str, nodes: Sequence[Node]) -> set[str]:
    if term.startswith("@"):
        return _role(term[1:], nodes)
    known = [node.name for node in nodes]
    found: set[str] = set()
    for name in expand(term):
        names = set(fnmatch.filter(known, name)) if any(c in name for c in "*?") else {name} & set(known)
        if not names:
            near = did_you_mean(name, known)
            raise UsageError(f"no node is called {name!r}{near}; this profile has {fold(known)}", hint=_SHOW)
        found |= names
    return found


def _role(role: str, nodes: Sequence[Node]) -> set[str]:
    found = {node.name for node in nodes if role in node.roles}
    if not found:
        roles = sorted({role for node in nodes for role in node.roles})
        there = f"there are: {', '.join(roles)}" if roles else "this profile has no roles"
        raise UsageError(f"no node has the role {role!r}{did_you_mean(role, roles)}; {there}", hint=_SHOW)
    return found
