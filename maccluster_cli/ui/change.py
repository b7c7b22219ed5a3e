"""A plan before it is carried out, and how it went: what is the same on many nodes is said once."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maccluster_cli.errors import ClusterError
from maccluster_cli.journal import cut_short, undone
from maccluster_cli.nodeset import fold
from maccluster_cli.ui.screen import Screen

if TYPE_CHECKING:
    from maccluster_cli.flows.apply import Ended, Report
    from maccluster_cli.flows.change import Kept, Proposal
    from maccluster_cli.journal import Entry
    from maccluster_cli.values import Change, Command


def proposal(
    screen: Screen,
    todo: Proposal,
    with_sudo: Mapping[str, Sequence[Command]],
    risks: Mapping[str, Sequence[str]],
) -> None:
    """What would change, what would not and why, what is dangerous, and every command that needs sudo."""
    for line in _changes(todo.plan.changes, todo.final):
        screen.say(f"  ~ {line}")
    for mark, notes in (("!", todo.refused), ("?", todo.unknown)):
        for line in _kept(notes):
            screen.say(f"  {mark} {line}")
    for names, settings in _grouped((node, ", ".join(names)) for node, names in risks.items()):
        screen.say(f"may cut off {fold(names)}: {settings}; a revert is armed there first")
    for line in _sudo(with_sudo):
        screen.say(line)
    for view in todo.unreachable:
        if view.error:
            screen.error(view.error)
    count = len(todo.plan.changes)
    nodes = len({change.node for change in todo.plan.changes})
    screen.say(f"{_count(count, 'change')} on {_count(nodes, 'node')}" if count else "nothing to change")


def as_json(todo: Proposal) -> dict[str, Any]:
    """The plan as data."""
    return {
        "plan": list(todo.plan.changes),
        "refused": list(todo.refused),
        "unknown": list(todo.unknown),
        "unreachable": [
            {"node": v.node.name, "error": v.error.message if v.error else ""} for v in todo.unreachable
        ],
    }


def report(screen: Screen, todo: Proposal, done: Report) -> None:
    """Node by node how it ended, and the way back."""
    ends = [(ended.node, _ending(ended)) for ended in done.nodes]
    ends += [(view.node.name, "not reached, and not changed") for view in todo.unreachable]
    for names, text in _grouped(ends):
        screen.say(f"{fold(names)}: {text}")
    for ended in done.nodes:
        _failure(screen, ended)
    way = f"; back with: maccluster undo {done.entry.id}" if done.entry.touched else ", nothing was changed"
    screen.say(f"journal {done.entry.id}{way}")


def report_json(todo: Proposal, done: Report) -> dict[str, Any]:
    """Plan and result as one object."""
    results = [
        {
            "node": ended.node,
            "status": "failed" if ended.error or ended.left else "done",
            "error": ended.error.message if ended.error else None,
            "left": list(ended.left),
            "said": dict(ended.said),
        }
        for ended in done.nodes
    ]
    return {**as_json(todo), "journal": done.entry.id, "status": done.entry.status, "results": results}


def half_done(screen: Screen, entries: Sequence[Entry]) -> None:
    """What an earlier call left in the middle."""
    for entry in entries:
        onward = f"{entry.what} {entry.undoes}" if entry.undoes else entry.what
        screen.warn(
            f"{_what(entry)} {entry.id} of {entry.when} was cut short on {fold(entry.not_done)}: "
            f"put it back with maccluster undo {entry.id}, or go on with maccluster {onward}"
        )


def history(screen: Screen, entries: Sequence[Entry]) -> None:
    """The journal, newest first."""
    if screen.look.json:
        screen.data({"entries": [_entry(entry, entries) for entry in entries]})
        return
    rows = [
        (e.id, e.when, _what(e), _status(e, entries), fold(e.nodes), str(len(e.plan.changes)))
        for e in entries
    ]
    screen.table(("id", "when", "what", "status", "nodes", "changes"), rows)


def _entry(entry: Entry, known: Sequence[Entry]) -> dict[str, Any]:
    return {
        "id": entry.id,
        "when": entry.when,
        "what": entry.what,
        "undoes": entry.undoes,
        "status": entry.status,
        "half_done": entry.is_half_done,
        "undone": sorted(undone(entry, known)),
        "nodes": entry.nodes,
        "changes": list(entry.plan.changes),
    }


def _status(entry: Entry, known: Sequence[Entry]) -> str:
    gone = undone(entry, known)
    if gone.issuperset(entry.nodes):
        return "undone"
    status = (
        "cut short"
        if entry in cut_short(known, entry.profile)
        else entry.status
        if entry.not_done
        else "done"
    )
    return f"{status}, undone on {fold(gone)}" if gone else status


def _what(entry: Entry) -> str:
    return f"undo of {entry.undoes}" if entry.undoes else entry.what


def _changes(changes: Sequence[Change], final: Container[str]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        groups.setdefault((change.setting, f"{_value(change.have)} → {_value(change.want)}"), []).append(
            change.node
        )
    width = max((len(setting) for setting, _ in groups), default=0)
    for (setting, step), names in groups.items():
        once = " (cannot be undone)" if setting in final else ""
        yield f"{setting:<{width}}  {step}{once}  {fold(names)}"


def _kept(notes: Sequence[Kept]) -> Iterator[str]:
    by_setting = _grouped((note.node, (note.setting, note.reason)) for note in notes)
    for settings, (names, reason) in _grouped((s, (tuple(names), r)) for names, (s, r) in by_setting):
        yield f"{', '.join(settings)}: {reason}  {fold(names)}"


def _sudo(with_sudo: Mapping[str, Sequence[Command]]) -> Iterator[str]:
    groups = _grouped(
        (node, " ".join(command.argv)) for node, cs in with_sudo.items() for command in dict.fromkeys(cs)
    )
    if groups:
        yield "with sudo:"
    for names, line in groups:
        yield f"    {line}  {fold(names)}"


def _grouped(pairs: Iterable[tuple[str, Any]]) -> list[tuple[list[str], Any]]:
    """Names by what they have in common, in the order in which that came up."""
    groups: dict[Any, list[str]] = {}
    for name, common in pairs:
        groups.setdefault(common, []).append(name)
    return [(names, common) for common, names in groups.items()]


def _ending(ended: Ended) -> str:
    if ended.error:
        return "failed"
    if ended.left:
        return f"{_count(len(ended.done), 'change')} made, {len(ended.left)} not taken"
    return f"{_count(len(ended.done), 'change')} made and read back"


def _failure(screen: Screen, ended: Ended) -> None:
    if ended.error:
        screen.error(ended.error)
        return
    for change in ended.left:
        said = ended.said.get(change.setting)
        heard = f" (it said: {' / '.join(said)})" if said else ""
        what = f"{change.setting} is {_value(change.have)}, not {_value(change.want)}{heard}"
        hint = f"maccluster tune --check --nodes {ended.node}" if change is ended.left[-1] else ""
        screen.error(ClusterError(what, node=ended.node, hint=hint))


def _value(value: Any, depth: int = 0) -> str:
    """A value in a line: parts with slashes between, groups of named parts with bars."""
    if value is None or value == "":
        return "unset"
    if not isinstance(value, tuple):
        return str(value)
    if depth > 1:
        return "=".join(map(str, value))
    between = (
        " | "
        if any(isinstance(part, tuple) and part and isinstance(part[0], tuple) for part in value)
        else "/"
    )
    return (", " if depth else between).join(_value(part, depth + 1) for part in value) or "none"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
