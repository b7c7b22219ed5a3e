"""The sudoers lines cover what the settings need, nothing near it, and the real checker takes them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maccluster_cli.linux import sudoers as on_linux
from maccluster_cli.macos import sudoers as on_macos
from maccluster_cli.macos import tuning
from maccluster_cli.values import Command, Refusal
from tests.test_tuning_models import VALUES, LinuxNode, Mac, Model, setting

LINES = {Mac: on_macos.lines, LinuxNode: on_linux.lines}
VISUDO = shutil.which("visudo", path="/usr/sbin:/usr/bin:/sbin:/bin")


def rules(kind: type[Model]) -> list[str]:
    starts = "ada ALL=(root) NOPASSWD: "
    lines = LINES[kind]("ada")
    assert all(line.startswith(starts) for line in lines)
    return [line.removeprefix(starts) for line in lines]


def allowed(kind: type[Model], *argv: str) -> bool:
    """As sudo does it: the words joined by spaces, against a shell pattern or a regular expression."""
    return any(_fits(" ".join(argv), re.sub(r"\\([\\,:=])", r"\1", rule)) for rule in rules(kind))


def _fits(words: str, rule: str) -> bool:
    command, _, pattern = rule.partition(" ")
    if pattern.startswith("^"):
        return words.startswith(f"{command} ") and bool(re.match(pattern, words.partition(" ")[2]))
    return fnmatchcase(words, rule)


def needed(kind: type[Model], data: st.DataObject) -> Iterator[Command]:
    for name, values in VALUES[kind].items():
        write = setting(kind, name).write
        a, b = data.draw(values), data.draw(values)
        yield from (command for command in (*write(a, b), *write(None, a)) if command.sudo)


@pytest.mark.parametrize("kind", LINES)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_every_command_for_root_has_its_rule(kind: type[Model], data: st.DataObject) -> None:
    for command in needed(kind, data):
        assert allowed(kind, *command.argv), command.argv


def test_the_rest_has_its_rule_too() -> None:
    reads = [fact.command.argv for fact in tuning.FACTS if fact.command.sudo]
    assert reads
    assert all(allowed(Mac, *argv) for argv in reads)
    step = setting(Mac, "clock.step").write("off by +2.0 s", "in time")
    assert all(allowed(Mac, *command.argv) for command in step)
    modes = setting(Mac, "power.mode").write("powermode 0", "powermode 2")
    assert all(allowed(Mac, *command.argv) for command in modes)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (Mac, "/usr/bin/pmset -a sleep 0"),
        (Mac, "/usr/bin/pmset -c sleep 0 disablesleep 1"),
        (Mac, "/usr/bin/pmset -c womp 2"),
        (Mac, "/usr/sbin/sysctl kern.maxproc=1"),
        (Mac, "/usr/sbin/sysctl iogpu.wired_limit_mb=1 kern.securelevel=0"),
        (Mac, "/usr/bin/install -o root -g wheel -m 0644 /tmp/x /etc/sudoers"),
        (Mac, "/bin/rm -f /Library/LaunchDaemons/other.plist"),
        (Mac, "/usr/sbin/systemsetup -setremotelogin off"),
        (Mac, "/bin/launchctl limit maxfiles 65536 200000"),
        (LinuxNode, "/usr/bin/systemctl mask ssh.service"),
        (LinuxNode, "/usr/sbin/sysctl -q -w kernel.core_pattern=x"),
        (LinuxNode, "/usr/sbin/sysctl -q -w net.core.rmem_max=1 kernel.core_pattern=x"),
        (LinuxNode, "/usr/sbin/sysctl -q -w net.ipv4.tcp_wmem=1 2 3 4"),
        (LinuxNode, "/usr/bin/rm -f /etc/passwd"),
        (LinuxNode, "/usr/bin/systemd-tmpfiles --create /tmp/x.conf"),
    ],
)
def test_what_lies_near_is_not_allowed(kind: type[Model], line: str) -> None:
    assert not allowed(kind, *line.split())


@pytest.mark.skipif(VISUDO is None, reason="visudo is not installed")
@pytest.mark.parametrize("kind", LINES)
def test_the_real_checker_takes_them(kind: type[Model], tmp_path: Path) -> None:
    file = tmp_path / "maccluster"
    file.write_text("\n".join(LINES[kind]("ada.b-c_1")) + "\n")
    ran = subprocess.run((str(VISUDO), "-c", "-f", str(file)), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("user", ["", "a b", "%admin", "ALL, x", "ada=(root)", "a\nb", "x" * 33, "#501"])
def test_odd_users_are_refused(kind: Any, user: str) -> None:
    with pytest.raises(Refusal, match="no user name"):
        LINES[kind](user)


@pytest.mark.parametrize("kind", LINES)
def test_few_lines_and_each_once(kind: type[Model]) -> None:
    lines = LINES[kind]("ada")
    assert len(lines) == len(set(lines)) < 64
