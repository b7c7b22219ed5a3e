"""Tuning over the lab: looked at, refused, applied, read back, and told; and what sick nodes make of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from maccluster_cli.transport.lock import Holder
from tests import golden
from tests.flows.conftest import data
from tests.flows.floor import LOCK, Floor, holds
from tests.flows.test_terminal import Terminal
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

HOSTS = {
    "old": "mini-m1:macos=14.6.1",
    "pro": "mini-m4pro:mem=64",
    "ultra": "studio-m3ultra:macos=27.0",
    "penguin": "linux",
    "strict": "mini-m4:nopasswd=none",
    "mule": "mini-m4:mem=64:stubborn=disksleep+iogpu.wired_limit_mb",
}
MACS = ("old", "pro", "ultra")  # what a Linux host can be tuned in depends on the machine under the lab
WELL = (*MACS, "penguin")


@pytest.fixture(scope="module")
def hosts(lab_factory: Callable[..., Lab]) -> Lab:
    """Macs of three releases, a Linux host, one without sudo, one that does not obey."""
    return lab_factory(len(HOSTS), "none", specs=tuple(HOSTS.values()), names=tuple(HOSTS))


@pytest.fixture
def breaking(hosts: Lab) -> Iterator[Fault]:
    with ExitStack() as repairs:
        yield Fault(hosts, repairs)


@pytest.fixture
def floor(hosts: Lab, breaking: Fault, tmp_path: Path) -> Floor:
    """All hosts may be changed."""
    breaking.change(*hosts.hosts)
    return Floor(hosts, tmp_path)


def only(*names: str) -> tuple[str, str]:
    return "--nodes", ",".join(names)


def test_a_look_changes_nothing(floor: Floor) -> None:
    before = floor.snapshots()
    looked = floor.cli("tune", "--dry-run", *only(*MACS))
    assert (looked.returncode, looked.stdout) == (0, "")
    holds("plan", looked)
    checked = floor.cli("tune", "--check", *only(*MACS))
    assert (checked.returncode, checked.stderr) == (3, looked.stderr)
    told = floor.cli("tune", "--dry-run", "--json", "-q", *only(*WELL))
    assert (told.returncode, told.stderr) == (0, "")
    assert {change["node"] for change in data(told)["plan"]} == set(WELL)
    assert floor.snapshots() == before
    assert floor.journal() == []
    assert floor.locks() == []


@pytest.mark.parametrize("more", [(), ("--no-input",), ("--json",)])
def test_without_a_yes_nothing_happens(floor: Floor, more: tuple[str, ...]) -> None:
    before = floor.snapshots(["pro"])
    refused = floor.cli("tune", *more, *only("pro"))
    assert (refused.returncode, refused.stdout) == (2, "")
    holds("no-yes", refused)
    assert floor.snapshots(["pro"]) == before
    assert floor.journal() == []


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("", 1), ("y", 0)])
def test_at_a_terminal_it_asks(floor: Floor, answer: str, code: int) -> None:
    before = floor.snapshots(["pro"])
    asked = Terminal(floor.lab, floor.profile, "tune", *only("pro"))
    try:
        asked.until("Apply this? [y/N]")
        asked.type(f"{answer}\n")
        assert asked.end() == code
    finally:
        os.close(asked.master)
    assert (floor.snapshots(["pro"]) == before) == bool(code)


def test_tuned_it_stays_tuned_also_after_a_reboot(floor: Floor) -> None:
    done = floor.cli("tune", "--yes", "--json", *only(*WELL))
    assert done.returncode == 0
    result = data(done)
    assert result["status"] == "done"
    assert [(each["node"], each["status"]) for each in result["results"]] == [(name, "done") for name in WELL]
    checked = floor.cli("tune", "--check", *only(*WELL))
    assert checked.returncode == 0
    assert checked.stderr.endswith("nothing to change\n")
    again = floor.cli("tune", "--yes", *only(*WELL))
    assert (again.returncode, again.stderr) == (0, checked.stderr)
    (entry,) = floor.journal()
    assert {name: state["status"] for name, state in entry["nodes"].items()} == dict.fromkeys(WELL, "done")
    assert floor.locks() == []
    for name in WELL:
        floor.lab.reboot(name)
    late = floor.cli("tune", "--check", *only(*WELL))
    assert (late.returncode, late.stderr) == (0, checked.stderr)


def test_the_words_of_success(floor: Floor) -> None:
    holds("report", floor.cli("tune", "--yes", *only(*MACS)))
    holds("nothing", floor.cli("tune", "--check", *only(*MACS)))


def test_one_of_four_is_fine(floor: Floor, breaking: Fault) -> None:
    four = ("old", "strict", "mule", "pro")
    breaking.isolate("old")
    before = floor.snapshots(["strict"])
    done = floor.cli("tune", "--yes", *only(*four))
    assert done.returncode == 4
    holds("one-of-four", done)
    (entry,) = floor.journal()
    states = {name: state["status"] for name, state in entry["nodes"].items()}
    assert states == {"strict": "untouched", "mule": "failed", "pro": "done"}
    assert entry["status"] == "failed"
    assert floor.cli("tune", "--check", *only("pro")).returncode == 0
    assert floor.snapshots(["strict"]) == before
    assert floor.locks(four) == []


def test_without_an_unreachable_node_it_is_a_failure(floor: Floor) -> None:
    done = floor.cli("tune", "--yes", "--json", "-q", *only("strict", "mule", "pro"))
    assert done.returncode == 1
    results = {each["node"]: each for each in data(done)["results"]}
    assert [results[name]["status"] for name in ("strict", "mule", "pro")] == ["failed", "failed", "done"]
    assert [left["setting"] for left in results["mule"]["left"]] == ["power.disksleep", "memory.wired_limit"]
    assert {left["setting"] for left in results["strict"]["left"]} >= {"power.sleep", "power.disksleep"}


def test_no_sudo(floor: Floor) -> None:
    done = floor.cli("tune", "--yes", *only("strict"))
    assert done.returncode == 1
    holds("no-sudo", done)


def test_a_command_that_sudo_does_not_list(floor: Floor) -> None:
    """A rule for `pmset` alone: the rest is not taken, and sudo's own words say why."""
    rule = "mac ALL=(ALL) ALL\nmac ALL=(root) NOPASSWD: /usr/bin/pmset\n"
    floor.lab.exec("pro", "tee", "/etc/sudoers.d/mac", input=rule, check=True)
    done = floor.cli("tune", "--yes", *only("pro"))
    assert done.returncode == 1
    assert "pro: memory.wired_limit is 0/unset, not 57344/57344 (it said: sudo: " in done.stderr
    assert floor.locks() == []


