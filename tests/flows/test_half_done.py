"""The controller is killed at every step of a change: nothing is half written, and both ways are open."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest

from tests.flows.floor import Floor, holds
from tests.lab.cluster import Lab

HOSTS = {
    "one": "mini-m4pro:mem=64",
    "two": "mini-m4pro:mem=64",
    "three": "mini-m4pro:mem=64",
    "penguin": "linux",
}
MACS = tuple(HOSTS)[:3]
CALLS = "/var/tmp/sudo-calls"
# Whatever changes a node goes through sudo, so sudo is where its steps are counted and slowed down.
SUDO = f"""\
#!/bin/sh
case "$*" in *" -get"* | "-n -l") ;; *) [ ! -e {CALLS} ] || {{ echo "$*" >>{CALLS}; sleep 0.2; }} ;; esac
exec /usr/bin/sudo.real "$@"
"""
WISHES = 'power.sleep = 0\npower.womp = 0\nmemory.wired_limit = "auto"\n'


@pytest.fixture(scope="module")
def hosts(lab_factory: Callable[..., Lab]) -> Lab:
    """Hosts whose sudo keeps a list."""
    lab = lab_factory(len(HOSTS), "none", specs=tuple(HOSTS.values()), names=tuple(HOSTS))
    put = "mv /usr/bin/sudo /usr/bin/sudo.real && cat >/usr/bin/sudo && chmod 755 /usr/bin/sudo"
    for name in HOSTS:
        lab.exec(name, "sh", "-c", put, input=SUDO, check=True)
    return lab


@pytest.fixture
def walkers(hosts: Lab, tmp_path: Path) -> Iterator[list[Floor]]:
    """A floor a host, so that several steps are tried at a time."""
    floors = []
    for name in HOSTS:
        folder = tmp_path / name
        folder.mkdir()
        floors.append(Floor(hosts, folder))
        floors[-1].profile.write_text(hosts.profile(nodes=[name]))
        floors[-1].wish(WISHES if name in MACS else "net.buffers = 123456789")
    tmp_path.chmod(0o755)
    yield floors
    for name in HOSTS:
        hosts.exec(name, "rm", "-f", CALLS)


def name_of(floor: Floor) -> str:
    return next(name for name in HOSTS if f"[nodes.{name}]" in floor.profile.read_text())


def snapshot(floor: Floor) -> str:
    """All but copies beside a file's place, which nothing reads and the next change takes away."""
    lines = floor.lab.snapshot(name_of(floor)).splitlines()
    return "\n".join(line for line in lines if ".new: " not in line)


def at_own_step(step: int) -> Callable[[Floor], None]:
    def kill(floor: Floor) -> None:
        env = {**floor.env, "KILL_AT": str(step)}
        done = floor.lab.exec(
            "ctl", *floor.words("tune", "--yes", module="tests.flows.killed"), env=env, cwd=floor.root
        )
        assert done.returncode == -signal.SIGKILL, (step, done.stderr)

    return kill


def at_remote_step(step: int) -> Callable[[Floor], None]:
    def kill(floor: Floor) -> None:
        name = name_of(floor)
        floor.lab.exec(name, "sh", "-c", f": >{CALLS}; chmod 666 {CALLS}", check=True)
        calls = floor.lab.facts(name).parents[2] / CALLS.lstrip("/")
        running = floor.start("tune", "--yes")
        while len(calls.read_text().splitlines()) < step:
            assert running.poll() is None, step
            time.sleep(0.005)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        calls.unlink()

    return kill


def own_steps(floor: Floor) -> int:
    env = {**floor.env, "KILL_AT": "0"}
    words = floor.words("tune", "--yes", module="tests.flows.killed")
    done = floor.lab.exec("ctl", *words, env=env, cwd=floor.root)
    assert done.returncode == 0, done.stderr
    return int(re.findall(r"^steps (\d+)$", done.stderr, re.MULTILINE)[0])


def remote_steps(floor: Floor) -> int:
    name = name_of(floor)
    floor.lab.exec(name, "sh", "-c", f": >{CALLS}; chmod 666 {CALLS}", check=True)
    assert floor.cli("tune", "--yes").returncode == 0
    calls = floor.lab.exec(name, "cat", CALLS).stdout.splitlines()
    floor.lab.exec(name, "rm", CALLS)
    return len(calls)


def whole(floor: Floor) -> None:
    """Whatever was written can be read."""
    for entry in floor.journal():
        assert entry["schema"] == 1
    lint = "for f in /Library/LaunchDaemons/*.plist; do [ ! -e $f ] || plutil -lint $f; done"
    told = floor.lab.exec(name_of(floor), "sh", "-c", lint)
    assert all(line.endswith(": OK") for line in told.stdout.splitlines()), told.stdout


def both_ways(floor: Floor, before: str, kill: Callable[[Floor], None]) -> bool:
    """Kill; put back and look; then go on and put back again. Whether the journal told of a cut."""
    old = len(floor.journal())
    kill(floor)
    whole(floor)
    known = floor.journal()[old:]
    looked = floor.cli("tune", "--dry-run")
    assert looked.returncode == 0
    cut = "was cut short on" in looked.stderr
    if known and not cut:  # then it got to its end: nothing is left to do
        assert known[-1]["nodes"][name_of(floor)]["status"] == "done"
        assert looked.stderr.endswith("nothing to change\n")
    if known:
        assert floor.cli("undo", known[-1]["id"], "--yes").returncode == 0
    assert snapshot(floor) == before
    done = floor.cli("tune", "--yes")
    assert done.returncode == 0, done.stderr
    assert "cut short" not in done.stderr
    assert floor.cli("undo", "--yes").returncode == 0
    assert floor.lab.snapshot(name_of(floor)).rstrip("\n") == before
    assert floor.locks([name_of(floor)]) == []
    return cut


