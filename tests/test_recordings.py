"""Every file in recordings/ says what commands printed and which facts must follow; a case is data, not code.

A reply is a text, a list of its lines, objects printed as JSON, `{"files": {path: text}}`
for what `head` prints, or `{"out", "err", "code"}`. A command without a reply was not found (127). Facts are
compared with those of `combine`; of an object only the named fields are.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maccluster_cli import linux, macos
from maccluster_cli.values import Port, Reply

if TYPE_CHECKING:
    from maccluster_cli.values import Command, Fact

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.json"))
ROOMS = {"Darwin": macos, "Linux": linux}


def printed(told: Any) -> str:
    if isinstance(told, str):
        return told
    if isinstance(told, list) and all(isinstance(line, str) for line in told):
        return "\n".join(told)
    if isinstance(told, dict) and set(told) == {"files"}:
        return "\n".join(f"==> {path} <==\n{text}\n" for path, text in told["files"].items())
    return json.dumps(told)


def reply(command: Command, told: Any) -> Reply:
    if told is None:
        return Reply(command, 127, b"", b"not found")
    if isinstance(told, dict) and told.keys() <= {"out", "err", "code"}:
        return Reply(command, told.get("code", 0), told.get("out", "").encode(), told.get("err", "").encode())
    return Reply(command, 0, printed(told).encode())


def told_for(fact: Fact, replies: dict[str, Any]) -> Any:
    line = " ".join(fact.command.argv)
    return replies[line] if line in replies else replies.get(fact.command.argv[0])


def values(system: str, replies: dict[str, Any]) -> dict[str, Any]:
    room = ROOMS[system]
    found: dict[str, Any] = room.combine(
        {fact.name: fact.parse(reply(fact.command, told_for(fact, replies))) for fact in room.FACTS}
    )
    return found


def same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(found, tuple) and len(wanted) == len(found) and all(map(same, wanted, found))
    if isinstance(wanted, dict):
        return is_dataclass(found) and all(same(wanted[name], getattr(found, name)) for name in wanted)
    return type(wanted) is type(found) and bool(wanted == found)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recording(path: Path) -> None:
    case = json.loads(path.read_text())
    found = values(case["system"], case["replies"])
    for name, wanted in case["facts"].items():
        assert name in found
        assert same(wanted, found[name]), f"{path.stem}: {case['why']}\n{name} is {found[name]!r}"


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recording_is_used(path: Path) -> None:
    case = json.loads(path.read_text())
    assert case["why"].endswith(".")
    assert case["facts"]
    commands = {fact.command.argv for fact in ROOMS[case["system"]].FACTS}
    known = {argv[0] for argv in commands} | {" ".join(argv) for argv in commands}
    assert set(case["replies"]) <= known


@pytest.mark.parametrize("system", ROOMS)
def test_every_fact_has_a_recording_in_which_it_is_known(system: str) -> None:
    cases = [json.loads(path.read_text()) for path in RECORDINGS]
    known = {
        name
        for case in cases
        if case["system"] == system
        for name, wanted in case["facts"].items()
        if wanted is not None
    }
    only_on_a_mac = {"hw.gpu_cores", "mem.wired_limit_mb", "power.sleep_min", "power.sleep_disabled"}
    assert set(ROOMS[system].NAMES) - known == (only_on_a_mac if system == "Linux" else set())


def test_both_systems_use_the_same_names() -> None:
    assert sorted(macos.NAMES) == sorted(linux.NAMES)


@pytest.mark.parametrize(("system", "most"), [("Darwin", 14), ("Linux", 3)])
def test_few_commands_and_each_for_its_system(system: str, most: int) -> None:
    facts = ROOMS[system].FACTS
    names = [fact.name for fact in facts]
    assert len(names) == len(set(names))
    assert len({fact.command for fact in facts}) <= most
    assert {fact.command.system for fact in facts} == {system}
    assert not any(fact.command.sudo for fact in facts)


@pytest.mark.parametrize("room", [macos, linux], ids=["macos", "linux"])
def test_combine_names_everything_and_keeps_what_others_read(room: Any) -> None:
    found = room.combine({"raw.unheard": 1, "power.womp": 0})
    assert found.pop("power.womp") == 0
    assert found == dict.fromkeys(room.NAMES)


def test_same_compares_only_named_fields() -> None:
    port = Port("1", None)
    assert same({"receptacle": "1"}, port)
    assert not same({"receptacle": "2"}, port)
    assert len(fields(port)) > 1
    assert not same(0, None)
    assert not same(0, False)  # noqa: FBT003
