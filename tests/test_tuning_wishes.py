"""What a wish becomes on a node, and why one is refused."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from maccluster_cli.linux.tuning import governor
from maccluster_cli.linux.tuning.kernel import POLICIES
from maccluster_cli.macos.tuning import BASELINE, SETTINGS, clock, launchdaemon, memory
from maccluster_cli.values import Refusal
from tests.test_tuning_models import LinuxNode, Mac, Model, setting

ON, OFF = True, False


def aim(model: Model, name: str, wish: Any, **facts: Any) -> Any:
    return setting(type(model), name).aim({**model.read(), **facts}, wish)


def refusal(model: Model, name: str, wish: Any, **facts: Any) -> str:
    with pytest.raises(Refusal) as told:
        aim(model, name, wish, **facts)
    return str(told.value)


@pytest.mark.parametrize(
    ("gib", "limit_gib"), [(8, 0), (16, 0), (32, 0), (36, 0), (48, 40), (64, 56), (96, 86.4), (512, 460.8)]
)
def test_the_automatic_limit_leaves_macos_what_it_needs(gib: int, limit_gib: float) -> None:
    limit, at_boot = memory.automatic(gib << 10)
    assert limit == pytest.approx(limit_gib * 1024, abs=1)
    assert at_boot == (limit or None)
    assert limit == 0 or (gib << 10) - limit >= 8 << 10
    assert aim(Mac(memory_gib=gib), "memory.wired_limit", "auto") == (limit, at_boot)


@pytest.mark.parametrize(("gib", "most"), [(16, 12288), (64, 60294), (256, 241173)])
def test_a_limit_that_starves_macos_is_refused(gib: int, most: int) -> None:
    model = Mac(memory_gib=gib)
    assert aim(model, "memory.wired_limit", most) == (most, most)
    assert f"At most {most} here" in refusal(model, "memory.wired_limit", most + 1)


def test_the_default_is_no_limit_of_ours() -> None:
    assert aim(Mac(), "memory.wired_limit", "default") == (0, None) == aim(Mac(), "memory.wired_limit", 0)
    assert "could not be read" in refusal(Mac(), "memory.wired_limit", "auto", **{"hw.memory_bytes": None})
    assert '"auto", "default"' in refusal(Mac(), "memory.wired_limit", "most")


@pytest.mark.parametrize("wish", [65536, [65536, 200000], (200000, 300000), [245760, 400000], 245759])
def test_open_files_are_never_lowered(wish: Any) -> None:
    text = refusal(Mac(), "files.limit", wish)
    assert "245760 files a process and 491520 in all" in text
    assert "launchctl limit maxfiles 65536 200000" in text


def test_open_files_are_raised() -> None:
    assert aim(Mac(), "files.limit", 300000) == (600000, 300000, (600000, 300000))
    assert aim(Mac(), "files.limit", [300000, 500000]) == (500000, 300000, (500000, 300000))
    assert aim(Mac(), "files.limit", 245760)[:2] == (491520, 245760)
    assert "minutes" in refusal(Mac(), "files.limit", 2147483646)
    assert "files a process" in refusal(Mac(), "files.limit", "unlimited")


def test_high_power_only_where_it_is() -> None:
    assert aim(Mac(high=True), "power.mode", "high") == "powermode 2"
    assert aim(Mac(high=True), "power.mode", "auto") == "powermode 0"
    assert aim(Mac(), "power.mode", "low") == "lowpowermode 1"
    assert "no Mac Studio" in refusal(Mac(), "power.mode", "high")
    assert "auto, low, high" in refusal(Mac(), "power.mode", "turbo")


def test_sleep_and_switches() -> None:
    assert aim(Mac(), "power.sleep", 0) == 0
    assert aim(Mac(), "power.womp", ON) == 1
    assert "minutes" in refusal(Mac(), "power.sleep", -1)
    assert "minutes" in refusal(Mac(), "power.sleep", OFF)
    assert "neither true nor false" in refusal(Mac(), "power.womp", 2)


def test_a_name_by_which_a_node_is_reached_is_not_taken_from_it() -> None:
    assert aim(Mac(), "names.consistent", ON) == ("mini1",) * 3
    for host in ("10.0.0.1", "mini1.local", "MINI1.local.", "mini1.example.com"):
        assert aim(Mac(), "names.consistent", ON, **{"node.host": host}) == ("mini1",) * 3
    assert "a name it would lose" in refusal(Mac(), "names.consistent", ON, **{"node.host": "a-mac.local"})
    for name in ("rack_1", "a.b", "-x", None):
        assert "Bonjour" in refusal(Mac(), "names.consistent", ON, **{"node.name": name})
    assert aim(Mac(), "names.consistent", OFF) == Mac().read()["names.consistent"]
    assert setting(Mac, "names.consistent").risk == "network"


def test_the_clock() -> None:
    assert aim(Mac(offset=0.3), "clock.step", 0.5) == "off by +0.3 s" == Mac(offset=0.3).read()["clock.step"]
    assert aim(Mac(offset=-0.7), "clock.step", 0.5) == "in time"
    assert "0.1" in refusal(Mac(), "clock.step", 0.01)
    assert "not known" in refusal(Mac(), "clock.step", 0.5, **{"clock.offset_s": None})


def test_the_baseline_is_granted_everywhere_and_reached_in_one_go() -> None:
    for model in (Mac(), Mac(high=True), Mac(memory_gib=8), Mac(offset=9.0), LinuxNode()):
        facts = model.read()
        want = {name: aim(model, name, wish) for name, wish in model.room.BASELINE.items()}
        for one in model.room.SETTINGS:
            if one.name in want:
                model.run(*one.write(facts[one.name], want[one.name]))
        assert {name: model.read()[name] for name in want} == want


def test_what_loses_nodes_comes_first() -> None:
    names = [one.name for one in SETTINGS]
    assert names[0] == "power.sleep"
    assert names[-1] == "files.limit"
    assert names.index("memory.wired_limit") < names.index("clock.step")
    assert BASELINE["power.sleep"] == 0
    assert not {"files.limit", "names.consistent"} & set(BASELINE)


def test_a_daemon_says_nothing_but_its_values() -> None:
    lines = "\n".join(launchdaemon.text("io.maccluster.x", ["a.b=1"]))
    assert "<string>io.maccluster.x</string>" in lines
    assert "<string>/usr/sbin/sysctl</string>\n        <string>a.b=1</string>" in lines
    stage = launchdaemon.persist("io.maccluster.x", ["a.b=1"])[0]
    assert stage.vital
    assert not stage.sudo


def test_linux_limits() -> None:
    node = LinuxNode()
    assert aim(node, "files.limit", 65536) == (1000000, None, (65536, 524288))
    assert aim(node, "files.limit", 600000) == (1200000, 1200000, (600000, 600000))
    assert "log in" in refusal(node, "files.limit", 1048577)
    assert "nothing is lowered" in refusal(node, "files.limit", 1000)
    assert "could not be read" in refusal(node, "files.limit", 65536, **{"files.session": None})


def test_linux_buffers_governors_targets() -> None:
    node = LinuxNode()
    now, at_boot = aim(node, "net.buffers", 1 << 24)
    assert now == at_boot
    assert dict(now)["net.ipv4.tcp_rmem"] == "4096 131072 16777216"
    assert aim(node, "net.buffers", 1000) == node.read()["net.buffers"]
    assert "bytes" in refusal(node, "net.buffers", 1 << 31)
    assert aim(node, "cpu.governor", "performance") == ("performance", "performance")
    assert "ondemand, performance, schedutil" in refusal(node, "cpu.governor", "powersave")
    assert aim(node, "sleep.targets", "masked") == aim(node, "sleep.targets", ON)
    assert aim(node, "sleep.targets", OFF) == ()


def test_a_server_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "sntp").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "sntp").chmod(0o755)
    start = time.monotonic()
    ran = subprocess.run(
        clock.SNTP.argv,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert 3 < time.monotonic() - start < 20
    assert ran.returncode != 0
    assert ran.stdout == b""


@pytest.mark.skipif(shutil.which("systemd-tmpfiles") is None, reason="systemd is not installed")
@pytest.mark.parametrize("spoken", ["performance", "0=performance 4=schedutil"])
def test_the_real_tool_understands_our_file(tmp_path: Path, spoken: str) -> None:
    place = POLICIES.rpartition("/")[0]
    for number in "04":
        (tmp_path / f"policy{number}").mkdir()
        (tmp_path / f"policy{number}/scaling_governor").write_text("old")
    lines = governor.write(("old", None), (spoken, spoken))[0].argv[6:]
    file = tmp_path / "rules.conf"
    file.write_text("\n".join(lines).replace(place, str(tmp_path)) + "\n")
    subprocess.run(("systemd-tmpfiles", "--create", str(file)), capture_output=True, check=False)
    found = {number: (tmp_path / f"policy{number}/scaling_governor").read_text() for number in "04"}
    assert found == {"0": "performance", "4": "performance" if spoken == "performance" else "schedutil"}
