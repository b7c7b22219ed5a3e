"""A change that cuts a node off goes back by itself; one that does not stays."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cluster import Lab

GUARD = "/var/tmp/maccluster-revert"


@pytest.fixture
def pair(lab_factory: Callable[..., Lab]) -> Any:
    """A Mac and a Linux host that the test may ruin."""
    with lab_factory(2, "none", specs=("mini-m4pro", "linux")) as lab:
        yield lab


def risky(lab: Lab, tmp_path: Path, *argv: str) -> dict[str, Any]:
    tmp_path.chmod(0o755)
    lab.profile(tmp_path / "p.toml")
    words = (sys.executable, "-m", "tests.flows.risky", str(tmp_path / "p.toml"), *argv)
    done = lab.exec("ctl", *words, timeout=100, cwd=str(Path(__file__).parents[2]))
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def mtu(lab: Lab, name: str) -> str:
    return lab.exec(name, "cat", "/sys/class/net/en0/mtu").stdout.strip()


@pytest.mark.parametrize("name", ["mini1", "mini2"])
def test_confirmed_over_a_new_connection_it_stays(pair: Lab, tmp_path: Path, name: str) -> None:
    result = risky(pair, tmp_path, "mtu", "9000", "4", name)
    assert result == {
        "code": 0,
        "status": "done",
        "nodes": {name: {**result["nodes"][name], "status": "done"}},
    }
    time.sleep(6)
    assert mtu(pair, name) == "9000"
    assert pair.exec(name, "test", "-e", f"{GUARD}/armed").returncode == 1
    assert pair.exec(name, "test", "-e", "/Library/LaunchDaemons/io.maccluster.revert.plist").returncode == 1
    assert pair.exec(name, "test", "-L", "/tmp/maccluster.lock").returncode == 1


@pytest.mark.parametrize("name", ["mini1", "mini2"])
def test_a_node_that_is_cut_off_comes_back_by_itself(pair: Lab, tmp_path: Path, name: str) -> None:
    result = risky(pair, tmp_path, "link", "down", "20", name)
    assert result["code"] == 4
    assert "it goes back by itself within 20 s" in result["nodes"][name]["error"]
    end = time.monotonic() + 25
    while pair.ssh(name, "true").returncode:
        assert time.monotonic() < end
    assert pair.exec(name, "test", "-e", f"{GUARD}/reverted").returncode == 0


def test_the_first_node_is_the_canary(pair: Lab, tmp_path: Path) -> None:
    result = risky(pair, tmp_path, "link", "down", "6", "mini1", "mini2")
    assert result["status"] == "failed"
    assert result["nodes"]["mini2"]["error"] == "not begun: the first node failed"
    assert pair.ssh("mini2", "true").returncode == 0


def test_a_reboot_in_the_middle_still_goes_back(pair: Lab, tmp_path: Path) -> None:
    """On a Mac the revert is a LaunchDaemon: it runs again at boot."""
    risky(pair, tmp_path, "link", "down", "6", "mini1")
    pair.reboot("mini1")
    end = time.monotonic() + 20
    while pair.exec("mini1", "test", "-e", f"{GUARD}/reverted").returncode:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert (
        pair.exec("mini1", "test", "-e", "/Library/LaunchDaemons/io.maccluster.revert.plist").returncode == 1
    )


def test_a_controller_that_dies_confirms_nothing(pair: Lab, tmp_path: Path) -> None:
    """The node goes back and gives itself free; until then nobody else may change it."""
    tmp_path.chmod(0o755)
    pair.profile(tmp_path / "p.toml")
    words = (sys.executable, "-m", "tests.flows.risky", str(tmp_path / "p.toml"), "mtu", "9000", "4", "mini1")
    running = pair.popen("ctl", *words, cwd=str(Path(__file__).parents[2]), stdout=-1, stderr=-1)
    state = Path(f"/proc/{pair.hosts['mini1'].pid}/root/sys/class/net/en0/mtu")
    while state.read_text() != "9000\n":
        assert running.poll() is None
    running.kill()
    running.communicate()
    end = time.monotonic() + 15
    while True:
        locked = pair.exec("mini1", "test", "-L", "/tmp/maccluster.lock").returncode == 0
        if mtu(pair, "mini1") == "1500":
            break
        assert locked, "looked at first, so it was held while the change still stood"
        assert time.monotonic() < end
        time.sleep(0.2)
    while pair.exec("mini1", "test", "-L", "/tmp/maccluster.lock").returncode == 0:
        assert time.monotonic() < end
