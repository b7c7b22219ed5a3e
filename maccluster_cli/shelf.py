"""Where profiles and recipes lie, and which one is meant. Names only: nothing here reads what is in them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from maccluster_cli.errors import ProfileError, did_you_mean

HERE = "maccluster.toml"


def config_dir() -> Path:
    """``~/.config/maccluster``, also on a Mac; XDG_CONFIG_HOME moves it."""
    return _xdg("XDG_CONFIG_HOME", "~/.config")


def state_dir() -> Path:
    """Journal, runs and logs: ``~/.local/state/maccluster`` or below XDG_STATE_HOME."""
    return _xdg("XDG_STATE_HOME", "~/.local/state")


def cache_dir() -> Path:
    """What can be lost without loss: ``~/.cache/maccluster`` or below XDG_CACHE_HOME."""
    return _xdg("XDG_CACHE_HOME", "~/.cache")


def _xdg(variable: str, fallback: str) -> Path:
    # the XDG rules: an unset, empty or relative value counts as none
    value = os.environ.get(variable, "")
    return (Path(value) if value.startswith("/") else Path(fallback).expanduser()) / "maccluster"


def shipped_dir() -> Path:
    """Profiles that come with maccluster: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).parent
    inside = package / "profiles"
    return inside if inside.is_dir() else package.parent / "profiles"


def profile_file(named: str | None) -> tuple[Path, str]:
    """The profile's file and where the choice came from. Raises ProfileError for a name nobody has."""
    if named is not None:
        return _named(named, "profile", profiles()), "--profile"
    if wish := os.environ.get("MACCLUSTER_PROFILE"):
        return _named(wish, "profile", profiles()), "MACCLUSTER_PROFILE"
    for file in (Path(HERE), config_dir() / HERE):
        if is_file(file):
            return file, str(file)
    return shipped_dir() / "local.toml", "the built-in default"


def recipe_file(named: str) -> Path:
    """The recipe's file. Raises ProfileError when there is none of that name."""
    return _named(named, "recipe", recipes())


def profiles() -> dict[str, Path]:
    """Every profile that has a name, the user's own before those that are shipped."""
    return _by_name((config_dir() / "profiles", shipped_dir()))


def recipes() -> dict[str, Path]:
    """Every recipe that has a name, the user's own before those that are shipped."""
    return _by_name((config_dir() / "recipes", shipped_dir() / "recipes"))


def is_file(path: Path) -> bool:
    """Whether it is a file. Raises ProfileError where that cannot even be asked."""
    try:
        return path.is_file()
    except OSError as error:
        raise ProfileError(
            f"cannot look at {path}: {error.strerror}", hint="maccluster profile list"
        ) from error


def _by_name(folders: Iterable[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in folders:
        with contextlib.suppress(OSError):  # a folder that cannot be read has no names for us
            for file in sorted(folder.glob("*.toml")):
                found.setdefault(file.stem, file)
    return found


def _named(named: str, kind: str, known: dict[str, Path]) -> Path:
    if "/" in named or named.endswith(".toml"):
        file = Path(named).expanduser()
        if is_file(file):
            return file
        raise ProfileError(f"there is no {kind} file {named}", hint="maccluster profile list")
    if named in known:
        return known[named]
    raise ProfileError(
        f"no {kind} is called {named!r}{did_you_mean(named, known)}; there are: {', '.join(sorted(known))}",
        hint="maccluster profile list",
    )
