"""The one function that decides what would change; dry run, verify, drift and undo are all this function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from maccluster_cli.values import Change, Command, Facts, Plan, Setting


def plan(settings: Iterable[Setting], have: Mapping[str, Facts], want: Mapping[str, Facts]) -> Plan:
    """Changes that lead from ``have`` to ``want`` (node -> setting -> value); what ``want`` omits stays."""
    return Plan(
        tuple(
            Change(node, setting.name, have.get(node, {}).get(setting.name), wishes[setting.name])
            for setting in settings
            for node, wishes in want.items()
            if setting.name in wishes and have.get(node, {}).get(setting.name) != wishes[setting.name]
        )
    )


def back(done: Plan) -> Plan:
    """The way home: the same changes with their ends swapped, last one first."""
    return Plan(tuple(Change(c.node, c.setting, c.want, c.have) for c in reversed(done.changes)))


def settle(have: Mapping[str, Facts], todo: Plan) -> dict[str, dict[str, object]]:
    """What ``have`` reads like once ``todo`` is done; verification compares this with what is read."""
    after = {node: dict(facts) for node, facts in have.items()}
    for change in todo.changes:
        after.setdefault(change.node, {})[change.setting] = change.want
    return after


def commands(settings: Iterable[Setting], todo: Plan, node: str) -> tuple[Command, ...]:
    """What one node has to run, in the plan's order."""
    by_name = {setting.name: setting for setting in settings}
    mine = [change for change in todo.changes if change.node == node]
    return tuple(command for c in mine for command in by_name[c.setting].write(c.have, c.want))
