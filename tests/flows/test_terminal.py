"""What happens where a person sits at a terminal: questions are asked, progress is drawn in place."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.flows.test_train import RECIPE
from tests.lab.cluster import Lab


class Terminal:
    """The command line under a pseudo terminal on the controller."""

    def __init__(self, lab: Lab, profile: Path, *argv: str) -> None:
        self.master, slave = pty.openpty()
        env = {"MACCLUSTER_PROFILE": str(profile), "TERM": "xterm", "COLUMNS": "100"}
        words = (sys.executable, "-m", "maccluster_cli", *argv)
        self.process = lab.popen("ctl", *words, env=env, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.text = ""

    def until(self, word: str, seconds: float = 40) -> None:
        end = time.monotonic() + seconds
        while word not in self.text:
            assert time.monotonic() < end, self.text
            if not self._read():
                break
        assert word in self.text, self.text

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> int:
        while self._read():
            pass
        return self.process.wait(10)

    def _read(self) -> bool:
        if not select.select([self.master], [], [], 1)[0]:
            return self.process.poll() is None
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other side is closed
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)


@pytest.fixture
def terminal(lab: Lab, profile: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*argv: str) -> Terminal:
        opened.append(Terminal(lab, profile, *argv))
        return opened[-1]

    yield start
    for each in opened:
        each.process.kill()
        each.process.wait()
        os.close(each.master)


@pytest.fixture
def strangers(lab: Lab) -> Iterator[Path]:
    """The controller's known_hosts, empty for the test."""
    known = lab.paths.home / ".ssh" / "known_hosts"
    text = known.read_text()
    known.write_text("")
    yield known
    known.write_text(text)


def test_a_new_host_key_is_asked_for_and_remembered(
    terminal: Callable[..., Terminal], strangers: Path
) -> None:
    first = terminal("run", "-n", "mini1", "--", "hostname")
    first.until("mini1 is new here. Its host key is ssh-ed25519 SHA256:")
    first.type("y\n")
    assert first.end() == 0
    assert "mini1: mini1" in first.text
    assert strangers.read_text().startswith("mini1 ssh-ed25519 ")
    second = terminal("run", "-n", "mini1", "--", "hostname")
    assert second.end() == 0
    assert "new here" not in second.text


def test_a_no_trusts_nobody(terminal: Callable[..., Terminal], strangers: Path) -> None:
    asked = terminal("run", "-n", "mini1", "--", "hostname")
    asked.until("Trust it?")
    asked.type("n\n")
    assert asked.end() == 4
    assert strangers.read_text() == ""


def test_several_new_hosts_are_asked_one_after_the_other(
    terminal: Callable[..., Terminal], strangers: Path
) -> None:
    asked = terminal("run", "--", "hostname")
    for _ in range(4):
        asked.until("Trust it?")
        asked.text = asked.text.split("Trust it?", 1)[1]
        asked.type("y\n")
    assert asked.end() == 0
    assert len(strangers.read_text().splitlines()) == 4


def test_saving_asks_and_a_no_writes_nothing(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    target = tmp_path / "new.toml"
    asked = terminal("discover", "--bonjour", "0", "--save", str(target))
    asked.until(f"Write {target}? [y/N]")
    asked.type("\n")
    assert asked.end() == 1
    assert not target.exists()


def test_training_is_drawn_in_place(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    recipe = tmp_path / "short.toml"
    recipe.write_text(RECIPE.format(steps=8))
    drawn = terminal("train", str(recipe), "-n", "mini[1-2]")
    assert drawn.end() == 0
    assert "\x1b[" in drawn.text
    assert "step 8/8" in drawn.text
    assert "held-out  " in drawn.text
