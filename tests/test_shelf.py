"""Which profile is used, in which order; and which file a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from maccluster_cli import shelf
from maccluster_cli.errors import ProfileError

MINE = 'schema = 1\nname = "mine"\n[nodes.a]\nhost = "a"\n'


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("MACCLUSTER_PROFILE", raising=False)


def config(tmp_path: Path, name: str) -> Path:
    file = tmp_path / "config" / "maccluster" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(MINE)
    return file


def test_order_of_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shelf.profile_file(None)[0] == shelf.shipped_dir() / "local.toml"
    users = config(tmp_path, "maccluster.toml")
    assert shelf.profile_file(None)[0] == users
    (tmp_path / "maccluster.toml").write_text(MINE)
    assert shelf.profile_file(None)[0] == Path("maccluster.toml")
    monkeypatch.setenv("MACCLUSTER_PROFILE", "mac-studio-x2")
    assert shelf.profile_file(None) == (shelf.shipped_dir() / "mac-studio-x2.toml", "MACCLUSTER_PROFILE")
    assert shelf.profile_file("mac-mini-x4") == (shelf.shipped_dir() / "mac-mini-x4.toml", "--profile")


def test_the_users_own_comes_before_the_shipped_one(tmp_path: Path) -> None:
    own = config(tmp_path, "profiles/local.toml")
    assert shelf.profile_file("local")[0] == own


def test_names_that_nobody_has(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="did you mean 'local'") as caught:
        shelf.profile_file("locl")
    assert caught.value.code == 2
    with pytest.raises(ProfileError, match=r"no recipe is called 'tny' \(did you mean 'tiny'\?\)"):
        shelf.recipe_file("tny")
    with pytest.raises(ProfileError, match="there is no profile file"):
        shelf.profile_file(str(tmp_path / "none.toml"))


def test_relative_xdg_paths_do_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert shelf.state_dir() == tmp_path / ".local/state/maccluster"