def test_a_value_that_the_kernel_keeps(floor: Floor) -> None:
    floor.lab.set_state("pro", "readonly", "iogpu.wired_limit_mb")
    floor.wish('memory.wired_limit = "auto"')
    done = floor.cli("tune", "--yes", *only("pro"))
    assert done.returncode == 1
    assert "oid 'iogpu.wired_limit_mb' is read only" in done.stderr
    assert floor.journal()[0]["nodes"]["pro"]["error"] == "not taken: memory.wired_limit"


def test_a_disk_without_room_for_the_daemon(floor: Floor) -> None:
    """What could not be laid stops the script; the node is read and given free all the same."""
    floor.lab.exec("pro", "mount", "-t", "tmpfs", "-o", "ro", "none", "/var/tmp", check=True)
    done = floor.cli("tune", "--yes", *only("pro"))
    floor.lab.exec("pro", "umount", "/var/tmp", check=True)
    assert done.returncode == 1
    assert "pro: 4 changes made, 1 not taken" in done.stderr
    assert "Read-only file system" in done.stderr
    assert floor.locks() == []


REFUSED = (
    ("pro", "files.limit = 65535", "more than asked for"),
    ("pro", "memory.wired_limit = 65000", "leave macOS too little"),
    ("ultra", 'power.mode = "high"', "this Mac has no High Power Mode"),
    ("pro", 'power.sleep = "never"', "'never' is no number of minutes (0 is never)"),
    ("pro", "files.limit = 99999999", "make every login search for minutes"),
    ("penguin", "files.limit = 2000000000", "nobody could log in any more"),
    (
        "pro",
        "files.limit = [65536, 200000]",
        "The advice `launchctl limit maxfiles 65536 200000` lowers both",
    ),
    ("pro", "clock.step = 0.01", "cannot be told from here"),
)


