"""Wrong input and sick nodes: one clear error, the right exit code, nothing left running, no traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import golden
from tests.flows.conftest import Cli
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault


@dataclass(frozen=True)
class Case:
    """What is typed, what comes back; ``edit`` changes the lab's profile first."""

    name: str
    argv: tuple[str, ...]
    code: int
    edit: Callable[[str], str] = lambda text: text
    env: dict[str, str] = field(default_factory=dict)


def python(path: str) -> Callable[[str], str]:
    return lambda text: text.replace(f'python = "{sys.executable}"', f'python = "{path}"')


TINY = ("train", "tiny", "-n", "mini[1-2]")
CASES = (
    Case("unknown-profile", ("status", "-p", "mac-mini-4"), 2),
    Case("unknown-recipe", ("train", "tyni"), 2),
    Case("unknown-node", ("run", "-n", "mini[1-9]", "--", "true"), 2),
    Case("unknown-role", ("run", "-n", "@head", "--", "true"), 2),
    Case("unknown-key", ("status",), 2, lambda text: text.replace("user =", "usr =")),
    Case("unreadable-toml", ("status",), 2, lambda text: text.replace("schema = 1", "schema = = 1")),
    Case("unknown-command", ("discovr",), 2),
    Case("unknown-option", ("discover", "--jsn"), 2),
    Case("bad-colour", ("status", "--color", "blue"), 2),
    Case("no-profile-file", ("status", "-p", "./none.toml"), 2),
    Case(
        "login-refused",
        ("run", "-n", "mini1", "--", "true"),
        4,
        lambda text: text.replace('"mac"', '"intruder"'),
    ),
    Case(
        "unknown-host-name",
        ("run", "-n", "mini1", "--", "true"),
        4,
        lambda text: text.replace('host = "mini1"', 'host = "mini77"'),
    ),
    Case(
        "ssh-refused",
        ("run", "-n", "mini1", "--", "true"),
        4,
        lambda text: text.replace('host = "mini1"', 'host = "mini1"\nport = 2222'),
    ),
    Case("no-python", TINY, 1, python("/opt/nowhere/bin/python")),
    Case("python-not-named", TINY, 1, lambda text: text.replace(f'python = "{sys.executable}"\n', "")),
    Case("no-mlx", TINY, 1, python("/usr/bin/python3")),
    Case("address-not-its-own", TINY, 1, lambda text: text.replace('"10.78.0.2"', '"10.99.9.9"')),
    Case(
        "workdir-cannot-be-made",
        TINY,
        1,
        lambda text: text.replace("[defaults]", '[defaults]\nworkdir = "/proc/nowhere"'),
    ),
    Case("batch-does-not-divide", ("train", "tiny", "-n", "mini[1-3]"), 2),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_says_what_happened_and_what_to_type(case: Case, cli: Cli, lab: Lab, profile: Path) -> None:
    profile.write_text(case.edit(profile.read_text()))
    done = cli(*case.argv, env=case.env)
    assert done.returncode == case.code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    text = golden.plainly(done.stderr, profile=profile, home=lab.paths.home)
    golden.holds(f"errors/{case.name}.txt", text)
    assert lab.exec("mini1", "pgrep", "-f", "maccluster").returncode == 1


def test_a_port_in_use(cli: Cli, lab: Lab, profile: Path) -> None:
    profile.write_text(profile.read_text() + "\n[job]\nport = 7000\n")
    bind = "import socket, time; s = socket.create_server(('10.78.0.2', 7001))"
    listen = f"{bind}; print('on', flush=True); time.sleep(60)"
    holder = lab.popen("mini2", sys.executable, "-c", listen, stdout=-1)
    try:
        assert holder.stdout
        assert holder.stdout.readline() == "on\n"
        done = cli(*TINY)
    finally:
        lab.exec("mini2", "pkill", "-f", "create_server")
        holder.communicate()
    assert done.returncode == 1
    golden.holds("errors/port-in-use.txt", golden.plainly(done.stderr, home=lab.paths.home))


def test_a_chosen_port_is_used(cli: Cli, profile: Path) -> None:
    profile.write_text(profile.read_text() + "\n[job]\nport = 7100\n")
    done = cli("train", "tiny", "-n", "mini[1-2]", "--json", "-q")
    assert done.returncode == 0, done.stderr


def test_another_mlx_on_one_node(cli: Cli, lab: Lab, profile: Path) -> None:
    """The other release is a stand-in for MLX itself, which is not ours: a module of its name and number."""
    old = "/Users/mac/old-mlx"
    wrapper = f'#!/bin/sh\nPYTHONPATH={old}:$PYTHONPATH exec {sys.executable} "$@"\n'
    lab.exec("mini2", "mkdir", "-p", f"{old}/mlx", check=True)
    core = "__version__ = '0.32.9'\nclass metal:\n    is_available = staticmethod(lambda: False)\n"
    for file, content in (
        (f"{old}/mlx/core.py", core),
        (f"{old}/mlx/__init__.py", ""),
        (f"{old}/python", wrapper),
    ):
        lab.exec("mini2", "tee", file, input=content, check=True)
    lab.exec("mini2", "chmod", "755", f"{old}/python", check=True)
    text = profile.read_text().replace('host = "mini2"', f'host = "mini2"\npython = "{old}/python"')
    profile.write_text(text)
    done = cli(*TINY)
    assert done.returncode == 1
    golden.holds("errors/mlx-differs.txt", golden.plainly(done.stderr, home=lab.paths.home))
    lab.exec("mini2", "sed", "-i", "s/0.32.9/0.31.2/", f"{old}/mlx/core.py", check=True)
    done = cli(*TINY)
    golden.holds("errors/mlx-too-old.txt", golden.plainly(done.stderr, home=lab.paths.home))
    lab.exec("mini2", "rm", "-rf", old, check=True)


def test_a_full_disk(cli: Cli, lab: Lab, profile: Path) -> None:
    lab.exec(
        "mini2", "sh", "-c", "mkdir -p /full && mount -t tmpfs -o size=1m,mode=1777 none /full", check=True
    )
    profile.write_text(profile.read_text().replace("[nodes.mini2]", '[nodes.mini2]\nworkdir = "/full/runs"'))
    done = cli(*TINY)
    lab.exec("mini2", "umount", "/full", check=True)
    assert done.returncode == 1
    golden.holds("errors/disk-full.txt", golden.plainly(done.stderr, home=lab.paths.home))


def test_a_host_key_that_changed(cli: Cli, lab: Lab) -> None:
    known = lab.paths.home / ".ssh" / "known_hosts"
    text = known.read_text()
    one, two = (line.split()[-1] for line in text.splitlines()[:2])
    try:
        known.write_text(text.replace(one, two, 1))
        done = cli("run", "-n", "mini1", "--", "true")
    finally:
        known.write_text(text)
    assert done.returncode == 4
    golden.holds("errors/host-key-changed.txt", golden.plainly(done.stderr, home=lab.paths.home))


def test_a_host_key_that_nobody_knows(cli: Cli, lab: Lab) -> None:
    known = lab.paths.home / ".ssh" / "known_hosts"
    text = known.read_text()
    try:
        known.write_text("")
        done = cli("run", "-n", "mini1", "--", "true")
        assert known.read_text() == "", "trust on first use is asked, never silent"
    finally:
        known.write_text(text)
    assert done.returncode == 4
    golden.holds("errors/host-key-unknown.txt", golden.plainly(done.stderr, home=lab.paths.home))


def test_a_node_that_does_not_answer(cli: Cli, lab: Lab, fault: Fault) -> None:
    fault.isolate("mini4")
    done = cli("run", "-n", "mini[3-4]", "--", "hostname")
    assert (done.returncode, done.stdout) == (4, "mini3: mini3\n")
    golden.holds("errors/unreachable.txt", golden.plainly(done.stderr, home=lab.paths.home))


def test_a_local_disk_that_is_full_fails_before_anything_starts(cli: Cli, lab: Lab) -> None:
    done = cli(*TINY, env={"XDG_STATE_HOME": "/proc/nowhere"})
    assert done.returncode == 1
    golden.holds("errors/no-state-folder.txt", golden.plainly(done.stderr, home=lab.paths.home))
