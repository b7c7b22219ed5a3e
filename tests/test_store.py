from __future__ import annotations

import json
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from maccluster_cli import store
from maccluster_cli.errors import ClusterError


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_writing_replaces_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    store.write_atomically(file, b"old")
    with pytest.raises(TypeError):
        store.write_atomically(file, "not bytes")  # type: ignore[arg-type]
    assert file.read_bytes() == b"old"
    store.write_atomically(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in file.parent.iterdir()] == ["file"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClusterError, match="cannot write"):
        store.write_atomically(tmp_path / "file" / "below", b"")


def test_a_run_keeps_everything_privately() -> None:
    with store.Run("20260101-000000-tiny-abcd") as run:
        run.event(b'{"event": "step"}')
        run.log(1, b"warning\n")
        run.conclude({"status": "done"})
    assert run.folder.stat().st_mode & 0o777 == 0o700
    assert (run.folder / "events.jsonl").read_text() == '{"event": "step"}\n'
    assert run.log_file(1).read_text() == "warning\n"
    assert json.loads(run.manifest.read_text()) == {"schema": 1, "status": "done"}


def test_run_ids_sort_by_time_and_differ() -> None:
    ids = [store.new_run_id("tiny") for _ in range(50)]
    assert len(set(ids)) == 50
    assert sorted(ids, key=lambda i: i[:15]) == ids


def test_logs_are_pruned_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "maccluster" / "log"
    folder.mkdir(parents=True)
    for number in range(store.LOGS_KEPT + 10):
        (folder / f"20250101-0000{number:02d}-1.log").touch()
    file = store.open_log()
    assert file
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(list(folder.glob("*.log"))) == store.LOGS_KEPT


def test_nobody_fails_for_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert store.open_log() is None


def test_the_worker_travels_with_nothing_but_itself() -> None:
    with zipfile.ZipFile(BytesIO(store.worker_archive())) as archive:
        names = archive.namelist()
    assert "maccluster_cli/__init__.py" in names
    assert "maccluster_cli/worker/__main__.py" in names
    assert all(name.startswith("maccluster_cli/worker/") for name in names[1:])
