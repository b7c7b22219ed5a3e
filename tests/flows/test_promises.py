"""What a second pair of eyes broke in the change story, so that it stays mended."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.cluster import Lab

GUARD = "/var/tmp/maccluster-revert"


@pytest.fixture(scope="module")
def bench(lab_factory: Callable[..., Lab]) -> Iterator[Lab]:
    """Two Macs and a Linux host."""
    with lab_factory(3, "none", specs=("mini-m4pro", "mini-m4", "linux")) as lab:
        yield lab


@pytest.fixture
def profile(bench: Lab, tmp_path: Path) -> Iterator[Path]:
    tmp_path.chmod(0o755)
    kept = {name: bench.keep(name) for name in bench.hosts}
    bench.profile(tmp_path / "a.toml")
    yield tmp_path / "a.toml"
    for name, disk in kept.items():
        bench.restore(name, disk)
    for file in (bench.paths.home / ".local/state/maccluster/journal").glob("*.json"):
        file.unlink()


def wish(profile: Path, lines: str) -> None:
    profile.write_text(
        profile.read_text().replace("[nodes.mini1]", f"[defaults.tune]\n{lines}\n[nodes.mini1]", 1)
    )


def journal(lab: Lab) -> list[dict[str, object]]:
    folder = lab.paths.home / ".local/state/maccluster/journal"
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]


def test_what_may_cut_off_must_be_named(bench: Lab, profile: Path) -> None:
    wish(profile, "names.consistent = true")
    done = bench.cli("tune", "-p", str(profile), "-n", "mini1", "--yes")
    assert done.returncode == 2
    assert "may cut off mini1: names.consistent; a revert is armed there first" in done.stderr
    assert "/bin/launchctl bootstrap system" in done.stderr, "the guard's own commands are shown too"
    assert "next: add --accept-risk network" in done.stderr
    assert journal(bench) == []


def test_a_guard_that_cannot_be_armed_changes_nothing_and_leaves_no_lock(bench: Lab, profile: Path) -> None:
    wish(profile, "names.consistent = true")
    bench.exec("mini1", "mkdir", "-m", "700", GUARD, check=True)
    bench.exec("mini1", "touch", f"{GUARD}/anothers", check=True)
    before = bench.snapshot("mini1")
    done = bench.cli("tune", "-p", str(profile), "-n", "mini1", "--yes", "--accept-risk", "network")
    assert done.returncode == 1
    assert "error: mini1: the timed revert cannot be armed (" in done.stderr
    assert "nothing was changed" in done.stderr
    assert bench.snapshot("mini1") == before
    assert journal(bench)[0]["nodes"]["mini1"]["status"] == "untouched"  # type: ignore[index]
    bench.exec("mini1", "rm", "-rf", GUARD, check=True)
    again = bench.cli("tune", "-p", str(profile), "-n", "mini1", "--yes", "--accept-risk", "network")
    assert again.returncode == 0, again.stderr
    assert bench.exec("mini1", "test", "-e", GUARD).returncode == 1, "the guard leaves nothing behind"


def test_an_undo_under_another_profile_counts_for_nothing(bench: Lab, profile: Path) -> None:
    wish(profile, "power.sleep = 0")
    assert bench.cli("tune", "-p", str(profile), "-n", "mini1", "--yes").returncode == 0
    other = profile.with_name("b.toml")
    other.write_text(profile.read_text().replace('host = "mini1"', 'host = "mini2"'))
    asked = bench.cli("undo", "-p", str(other), "--yes")
    assert "there is nothing to undo" in asked.stderr
    [entry] = journal(bench)
    named = bench.cli("undo", str(entry["id"]), "-p", str(other), "--yes")
    assert named.returncode == 1
    assert "another machine now" in named.stderr
    assert bench.cli("undo", "-p", str(profile), "--yes").returncode == 0
    assert "sleep 1" in " ".join(bench.ssh("mini1", "pmset -g custom").stdout.split())


def test_what_was_never_done_is_never_undone(bench: Lab, profile: Path) -> None:
    wish(profile, "power.sleep = 0")
    held = "bob\tdesk\t1\t2026-01-01T00:00:00Z\ttune 20260101-000000-0000\t1"
    bench.ssh("mini1", f"ln -s '{held}' /tmp/maccluster.lock")
    refused = bench.cli("tune", "-p", str(profile), "-n", "mini1", "--yes")
    assert refused.returncode == 1
    assert "back with" not in refused.stderr
    bench.ssh("mini1", "rm /tmp/maccluster.lock; sudo pmset -c sleep 0")
    assert "there is nothing to undo" in bench.cli("undo", "-p", str(profile), "--yes").stderr
    assert "sleep 0" in " ".join(bench.ssh("mini1", "pmset -g custom").stdout.split())


def test_somebody_who_was_faster_is_noticed(bench: Lab, profile: Path) -> None:
    """The yes is given while another changes the node: the plan is no longer the one that was agreed to."""
    from tests.flows.test_terminal import Terminal

    wish(profile, "power.sleep = 0")
    asked = Terminal(bench, profile, "tune", "-n", "mini1")
    asked.until("Apply this?")
    bench.ssh("mini1", "sudo pmset -c sleep 30")
    asked.type("y\n")
    assert asked.end() == 1
    assert "changed since you looked: power.sleep" in asked.text
    assert "sleep 30" in " ".join(bench.ssh("mini1", "pmset -g custom").stdout.split())
    assert bench.exec("mini1", "test", "-L", "/tmp/maccluster.lock").returncode == 1


@pytest.mark.usefixtures("profile")
def test_a_power_cut_during_the_revert_does_not_end_it(bench: Lab) -> None:
    """The revert had begun; after the boot it begins again, and frees the node."""
    from maccluster_cli.transport import batch, guard
    from maccluster_cli.values import DARWIN, Command

    home = (Command(("/sbin/ifconfig", "en0", "mtu", "1400"), sudo=True),)
    script = batch.script(guard.arm(home, 60, DARWIN), "_x", tied=False)
    bench.ssh("mini1", "cat >/tmp/arm.sh; sh /tmp/arm.sh", input=script)
    bench.exec("mini1", "mv", f"{GUARD}/armed", f"{GUARD}/reverting", check=True)
    bench.reboot("mini1")
    end = time.monotonic() + 20
    while bench.exec("mini1", "test", "-e", f"{GUARD}/reverted").returncode:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert bench.exec("mini1", "cat", "/sys/class/net/en0/mtu").stdout == "1400\n"
    bench.exec("mini1", "sh", "-c", f"rm -rf {GUARD}; ifconfig en0 mtu 1500", check=True)
