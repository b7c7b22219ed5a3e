"""Help is light, starts with examples and is complete; completions and the manual are fresh."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from maccluster_cli.cli import generate
from maccluster_cli.cli.app import app
from tests import golden

ROOT = Path(__file__).parent.parent
PLAIN = {"PATH": os.environ["PATH"], "TERM": "dumb", "COLUMNS": "80", "NO_COLOR": "1", "HOME": "/nonexistent"}
HEAVY = (
    "fabric",
    "paramiko",
    "invoke",
    "pydantic",
    "rich.table",
    "rich.live",
    "zeroconf",
    "tomlkit",
    "mlx",
    "psutil",
)


def pages(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    group = group or typer.main.get_command(app)
    yield path
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from pages(command, (*path, name))
        else:
            yield (*path, name)


def run(*argv: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-m", "maccluster_cli", *argv)
    return subprocess.run(
        words, capture_output=True, text=True, env={**PLAIN, **(env or {})}, cwd=ROOT, check=False
    )


def loaded(code: str, env: dict[str, str] | None = None) -> list[str]:
    """Heavy modules that ``code`` brings in, in a fresh interpreter."""
    seen = f"repr([m for m in {HEAVY!r} if m in sys.modules])"
    tell = f"import atexit, sys; atexit.register(lambda: sys.stderr.write({seen}))"
    words = (sys.executable, "-c", f"{tell}\n{code}")
    done = subprocess.run(
        words, capture_output=True, text=True, env={**PLAIN, **(env or {})}, cwd=ROOT, check=False
    )
    found: list[str] = eval(done.stderr[done.stderr.rindex("[") :])  # noqa: S307  # our own repr
    return found


@pytest.mark.parametrize("page", list(pages()), ids=lambda page: " ".join(page) or "top")
def test_every_page_has_help_with_an_example(page: tuple[str, ...]) -> None:
    done = run(*page, "--help")
    assert done.returncode == 0
    body = done.stdout.split("\n\n")
    assert any(paragraph.strip().startswith("Examples:") for paragraph in body[1:3]), done.stdout
    assert "maccluster " + " ".join(page) in done.stdout
    golden.holds(f"help/{'-'.join(page) or 'top'}.txt", done.stdout)


@pytest.mark.parametrize("page", [p for p in pages() if p], ids=" ".join)
def test_every_command_stands_in_the_readme(page: tuple[str, ...]) -> None:
    assert f"maccluster {' '.join(page)}" in (ROOT / "README.md").read_text()


def test_examples_are_real_options() -> None:
    """Every option that an example shows is one that its page lists."""
    for page in pages():
        text = run(*page, "--help").stdout
        for example in re.findall(r"^ +maccluster (.*)$", text, re.MULTILINE):
            command = tuple(word for word in example.split()[: len(page) or 1] if word.isalpha())
            options = run(*command, "--help").stdout
            before_words = example.split(" -- ")[0]
            for option in re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", before_words):
                assert option in options, f"{example}: {option}"


def test_no_arguments_show_help() -> None:
    assert "Examples:" in run().stdout


@pytest.mark.parametrize("argv", [["--help"], ["discover", "--help"], ["--version"], ["train", "-h"]])
def test_help_loads_nothing_heavy(argv: list[str]) -> None:
    code = f"import sys; sys.argv = ['maccluster', *{argv!r}]\nfrom maccluster_cli.cli import main\nmain()"
    assert loaded(code) == []


def test_completion_loads_nothing_heavy() -> None:
    env = {"_MACCLUSTER_COMPLETE": "complete_bash", "COMP_WORDS": "maccluster train ", "COMP_CWORD": "2"}
    code = "import sys; sys.argv = ['maccluster']\nfrom maccluster_cli.cli import main\nmain()"
    assert loaded(code, env) == []


def test_looking_loads_no_pydantic() -> None:
    """It is 200 ms, and what was checked once is remembered."""
    code = """
import sys
from maccluster_cli.cli.app import app
import maccluster_cli.flows.discover, maccluster_cli.flows.run, maccluster_cli.flows.train
import maccluster_cli.ui.discover, maccluster_cli.ui.status, maccluster_cli.ui.train, maccluster_cli.ui.run
import maccluster_cli.session
"""
    assert loaded(code) == []


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("maccluster ", 1, {"discover", "status", "run", "train", "profile"}),
        ("maccluster train t", 2, {"tiny"}),
        ("maccluster discover -p mac", 3, {"mac-mini-x4", "mac-studio-x2"}),
        ("maccluster run -p mac-mini-x4 -n mini1,@w", 5, {"mini1,@worker"}),
    ],
)
def test_the_shell_completes_names(line: str, word: int, expected: set[str]) -> None:
    env = {"_MACCLUSTER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(word)}
    assert expected <= set(run(env=env).stdout.split())


def test_completions_and_manual_are_fresh() -> None:
    for name, content in generate.files().items():
        stored = (ROOT / "completions" / name).read_text()
        assert stored == content, f"{name} is stale: python -m maccluster_cli.cli.generate"


def test_versions_for_bug_reports() -> None:
    assert re.fullmatch(r"maccluster \d+\.\d+\.\d+\n", run("-V").stdout)
    lines = run("-V", "-v").stdout.splitlines()
    assert {line.split()[0] for line in lines} >= {"maccluster", "python", "typer", "fabric", "mlx", "system"}