@pytest.mark.parametrize(("node", "wish", "reason"), REFUSED)
def test_a_wish_that_is_refused(floor: Floor, node: str, wish: str, reason: str) -> None:
    floor.wish(wish)
    before = floor.snapshots([node])
    done = floor.cli("tune", "--yes", *only(node))
    assert done.returncode == 0
    setting = wish.split(" =", maxsplit=1)[0]
    assert f"  ! {setting}: " in done.stderr
    assert reason in done.stderr
    assert floor.snapshots([node]) == before
    assert floor.journal() == []


FOLK = {
    "thermallevel": "power.thermallevel = 1",
    "thunderbolt0": 'thunderbolt0 = "mtu 9000"',
    "high-performance": 'power.mode = "high performance"',
    "core-pinning": 'cpu_affinity = "0-15"',
}


@pytest.mark.parametrize("advice", FOLK)
def test_folk_advice(floor: Floor, advice: str) -> None:
    floor.wish(FOLK[advice])
    done = floor.cli("tune", "--yes", *only("ultra"))
    assert (done.returncode, done.stdout) == (2, "")
    holds(f"folk-{advice}", done)
    assert floor.journal() == []


def test_a_setting_that_is_not_there(floor: Floor) -> None:
    floor.wish("power.slep = 0")
    done = floor.cli("tune", "--dry-run")
    assert done.returncode == 2
    holds("unknown-setting", done)


def test_sleep_of_a_new_mini(floor: Floor) -> None:
    """A mini comes with an idle sleep of a minute; a node that differs from the others stands out."""
    floor.lab.exec("pro", "pmset", "-a", "sleep", "0", "displaysleep", "0", check=True)
    floor.wish("power.sleep = 0\npower.womp = 1\npower.autorestart = 1")
    looked = floor.cli("tune", "--dry-run", *only("old", "pro", "ultra"))
    assert "  ~ power.sleep        1 → 0  old,ultra\n" in looked.stderr
    assert "  ~ power.autorestart  0 → 1  old,pro,ultra\n" in looked.stderr
    assert floor.cli("tune", "--yes", *only("old", "pro", "ultra")).returncode == 0
    for name in ("old", "pro", "ultra"):
        lines = floor.lab.ssh(name, "pmset -g custom").stdout.split("\n")
        told = dict(line.split()[:2] for line in lines if len(line.split()) == 2)
        assert [told[key] for key in ("sleep", "womp", "autorestart")] == ["0", "1", "1"]


def test_memory_for_the_gpu_leaves_macos_enough(floor: Floor) -> None:
    floor.wish('memory.wired_limit = "auto"')
    looked = floor.cli("tune", "--dry-run", *only("old", "pro", "ultra"))
    assert "~ memory.wired_limit  0/unset → 57344/57344  pro\n" in looked.stderr
    assert "~ memory.wired_limit  0/unset → 235930/235930  ultra\n" in looked.stderr
    assert "  old\n" not in looked.stderr  # 16 GB: macOS needs what its own limit leaves it


def test_a_clock_that_is_off_is_stepped_and_the_plan_says_that_this_is_for_good(
    floor: Floor, breaking: Fault
) -> None:
    breaking.set_state("pro", "sntp/offset", "+7.250000")
    floor.wish("clock.step = 0.5")
    done = floor.cli("tune", "--yes", *only("pro"))
    assert done.returncode == 0
    assert "  ~ clock.step  off by +7.2 s → in time (cannot be undone)  pro\n" in done.stderr
    assert floor.lab.state("pro", "sntp/offset") == "+0.000000"


