from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maccluster_cli.errors import ClusterError, UsageError
from maccluster_cli.ui import units
from maccluster_cli.ui.screen import Look, Screen, clean
from maccluster_cli.values import Command, CoreLevel, Reply


def screen(**look: object) -> tuple[Screen, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Screen(Look(**look), out, err), out, err  # type: ignore[arg-type]


@given(st.text())
def test_no_control_character_reaches_the_terminal(text: str) -> None:
    assert not any((ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160 for c in clean(text))


def test_an_error_names_node_and_next_command() -> None:
    drawn, out, err = screen()
    drawn.error(ClusterError("it broke\x1b[2J", node="mini1", hint="maccluster status"))
    assert err.getvalue() == "error: mini1: it broke\\x1b[2J\n next: maccluster status\n"
    assert out.getvalue() == ""


def test_quiet_keeps_errors_and_data() -> None:
    drawn, out, err = screen(quiet=True)
    drawn.say("chatter")
    drawn.warn("careful")
    drawn.write("data")
    assert (out.getvalue(), err.getvalue()) == ("data\n", "warning: careful\n")


@pytest.mark.parametrize(
    ("look", "env", "expected"),
    [
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {}, False),
    ],
)
def test_order_of_colour(
    look: str, env: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert screen(color=look)[0].colored() is expected


def test_plain_records_stay_on_one_line() -> None:
    drawn, out, _ = screen(plain=True)
    drawn.table(("a", "b"), [("x\ty", "z\nw")])
    assert out.getvalue() == "x y\tz w\n"


def test_json_carries_a_schema_and_unknowns_as_null() -> None:
    drawn, out, _ = screen()
    drawn.data({"reply": Reply(Command(("a",)), None, b"\xff"), "nothing": None})
    value = json.loads(out.getvalue())
    assert value["schema"] == 1
    assert value["nothing"] is None
    assert value["reply"]["code"] is None
    assert value["reply"]["out"] == "\\xff"


def test_never_hangs_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(UsageError) as caught:
        screen()[0].agree("Really?", "--yes")
    assert caught.value.hint == "add --yes"


def test_units_never_invent_a_zero() -> None:
    assert (
        units.size(None)
        == units.rate(None)
        == units.span(None)
        == units.cores(None)
        == units.known(None)
        == "?"
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (units.size(0), "0 B"),
        (units.size(48 * 2**30), "48 GiB"),
        (units.size(1.5 * 2**20), "1.5 MiB"),
        (units.size(3 * 2**40), "3.0 TiB"),
        (units.rate(80e9), "80 Gb/s"),
        (units.rate(100e6), "100 Mb/s"),
        (units.span(0), "0s"),
        (units.span(59), "59s"),
        (units.span(3 * 86400 + 4 * 3600 + 5), "3d 4h"),
        (units.cores([CoreLevel("Super", 6), CoreLevel("Performance", 12)]), "6S+12P"),
        (units.cores([CoreLevel("CPU", 2)]), "2"),
    ],
)
def test_units(said: str, expected: str) -> None:
    assert said == expected