def walk(floors: list[Floor], kills: list[Callable[[Floor], None]]) -> list[bool]:
    free: SimpleQueue[Floor] = SimpleQueue()
    for floor in floors:
        free.put(floor)
    before = {name_of(floor): snapshot(floor) for floor in floors}

    def one(kill: Callable[[Floor], None]) -> bool:
        floor = free.get()
        try:
            return both_ways(floor, before[name_of(floor)], kill)
        finally:
            free.put(floor)

    with ThreadPoolExecutor(len(floors)) as pool:
        return list(pool.map(one, kills))


def test_killed_at_each_step_here_and_there(walkers: list[Floor]) -> None:
    first = walkers[0]
    here = own_steps(first)
    assert first.cli("undo", "--yes").returncode == 0
    there = remote_steps(first)
    assert first.cli("undo", "--yes").returncode == 0
    assert (here > 8, there) == (True, 5)
    steps = [at_own_step(step) for step in range(1, here + 1)]
    cuts = walk(walkers[:-1], [*steps, *(at_remote_step(step) for step in range(1, there + 1))])
    assert cuts[-there:] == [True] * there
    assert any(cuts[:here])


def test_killed_at_each_step_on_linux(walkers: list[Floor]) -> None:
    penguin = walkers[-1]
    there = remote_steps(penguin)
    assert there > 2
    assert penguin.cli("undo", "--yes").returncode == 0
    cuts = walk([penguin], [at_remote_step(step) for step in range(1, there + 1)])
    assert cuts == [True] * there


def test_the_words_for_what_was_cut_short_and_going_on(walkers: list[Floor]) -> None:
    floor = walkers[0]
    at_remote_step(2)(floor)
    looked = floor.cli("tune", "--dry-run")
    holds("half-done", looked)
    assert "cut short" in floor.cli("undo", "--list", "--plain").stdout
    assert floor.locks([name_of(floor)]) == [name_of(floor)]
    onward = floor.cli("tune", "--yes")
    assert onward.returncode == 0, onward.stderr
    assert "was cut short on" in onward.stderr
    late = floor.cli("tune", "--check")
    assert (late.returncode, late.stderr) == (0, "nothing to change\n")
    assert [entry["status"] for entry in floor.journal()] == ["resumed", "done"]
    assert floor.cli("undo", "--yes").returncode == 0
    assert floor.cli("undo", "--yes").returncode == 0


def test_ctrl_c_in_the_middle(walkers: list[Floor]) -> None:
    floor = walkers[1]
    before = snapshot(floor)
    name = name_of(floor)
    floor.lab.exec(name, "sh", "-c", f": >{CALLS}; chmod 666 {CALLS}", check=True)
    running = floor.start("tune", "--yes")
    while not floor.lab.exec(name, "cat", CALLS).stdout:
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=20)
    floor.lab.exec(name, "rm", "-f", CALLS)
    assert running.returncode == 130, told
    (entry,) = floor.journal()
    assert entry["status"] == "interrupted"
    assert f"put it back with maccluster undo {entry['id']}" in told
    assert floor.cli("undo", "--yes").returncode == 0
    assert snapshot(floor) == before


def test_an_undo_that_was_cut_short_is_gone_on_with(walkers: list[Floor]) -> None:
    floor = walkers[2]
    before = snapshot(floor)
    assert floor.cli("tune", "--yes").returncode == 0
    name = name_of(floor)
    floor.lab.exec(name, "sh", "-c", f": >{CALLS}; chmod 666 {CALLS}", check=True)
    running = floor.start("undo", "--yes")
    while len(floor.lab.exec(name, "cat", CALLS).stdout.splitlines()) < 2:
        assert running.poll() is None
    running.kill()
    running.communicate()
    floor.lab.exec(name, "rm", "-f", CALLS)
    looked = floor.cli("tune", "--dry-run")
    tuned, cut = floor.journal()
    assert f"or go on with maccluster undo {tuned['id']}" in looked.stderr
    assert cut["undoes"] == tuned["id"]
    assert floor.cli("undo", "--yes").returncode == 0
    assert snapshot(floor) == before
    assert "cut short" not in floor.cli("tune", "--dry-run").stderr


def test_a_lock_of_a_living_process_is_not_broken(walkers: list[Floor]) -> None:
    """The lock names this controller and a change of its journal, and the process is there."""
    floor = walkers[0]
    at_remote_step(1)(floor)
    (entry,) = floor.journal()
    name = name_of(floor)
    line = floor.lab.exec(name, "readlink", "/tmp/maccluster.lock").stdout.rstrip("\n")
    living = line.replace(f"\t{entry['pid']}\t", f"\t{os.getpid()}\t")
    floor.lab.ssh(name, f"ln -sfn '{living}' /tmp/maccluster.lock", check=True)
    refused = floor.cli("tune", "--yes")
    assert refused.returncode == 1
    assert f"changes it since {entry['when']}: tune {entry['id']}" in refused.stderr
    floor.lab.ssh(name, f"ln -sfn '{line}' /tmp/maccluster.lock", check=True)
    assert floor.cli("undo", entry["id"], "--yes").returncode == 0
    assert floor.cli("tune", "--yes").returncode == 0
    assert floor.cli("undo", "--yes").returncode == 0
    assert floor.locks([name]) == []