def test_names_become_one(floor: Floor) -> None:
    """A Mac that Bonjour has renamed gets the name that the profile has for it, over the timed revert."""
    floor.lab.exec("pro", "scutil", "--set", "LocalHostName", "pro-438", check=True)
    floor.wish("names.consistent = true")
    done = floor.cli("tune", "--yes", "--accept-risk", "network", *only("pro"))
    assert done.returncode == 0, done.stderr
    assert "/pro-438/unset → pro/pro/pro  pro\n" in done.stderr
    names = [floor.lab.ssh("pro", f"scutil --get {kind}").stdout for kind in ("LocalHostName", "HostName")]
    assert names == ["pro\n", "pro\n"]
    assert floor.cli("undo", "--yes", "--accept-risk", "network").returncode == 0
    assert floor.lab.ssh("pro", "scutil --get LocalHostName").stdout == "pro-438\n"
    assert floor.locks() == []


def test_names_that_are_not_taken_go_back(floor: Floor) -> None:
    floor.lab.set_state("pro", "stubborn", "ComputerName")
    floor.wish("names.consistent = true")
    done = floor.cli("tune", "--yes", "--accept-risk", "network", *only("pro"))
    assert done.returncode == 1
    assert "error: pro: not taken: names.consistent; it goes back by itself within 120 s\n" in done.stderr
    blocked = floor.cli("tune", "--yes", "--accept-risk", "network", *only("pro"))
    assert blocked.returncode == 1
    assert "a change there waits to be confirmed, or the node is taking it back by itself" in blocked.stderr
    floor.lab.exec("pro", "launchctl", "bootout", "system/io.maccluster.revert", check=True)
    floor.lab.exec("pro", "rm", "-rf", "/var/tmp/maccluster-revert", LOCK, check=True)


def test_a_lock_of_another_controller(floor: Floor) -> None:
    holder = Holder("ann", "desk", 4711, "2026-11-30T17:05:01Z", "tune 20261130-170501-3f9a")
    floor.lab.ssh("pro", f"ln -s '{holder.line()}\t1' {LOCK}", check=True)
    before = floor.snapshots(["pro"])
    done = floor.cli("tune", "--yes", *only("pro"))
    assert done.returncode == 1
    holds("locked", done)
    assert floor.snapshots(["pro"]) == before
    assert floor.locks() == ["pro"]
    (entry,) = floor.journal()
    assert entry["nodes"]["pro"]["status"] == "untouched"
    broken = floor.cli("run", *only("pro"), "--", "sudo", "-n", "rm", "-f", LOCK)
    assert broken.returncode == 0
    assert floor.cli("tune", "--yes", *only("pro")).returncode == 0


def test_two_at_once(floor: Floor) -> None:
    """The second is told of the first, and the first comes to its end."""
    floor.slow("pro", "pmset", 1.0, "*' sleep 0 '*")
    words = (*("tune", "--yes"), *only("pro"))
    both = [floor.start(*words) for _ in "ab"]
    ends = sorted((each.communicate()[1], each.returncode) for each in both)
    told = {code: text for text, code in ends}
    assert sorted(told) == [0, 1], ends
    assert "pro: 5 changes made and read back" in told[0]
    assert "changes it since 20" in told[1]
    assert "maccluster run --nodes pro -- sudo -n rm -f /tmp/maccluster.lock" in told[1]
    assert floor.locks() == []


def test_a_node_that_goes_away_in_the_middle(floor: Floor, breaking: Fault) -> None:
    floor.slow("pro", "pmset", 1.0, "*' disksleep 0 '*")
    floor.lab.record("pro")
    running = floor.start("tune", "--yes", *only("pro"))
    while not floor.lab.calls("pro"):
        assert running.poll() is None
    breaking.kill("pro")
    _, told = running.communicate()
    assert running.returncode == 4
    assert "so how far it got is not known" in told
    (entry,) = floor.journal()
    assert entry["nodes"]["pro"]["status"] == "failed"


def test_everything_on_stdout_is_one_object(floor: Floor) -> None:
    for words in (("--list", "--json"), ("--check", "--json"), ("--yes", "--json"), ("--yes", "--json")):
        done = floor.cli("tune", *words, *only("penguin"))
        assert json.loads(done.stdout)["schema"] == 1
        assert "Traceback" not in done.stderr
    listed = floor.cli("tune", "--list")
    golden.holds("change/settings.txt", listed.stdout)
