"""recordings/tuning/: what commands printed, which settings and reports follow, and which must be missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maccluster_cli.linux import tuning as linux
from maccluster_cli.linux.tuning.kernel import KERNEL
from maccluster_cli.macos import tuning as macos
from maccluster_cli.macos.tuning import clock, launchdaemon, posture
from maccluster_cli.values import Command, Reply
from tests.test_recordings import printed, reply, same

FILES = sorted((Path(__file__).parent / "recordings" / "tuning").glob("*.json"))
CASES = {path.stem: json.loads(path.read_text()) for path in FILES}
ROOMS: dict[str, Any] = {"Darwin": macos, "Linux": linux}
# What a recording calls a command whose line is long.
SHORT = {clock.SNTP: "sntp", posture.LOG: "log", launchdaemon.OURS: "daemons", KERNEL: "kernel"}
by_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def told_for(command: Command, replies: dict[str, Any]) -> Any:
    line = SHORT.get(command) or " ".join(command.argv)
    return replies.get(line, replies.get(command.argv[0]))


def values(case: dict[str, Any]) -> dict[str, Any]:
    room = ROOMS[case["system"]]
    parts = {
        fact.name: fact.parse(reply(fact.command, told_for(fact.command, case["replies"])))
        for fact in room.FACTS
    }
    found: dict[str, Any] = room.combine(parts)
    return found


@by_case
def test_recording(case: dict[str, Any]) -> None:
    found = values(case)
    for name, wanted in case["facts"].items():
        assert name in found, name
        assert same(wanted, found[name]), f"{case['why']}\n{name} is {found[name]!r}"
    assert not set(case.get("missing", ())) & set(found)


@by_case
def test_recording_is_used(case: dict[str, Any]) -> None:
    assert case["why"].endswith(".")
    assert case["facts"]
    commands = {fact.command for fact in ROOMS[case["system"]].FACTS}
    lines = {SHORT.get(command) or " ".join(command.argv) for command in commands}
    assert set(case["replies"]) <= lines | {command.argv[0] for command in commands}


@pytest.mark.parametrize("system", ROOMS)
def test_every_setting_and_report_is_known_somewhere_and_unknown_somewhere(system: str) -> None:
    room = ROOMS[system]
    found = [values(case) for case in CASES.values() if case["system"] == system]
    for name in {*(setting.name for setting in room.SETTINGS), *room.REPORTS} - {"sudo", "files.session"}:
        assert any(one.get(name) is not None for one in found), name
        assert any(one.get(name) is None for one in found), name


@pytest.mark.parametrize(("system", "most"), [("Darwin", 17), ("Linux", 6)])
def test_few_commands_for_one_system_that_change_nothing(system: str, most: int) -> None:
    facts = ROOMS[system].FACTS
    commands = {fact.command for fact in facts}
    assert len({fact.name for fact in facts}) == len(facts)
    assert len(commands) <= most
    assert {command.system for command in commands} == {system}
    assert {c.argv[-1] for c in commands if c.sudo} <= {"-getusingnetworktime"}


@pytest.mark.parametrize("room", ROOMS.values(), ids=ROOMS)
def test_combine_has_all_reports_and_keeps_what_others_read(room: Any) -> None:
    found = room.combine({"raw.unheard": 1, "os.name": "x"})
    assert found["os.name"] == "x"
    assert set(room.REPORTS) <= set(found)
    assert "raw.unheard" not in found
    assert all(found.get(setting.name) is None for setting in room.SETTINGS)


def test_what_it_means_for_the_owner() -> None:
    rivals = values(CASES["daemons-rivals"])["daemons.rivals"]
    notes = macos.notes(values(CASES["posture-closed"]) | {"daemons.rivals": rivals})
    assert any("FileVault" in note for note in notes)
    assert any("io.exo.networksetup" in note for note in notes)
    slept = macos.notes({"power.sleeps": 2, "power.last_sleep": "x", "power.low_power": True})
    assert len(slept) == 2
    assert macos.notes(values(CASES["posture-open"])) == ()
    assert linux.notes({}) == ()


TEXTS = [printed(told) for case in CASES.values() for told in case["replies"].values()]


def read(system: str, out: bytes, err: bytes, code: int | None) -> None:
    room = ROOMS[system]
    parts = {fact.name: fact.parse(Reply(fact.command, code, out, err)) for fact in room.FACTS}
    facts = room.combine(parts)
    hash(tuple(facts.get(setting.name) for setting in room.SETTINGS))
    room.notes(facts)


@given(st.sampled_from(list(ROOMS)), st.binary(max_size=300), st.binary(max_size=40), st.none() | st.just(1))
def test_random_bytes(system: str, out: bytes, err: bytes, code: int | None) -> None:
    read(system, out, err, code)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(ROOMS)), st.data())
def test_real_shapes_cut_spliced_and_with_odd_digits(system: str, data: st.DataObject) -> None:
    first, second = (data.draw(st.sampled_from(TEXTS)) for _ in "ab")
    text = first[: data.draw(st.integers(0, len(first)))] + second[data.draw(st.integers(0, len(second))) :]
    old, new = (
        data.draw(st.sampled_from("0123456789.=")),
        data.draw(st.sampled_from(["", "-", "9" * 30, "٣"])),
    )
    read(system, text.replace(old, new).encode(), b"", data.draw(st.sampled_from([0, 1, 127, None])))


@pytest.mark.parametrize("system", ROOMS)
@pytest.mark.parametrize(
    "out", [b"9" * 5000, b"\xff\x00" * 999, b"AC Power:\n sleep " + b"9" * 5000, b"(" * 9999]
)
def test_hostile_input(system: str, out: bytes) -> None:
    read(system, out, out, 0)
