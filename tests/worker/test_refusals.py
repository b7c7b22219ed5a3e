from __future__ import annotations

from pathlib import Path

from tests.worker.conftest import ROOT, Launch, recipe


def fake_mlx(folder: Path, core: str) -> None:
    """Another MLX, found before the installed one."""
    (folder / "mlx").mkdir()
    (folder / "mlx" / "__init__.py").touch()
    (folder / "mlx" / "core.py").write_text(core)


def test_a_node_without_mlx_is_refused(launch: Launch, tmp_path: Path) -> None:
    fake_mlx(tmp_path, "raise ImportError('no mlx here')")
    world = launch(recipe(), python_path=f"{tmp_path}:{ROOT}")
    assert world.finish() == [78]
    assert world.first.one("error")["kind"] == "no_mlx"


def test_an_old_mlx_is_refused_and_what_libraries_print_is_no_event(launch: Launch, tmp_path: Path) -> None:
    fake_mlx(tmp_path, "__version__ = '0.31.9'; print('a greeting')")
    world = launch(recipe(), python_path=f"{tmp_path}:{ROOT}")
    assert world.finish() == [78]
    assert [one["event"] for one in world.first.events] == ["error"]
    assert world.first.one("error")["kind"] == "old_mlx"
    assert "0.31.9" in world.first.one("error")["message"]
    assert "a greeting" in world.first.errors


def test_an_unforeseen_failure_is_an_event_and_a_traceback(launch: Launch, tmp_path: Path) -> None:
    fake_mlx(tmp_path, "raise ArithmeticError('odd')")
    world = launch(recipe(), python_path=f"{tmp_path}:{ROOT}")
    assert world.finish() == [1]
    assert world.first.one("error")["message"] == "ArithmeticError: odd"
    assert "Traceback" in world.first.errors
