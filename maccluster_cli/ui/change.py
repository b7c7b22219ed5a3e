"""A plan before it is carried out, and how it went: what is the same on many nodes is said once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maccluster_cli.nodeset import fold
from maccluster_cli.ui.screen import Screen

if TYPE_CHECKING:
    from maccluster_cli.flows.change import Ended, Kept, Proposal, Report
    from maccluster_cli.journal import Entry
    from maccluster_cli.values import Change, Command


def proposal(screen: Screen, todo: Proposal, with_sudo: Mapping[str, Sequence[Command]]) -> None:
    """What would change, what would not and why, and every command that needs sudo."""
    for line in _changes(todo.plan.changes):
        screen.say(f"  ~ {line}")
    for mark, notes in (("!", todo.refused), ("?", todo.unknown)):
        for line in _kept(notes):
            screen.say(f"  {mark} {line}")
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


def report(screen: Screen, done: Report) -> None:
    """Node by node how it ended, and the way back."""
    for names, text in _grouped((ended.node, _ending(ended)) for ended in done.nodes):
        screen.say(f"{fold(names)}: {text}")
    for ended in done.nodes:
        _failure(screen, ended)
    screen.say(f"journal {done.entry.id}; back with: maccluster undo {done.entry.id}")


def report_json(todo: Proposal, done: Report) -> dict[str, Any]:
    """Plan and result as one object."""
    results = [
        {
            "node": ended.node,
            "status": "failed" if ended.error or ended.left else "done",
            "error": ended.error.message if ended.error else None,
            "left": list(ended.left),
            "said": list(ended.said),
        }
        for ended in done.nodes
    ]
    return {**as_json(todo), "journal": done.entry.id, "status": done.entry.status, "results": results}


def half_done(screen: Screen, entries: Sequence[Entry]) -> None:
    """What an earlier call left in the middle."""
    for entry in entries:
        screen.warn(
            f"{entry.what} {entry.id} of {entry.when} was cut short on {fold(entry.nodes)}: "
            f"put it back with maccluster undo {entry.id}, or go on with maccluster {entry.what}"
        )


def history(screen: Screen, entries: Sequence[Entry]) -> None:
    """The journal, newest first."""
    if screen.look.json:
        screen.data({"entries": [_entry(entry) for entry in entries]})
        return
    rows = [
        (
            e.id,
            e.when,
            _what(e),
            "cut short" if e.is_half_done else e.status,
            fold(e.nodes),
            str(len(e.plan.changes)),
        )
        for e in entries
    ]
    screen.table(("id", "when", "what", "status", "nodes", "changes"), rows)


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "when": entry.when,
        "what": entry.what,
        "undoes": entry.undoes,
        "status": entry.status,
        "half_done": entry.is_half_done,
        "nodes": entry.nodes,
        "changes": list(entry.plan.changes),
    }


def _what(entry: Entry) -> str:
    return f"undo of {entry.undoes}" if entry.undoes else entry.what


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        groups.setdefault((change.setting, f"{_value(change.have)} → {_value(change.want)}"), []).append(
            change.node
        )
    width = max((len(setting) for setting, _ in groups), default=0)
    for (setting, step), names in groups.items():
        yield f"{setting:<{width}}  {step}  {fold(names)}"


def _kept(notes: Sequence[Kept]) -> Iterator[str]:
    for names, text in _grouped((note.node, f"{note.setting}: {note.reason}") for note in notes):
        yield f"{text}  {fold(names)}"


def _sudo(with_sudo: Mapping[str, Sequence[Command]]) -> Iterator[str]:
    groups = _grouped(
        (node, " ".join(command.argv)) for node, cs in with_sudo.items() for command in dict.fromkeys(cs)
    )
    if groups:
        yield "with sudo:"
    for names, line in groups:
        yield f"    {line}  {fold(names)}"


def _grouped(pairs: Any) -> list[tuple[list[str], str]]:
    groups: dict[str, list[str]] = {}
    for node, text in pairs:
        groups.setdefault(text, []).append(node)
    return [(names, text) for text, names in groups.items()]


def _ending(ended: Ended) -> str:
    if ended.error:
        return "failed"
    if ended.left:
        return f"{_count(len(ended.done), 'change')} made, {len(ended.left)} not taken"
    return f"{_count(len(ended.done), 'change')} made and read back"


def _failure(screen: Screen, ended: Ended) -> None:
    if ended.error:
        screen.error(ended.error)
    for change in ended.left if not ended.error else ():
        heard = f" (it said: {' / '.join(ended.said)})" if ended.said else ""
        what = f"{change.setting} is {_value(change.have)} still, not {_value(change.want)}{heard}"
        screen.warn(f"{ended.node}: {what}")


def _value(value: Any) -> str:
    if value is None:
        return "unset"
    return "/".join(_value(part) for part in value) if isinstance(value, tuple) else str(value)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
