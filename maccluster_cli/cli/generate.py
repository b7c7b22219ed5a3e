"""Writes completions/ and the manual page: ``python -m maccluster_cli.cli.generate DIR``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # public by its docs

from maccluster_cli import __version__
from maccluster_cli.cli.app import app

_SHELLS = {"bash": "maccluster.bash", "zsh": "_maccluster", "fish": "maccluster.fish"}
_VARIABLE = "_MACCLUSTER_COMPLETE"


def files() -> dict[str, str]:
    """File name to content, all of it made anew."""
    scripts = {
        file: get_completion_script(prog_name="maccluster", complete_var=_VARIABLE, shell=shell) + "\n"
        for shell, file in _SHELLS.items()
    }
    return {**scripts, "maccluster.1": "\n".join(_manual()) + "\n"}


def _manual() -> Iterator[str]:
    root: Any = typer.main.get_command(app)
    context = root.make_context("maccluster", [], resilient_parsing=True)
    yield f'.TH MACCLUSTER 1 "" "maccluster {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "maccluster \\- a few Macs as one machine for training and running large models"
    yield ".SH SYNOPSIS"
    yield ".B maccluster"
    yield "COMMAND [OPTIONS] [ARGUMENTS]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(root.help)
    yield ".SH COMMANDS"
    for path, command in _commands(root, context, ()):
        yield f'.SS "maccluster {" ".join(path)}"'
        yield from _paragraphs(command.help or "")
        yield from _options(command, context)
    yield ".SH EXIT STATUS"
    yield from _paragraphs(root.epilog)


def _commands(group: Any, context: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if hasattr(command, "list_commands"):
            yield from _commands(command, context, (*path, name))


def _options(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.params:
        if record := parameter.get_help_record(context):
            yield ".TP"
            yield f".B {_escaped(record[0])}"
            yield _escaped(record[1]) or "\\&"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        literal = paragraph.startswith("\b")
        yield ".nf" if literal else ".PP"
        yield from (_escaped(line) for line in paragraph.strip("\b\n").splitlines())
        if literal:
            yield ".fi"


def _escaped(text: str) -> str:
    """Roff reads a leading dot as a request and a hyphen as a hyphen, not as the minus of an option."""
    line = text.replace("\\", "\\\\").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def main() -> None:
    """Write every file into the folder that is named."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "completions")
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
