"""Words the shell can complete. A TAB runs the program, so this reads TOML and nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable

import typer  # noqa: TC002  # Typer reads the annotation to know that it should pass the context

from maccluster_cli import shelf
from maccluster_cli.errors import ClusterError


def profiles(incomplete: str) -> list[str]:
    """Profile names."""
    return _starting(incomplete, shelf.profiles())


def recipes(incomplete: str) -> list[str]:
    """Recipe names."""
    return _starting(incomplete, shelf.recipes())


def nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Node names and @roles of the profile that is named on the line or in force, also after a comma."""
    done, comma, last = incomplete.rpartition(",")
    words = _node_words(ctx.params.get("profile"))
    bang = "!" if last.startswith("!") else ""
    return [f"{done}{comma}{bang}{word}" for word in _starting(last.removeprefix("!"), words)]


def _node_words(profile: str | None) -> list[str]:
    try:
        file, _ = shelf.profile_file(profile)
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (ClusterError, OSError, ValueError):
        return []
    named = table.get("nodes", {})
    roles = {role for node in named.values() if isinstance(node, dict) for role in node.get("roles", [])}
    return [*named, *sorted(f"@{role}" for role in roles)]


def _starting(prefix: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(prefix)]
