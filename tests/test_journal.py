"""The journal: written whole, read back the same, and what is in force by it."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maccluster_cli import journal
from maccluster_cli.errors import ClusterError, UsageError
from maccluster_cli.values import Change, Plan

GONE = 9_999_999  # no process has such a number


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A journal of this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "maccluster" / "journal"


def a_plan(*nodes: str) -> Plan:
    return Plan(tuple(Change(node, "power.sleep", 1, 0) for node in nodes))


def made(*nodes: str, undoes: journal.Entry | None = None, status: str = journal.DONE) -> journal.Entry:
    """An entry of these nodes that came to its end."""
    identities = dict.fromkeys(nodes, "abc")
    entry = journal.begin(
        "undo" if undoes else "tune", a_plan(*nodes), identities, undoes.id if undoes else None
    )
    for node in nodes:
        entry.note(node, status)
    entry.conclude()
    return entry


def again(entry: journal.Entry) -> journal.Entry:
    return next(each for each in journal.entries() if each.id == entry.id)


def test_it_is_on_disk_before_anything_moves(folder: Path) -> None:
    entry = journal.begin("tune", a_plan("a", "b"), {"a": "abc", "b": None})
    (file,) = folder.iterdir()
    stored = json.loads(file.read_text())
    assert (stored["schema"], stored["status"], stored["pid"]) == (1, "applying", os.getpid())
    assert stored["nodes"]["a"] == {"identity": "abc", "status": "pending", "error": ""}
    assert again(entry) == entry
    assert file.stat().st_mode & 0o077 == 0


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(values, values)
def test_values_come_back_as_they_were(have: object, want: object) -> None:
    entry = journal.begin("tune", Plan((Change("a", "s", have, want),)), {})
    assert again(entry).plan == entry.plan


def test_ids_sort_by_time_and_never_repeat() -> None:
    ids = [journal.begin("tune", a_plan("a"), {}).id for _ in range(50)]
    assert ids == sorted(set(ids))
    assert [entry.id for entry in journal.entries()] == ids[::-1]


def test_nodes_that_end_at_the_same_moment_are_all_noted(folder: Path) -> None:
    names = [f"n{number}" for number in range(16)]
    entry = journal.begin("tune", a_plan(*names), {})
    threads = [threading.Thread(target=entry.note, args=(name, journal.DONE)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {state.status for state in again(entry).nodes.values()} == {"done"}
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema": 1}', '{"changes": [], "nodes": []}', "\x00"]
)
def test_a_file_that_is_none_of_ours_is_passed_over(folder: Path, text: str) -> None:
    entry = made("a")
    (folder / "20990101-000000-0000.json").write_text(text)
    assert journal.entries() == [again(entry)]


def test_undone_is_counted_node_by_node() -> None:
    change = made("a", "b")
    made("a", undoes=change)
    assert journal.undone(change, journal.entries()) == {"a"}
    assert journal.entry(None).id == change.id
    made("b", undoes=change)
    assert journal.undone(change, journal.entries()) == {"a", "b"}
    with pytest.raises(ClusterError, match="nothing to undo"):
        journal.entry(None)


def test_undo_of_undo_is_redo() -> None:
    change = made("a")
    back = made("a", undoes=change)
    made("a", undoes=back)
    assert journal.undone(change, journal.entries()) == set()
    assert journal.entry(None).id == change.id
    made("a", undoes=change)
    assert journal.undone(change, journal.entries()) == {"a"}


def test_an_undo_that_failed_undoes_nothing() -> None:
    change = made("a")
    made("a", undoes=change, status=journal.FAILED)
    assert journal.entry(None).id == change.id


def test_an_entry_that_undoes_itself_is_no_trap() -> None:
    entry = made("a")
    entry.undoes = entry.id
    entry.save()
    assert journal.undone(entry, journal.entries()) == set()


def test_what_a_node_did_not_need_counts_and_what_it_refused_is_told() -> None:
    change = made("a", "b", "c")
    back = journal.begin("undo", a_plan("a"), {}, change.id, {"b": "", "c": "another machine"})
    back.note("a", journal.DONE)
    back.conclude()
    assert {name: state.status for name, state in back.nodes.items()} == {
        "a": "done",
        "b": "done",
        "c": "refused",
    }
    assert back.status == "failed"
    assert journal.undone(change, journal.entries()) == {"a", "b"}


def test_the_newest_of_the_nodes_asked_for() -> None:
    first, second = made("a"), made("b")
    assert journal.entry(None).id == second.id
    assert journal.entry(None, ["a", "c"]).id == first.id
    with pytest.raises(ClusterError):
        journal.entry(None, ["c"])


def test_by_the_beginning_of_its_id() -> None:
    first = made("a")
    assert journal.entry(first.id[:-1]).id == first.id
    made("a")
    with pytest.raises(UsageError, match="fits several"):
        journal.entry("2")
    with pytest.raises(UsageError, match="is no change in the journal"):
        journal.entry("x")


def dead(entry: journal.Entry) -> journal.Entry:
    entry.pid = GONE
    entry.save()
    return entry


def test_cut_short_until_somebody_puts_it_right() -> None:
    cut = dead(journal.begin("tune", a_plan("a", "b"), {}))
    cut.note("a", journal.DONE)
    (found,) = journal.cut_short(journal.entries(), "")
    assert (found.id, found.not_done) == (cut.id, ["b"])
    made("a", "b", undoes=cut)
    assert journal.cut_short(journal.entries(), "") == []


def test_an_undo_that_was_cut_short_is_mended_by_the_next_undo() -> None:
    change = made("a")
    cut = dead(journal.begin("undo", a_plan("a"), {}, change.id))
    assert [entry.id for entry in journal.cut_short(journal.entries(), "")] == [cut.id]
    assert journal.entry(None).id == change.id
    made("a", undoes=change)
    assert journal.cut_short(journal.entries(), "") == []


def test_what_runs_now_or_elsewhere_is_not_cut_short() -> None:
    running = journal.begin("tune", a_plan("a"), {})
    assert not running.is_half_done
    elsewhere = dead(journal.begin("tune", a_plan("a"), {}))
    elsewhere.controller = "elsewhere"
    elsewhere.save()
    finished = dead(journal.begin("tune", a_plan("a"), {}))
    finished.note("a", journal.DONE)
    assert journal.cut_short(journal.entries(), "") == []


def test_gone_on_with() -> None:
    cut = dead(journal.begin("tune", a_plan("a"), {}))
    cut.status = journal.RESUMED
    cut.save()
    assert not again(cut).is_half_done
    assert journal.entry(None).id == cut.id


def test_every_field_is_kept() -> None:
    entry = again(made("a"))
    kept = {field.name for field in dataclasses.fields(entry)} - {"_writing"}
    assert all(getattr(entry, name) is not None for name in kept - {"undoes"})
