"""A remembered profile is the checked one, and never a stale one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from maccluster_cli import remember, shelf
from maccluster_cli.errors import ProfileError
from maccluster_cli.profile import read_profile


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", ["local", "mac-mini-x4", "mac-studio-x2"])
def test_twice_the_same(name: str) -> None:
    file = shelf.profiles()[name]
    assert remember.profile(file) == remember.profile(file) == read_profile(file)


def test_the_second_time_loads_no_pydantic() -> None:
    code = (
        "import sys; from maccluster_cli import remember, shelf; "
        "remember.profile(shelf.profiles()['local']); print('pydantic' in sys.modules)"
    )
    words = [sys.executable, "-c", code]
    said = [subprocess.run(words, capture_output=True, text=True, check=True).stdout for _ in "ab"]
    assert said == ["True\n", "False\n"]


def test_a_changed_file_is_checked_again(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('schema = 1\nname = "a"\n[nodes.x]\nhost = "x"\n')
    assert remember.profile(file).nodes[0].host == "x"
    file.write_text(file.read_text().replace('host = "x"', 'host = "y"'))
    assert remember.profile(file).nodes[0].host == "y"
    file.write_text("schema = 1")
    with pytest.raises(ProfileError):
        remember.profile(file)


def test_damage_is_no_obstacle(tmp_path: Path) -> None:
    file = shelf.profiles()["local"]
    remember.profile(file)
    for stored in (tmp_path / "cache").rglob("*.json"):
        stored.write_text('{"nodes": 5}')
    assert remember.profile(file) == read_profile(file)
