"""The lab itself: hosts, cables, faults, and that nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab import cleanup
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault
from tests.lab.hardware import MODELS, parse
from tests.lab.paths import ROOT, Paths
from tests.lab.topology import Request, edges, lay_out

BROWSE = """
import time
from zeroconf import ServiceBrowser, ServiceListener, Zeroconf
class Seen(ServiceListener):
    def add_service(self, zc, kind, name): print(name, flush=True); found.append(name)
    def update_service(self, zc, kind, name): pass
    def remove_service(self, zc, kind, name): pass
found = []
zc = Zeroconf(interfaces=["10.77.255.254"])
ServiceBrowser(zc, "_ssh._tcp.local.", Seen())
end = time.monotonic() + 20
while not found and time.monotonic() < end: time.sleep(0.02)
zc.close()
"""


def status(lab: Lab, host: str, interface: str) -> str:
    return lab.exec(host, "ifconfig", interface).stdout.rpartition("status: ")[2].strip()


def peers(lab: Lab, host: str) -> int:
    out = lab.exec(host, "system_profiler", "SPThunderboltDataType", "-json").stdout
    return out.count('"services_title"')


def test_every_host_answers_ssh_as_its_user(lab: Lab) -> None:
    for name in lab.hosts:
        answer = lab.ssh(name, "id -un; id -u; hostname; echo $0; pwd").stdout.split()
        assert answer == ["mac", "501", name, "zsh", "/Users/mac"]


def test_a_command_by_ssh_sees_the_bare_path_only(lab: Lab) -> None:
    assert lab.ssh("mini1", "echo $PATH").stdout.strip() == "/usr/bin:/bin:/usr/sbin:/sbin"


def test_a_mac_has_none_of_the_tools_of_linux(lab: Lab) -> None:
    assert lab.ssh("mini1", "command -v ip ss nproc lscpu getent").stdout == ""


def test_the_callers_python_runs_on_a_host(lab: Lab) -> None:
    ran = lab.ssh("mini1", f"{sys.executable} -c 'import mlx.core, os; print(os.getuid())'")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("501\n", "", 0)


def test_the_command_line_runs_on_the_controller_with_a_home_of_its_own(lab: Lab) -> None:
    ran = lab.exec("ctl", sys.executable, "-c", "import os; print(os.path.expanduser('~'), os.getcwd())")
    assert ran.stdout.split() == [str(lab.paths.home), str(Path.cwd())]


def test_hosts_reach_each_other_over_cable_and_lan(lab: Lab) -> None:
    far = lab.cable("mini1", "mini2").facing("mini1")[1].address
    for address in ("mini2", far):
        assert lab.ssh("mini1", f"ping -c1 -W2 {address}").returncode == 0


def test_no_packet_has_a_way_out(lab: Lab) -> None:
    assert lab.exec("ctl", "ping", "-c1", "-W1", "192.0.2.1").returncode != 0
    assert lab.exec("mini1", "ping", "-c1", "-W1", "192.0.2.1").returncode != 0


def test_a_pulled_cable_is_dark_on_both_sides_until_it_is_plugged_in_again(lab: Lab, fault: Fault) -> None:
    assert (peers(lab, "mini1"), peers(lab, "mini2")) == (3, 3)
    fault.cut("mini1", "mini2")
    assert (status(lab, "mini1", "en2"), status(lab, "mini2", "en2")) == ("inactive", "inactive")
    assert "<UP," in lab.exec("mini1", "ifconfig", "en2").stdout
    assert (peers(lab, "mini1"), peers(lab, "mini2"), peers(lab, "mini3")) == (2, 2, 3)
    lab.heal("mini1", "mini2")
    assert (status(lab, "mini1", "en2"), status(lab, "mini2", "en2")) == ("active", "active")
    assert (peers(lab, "mini1"), peers(lab, "mini2")) == (3, 3)


@pytest.mark.parametrize("how", ["drop", "reset"])
def test_a_cable_can_fail_with_its_carrier_up(lab: Lab, fault: Fault, how: str) -> None:
    fault.cut("mini1", "mini2", how)
    assert status(lab, "mini1", "en2") == "active"
    address = lab.cable("mini1", "mini2").b.address
    probe = f"import socket; socket.create_connection(('{address}', 22), 1)"
    ran = lab.exec("mini1", sys.executable, "-c", probe)
    assert ("timed out" if how == "drop" else "refused") in ran.stderr
    lab.heal("mini1", "mini2")
    assert lab.exec("mini1", sys.executable, "-c", probe).returncode == 0


def test_a_host_without_power_is_gone_and_keeps_its_disk(lab: Lab, fault: Fault) -> None:
    lab.ssh("mini3", "echo kept > note", check=True)
    fault.kill("mini3", power=True)
    assert status(lab, "mini1", "en3") == "inactive"
    assert lab.exec("ctl", "ssh", "-o", "ConnectTimeout=1", "mini3", "true").returncode == 255
    lab.boot("mini3")
    assert lab.ssh("mini3", "cat note").stdout == "kept\n"
    assert status(lab, "mini1", "en3") == "active"


def test_a_reboot_forgets_what_a_mac_forgets(lab: Lab, fault: Fault) -> None:
    fault.set_state("mini3", "womp", 1)
    lab.ssh("mini3", "sudo ifconfig en2 mtu 9000; sudo sysctl iogpu.wired_limit_mb=5; sudo pmset -a womp 0")
    assert "mtu 9000" in lab.ssh("mini3", "ifconfig en2").stdout
    fault.kill("mini3")
    lab.boot("mini3")
    assert "mtu 1500" in lab.ssh("mini3", "ifconfig en2").stdout
    assert lab.ssh("mini3", "sysctl -n iogpu.wired_limit_mb").stdout == "0\n"
    assert lab.state("mini3", "womp") == "0"


def test_an_isolated_host_keeps_its_cables(lab: Lab, fault: Fault) -> None:
    fault.isolate("mini4")
    assert status(lab, "mini4", "en0") == "inactive"
    assert lab.exec("ctl", "ping", "-c1", "-W1", "mini4").returncode != 0
    far = lab.cable("mini1", "mini4").facing("mini1")[1].address
    assert lab.exec("mini1", "ping", "-c1", "-W2", far).returncode == 0


def test_loss_takes_all_packets_when_asked_to(lab: Lab, fault: Fault) -> None:
    far = lab.cable("mini1", "mini2").facing("mini1")[1].address
    fault.loss("mini1", "en2", 1)
    assert lab.exec("mini1", "ping", "-c1", "-W1", far).returncode != 0


def test_counters_count_what_went_over_a_cable(lab: Lab, fault: Fault) -> None:
    fault.shape("mini1", "en2", "1gbit")
    received, sent = lab.counters("mini1", "en2")
    lab.exec("mini1", "ping", "-c1", "-s", "1000", lab.cable("mini1", "mini2").b.address, check=True)
    after = lab.counters("mini1", "en2")
    assert after[0] - received >= 1000
    assert after[1] - sent >= 1000


def test_the_profile_names_nodes_and_cables(lab: Lab, tmp_path: Path) -> None:
    text = lab.profile(tmp_path / "lab.toml", nodes=("mini1", "mini2"))
    assert (tmp_path / "lab.toml").read_text() == text
    profile = tomllib.loads(text)
    assert list(profile["nodes"]) == ["mini1", "mini2"]
    assert profile["cables"] == [
        {"ends": ["mini1", "mini2"], "addresses": ["10.78.0.1", "10.78.0.2"], "interfaces": ["en2", "en2"]}
    ]
    assert "cables" not in tomllib.loads(lab.profile(cables=False))


def test_a_service_is_found_by_bonjour(lab: Lab) -> None:
    lab.advertise("mini2")
    ran = lab.exec("ctl", sys.executable, "-c", BROWSE)
    assert "mini2._ssh._tcp.local." in ran.stdout.splitlines(), ran.stderr


def test_two_labs_live_side_by_side(lab: Lab, lab_factory: Callable[..., Lab]) -> None:
    other = lab_factory(2, "pair", names=("left", "right"), bridge0=True)
    assert other.ssh("left", "hostname").stdout == "left\n"
    assert other.ssh("left", f"ping -c1 -W5 {other.hosts['right'].bridge_ip}").returncode == 0
    assert lab.ssh("mini1", "hostname").stdout == "mini1\n"
    other.down()
    assert lab.ssh("mini1", "hostname").stdout == "mini1\n"


HALFWAY = (
    "ns/mini3",
    "layers/apple/usr",
    "hosts/mini2/upper/var",
    "ctl/hosts",
    "hosts/mini2/upper/run",
    "state.json",
)


@pytest.mark.lab
@pytest.mark.parametrize("moment", HALFWAY)
def test_down_clears_what_a_killed_up_has_left(lab: Lab, moment: str) -> None:
    paths = Paths(f"{cleanup.TEST_PREFIX}{os.getpid()}-killed")
    before = sorted(Path("/sys/class/net").iterdir())
    up = subprocess.Popen(
        (sys.executable, "-m", "tests.lab", "up", "6", "--links", "ring"),
        cwd=ROOT,
        env={**os.environ, "MACCLUSTER_LAB_PREFIX": paths.prefix},
        stdout=subprocess.DEVNULL,
    )
    while not (paths.state / moment).exists() and up.poll() is None:
        time.sleep(0.001)
    up.send_signal(signal.SIGKILL)
    up.wait()
    cleanup.down(paths)
    assert list(cleanup.processes(paths)) == []
    assert str(paths.state) not in Path("/proc/self/mountinfo").read_text()
    assert not paths.state.exists()
    assert sorted(Path("/sys/class/net").iterdir()) == before
    assert lab.ssh("mini1", "hostname").stdout == "mini1\n"


def test_down_ends_everything_a_host_has_started(lab_factory: Callable[..., Lab]) -> None:
    lab = lab_factory(1, "none")
    lab.ssh("mini1", "nohup sleep 1000 >/dev/null 2>&1 &", check=True)
    inode = lab.paths.namespace("mini1").stat().st_ino
    lab.down()
    left = [path for path in Path("/proc").glob("[0-9]*/ns/net") if _inode(path) == inode]
    assert left == []


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def test_a_mesh_needs_a_port_for_each_peer() -> None:
    with pytest.raises(ValueError, match="only 3 Thunderbolt ports"):
        lay_out(Request(5, "mesh"))
    assert len(lay_out(Request(7, "mesh", ("studio-m3ultra",)))[1]) == 21


@pytest.mark.parametrize(
    ("links", "cables"), [("none", 0), ("pair", 1), ("pairs", 3), ("chain", 5), ("ring", 6), ("mesh", 15)]
)
def test_shapes(links: str, cables: int) -> None:
    assert len(edges(6, links)) == cables


def test_a_spec_changes_a_model() -> None:
    host = parse("studio-m6:mem=64:macos=27.1:cpu=2S+3P+4E:gpu=9:nopasswd=none:rdma=off:hub:dock:build=26B1")
    assert (host.memory_gb, host.macos, host.build_name, host.gpu_cores) == (64, "27.1", "26B1", 9)
    assert (host.nopasswd, host.rdma, host.hub, host.dock) == ("none", False, True, True)
    assert host.levels == (("Super", 2), ("Performance", 3), ("Efficiency", 4))


@pytest.mark.parametrize(
    "spec", ["mini", "mini-m4:mem", "mini-m4:cpu=4X", "mini-m4:nopasswd=maybe", "mini-m4:hub=2"]
)
def test_a_wrong_spec_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match=r"no such model|not an option"):
        parse(spec)


def test_some_model_has_crossed_interfaces_and_some_a_missing_receptacle() -> None:
    numbers = {name: [device for _, device in model.ports] for name, model in MODELS.items()}
    assert numbers["mbp-m5max"] != sorted(numbers["mbp-m5max"])
    assert [receptacle for receptacle, _ in MODELS["studio-m6"].ports] == [1, 2, 4, 5]
