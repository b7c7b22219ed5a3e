"""The laws of plan: everything else, dry run, verify, drift and undo, leans on them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from maccluster_cli.plan import back, commands, plan, settle
from maccluster_cli.values import Change, Command, Plan, Setting


def write(have: Any, want: Any) -> tuple[Command, ...]:
    return (Command(("set", str(have), str(want))),)


SETTINGS = tuple(Setting(name, "because", write) for name in ("sleep", "womp", "mtu"))
VALUES = st.none() | st.integers(0, 9)
FACTS = st.dictionaries(st.sampled_from([s.name for s in SETTINGS]), VALUES)
STATES = st.dictionaries(st.sampled_from(["mini1", "mini2", "mini3"]), FACTS)


@given(STATES)
def test_nothing_to_do_where_all_is_as_wanted(state: dict[str, Any]) -> None:
    assert not plan(SETTINGS, state, state)


@given(STATES, STATES)
def test_done_means_nothing_left(have: dict[str, Any], want: dict[str, Any]) -> None:
    todo = plan(SETTINGS, have, want)
    assert not plan(SETTINGS, settle(have, todo), want)


@given(STATES, STATES)
def test_the_way_back_restores(have: dict[str, Any], want: dict[str, Any]) -> None:
    todo = plan(SETTINGS, have, want)
    restored = settle(settle(have, todo), back(todo))
    for change in todo.changes:
        assert restored[change.node][change.setting] == have.get(change.node, {}).get(change.setting)


@given(STATES, STATES)
def test_what_is_not_wanted_is_left_alone(have: dict[str, Any], want: dict[str, Any]) -> None:
    for change in plan(SETTINGS, have, want).changes:
        assert change.setting in want[change.node]


def test_undo_of_undo_is_redo() -> None:
    todo = plan(SETTINGS, {"mini1": {"sleep": 1}}, {"mini1": {"sleep": 0, "mtu": 9000}})
    assert back(back(todo)) == todo
    assert [c.setting for c in back(todo).changes] == ["mtu", "sleep"]


def test_commands_go_both_ways_in_order() -> None:
    todo = Plan(
        (Change("mini1", "sleep", 1, 0), Change("mini2", "sleep", 5, 0), Change("mini1", "mtu", 1500, 9000))
    )
    assert [c.argv for c in commands(SETTINGS, todo, "mini1")] == [("set", "1", "0"), ("set", "1500", "9000")]
    assert [c.argv for c in commands(SETTINGS, back(todo), "mini1")] == [
        ("set", "9000", "1500"),
        ("set", "0", "1"),
    ]
