"""Each fake command answers as Apple's does: texts, exit statuses, channels, and refusals."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.lab.asking import say
from tests.lab.cluster import Lab
from tests.lab.fixtures import REQUIRE, Fault
from tests.lab.layers import FAKES

NETWORKSETUP_ERROR = "** Error: The parameters were not valid.\n"
PMSET_USAGE = "Usage: pmset <options>\nSee pmset(1) for details: 'man pmset'\n"


@pytest.mark.skipif(
    not shutil.which("shellcheck") and os.environ.get(REQUIRE) != "1", reason="shellcheck is not installed"
)
def test_the_fakes_are_plain_posix_shell() -> None:
    scripts = sorted(path.name for path in FAKES.glob("*.sh"))
    ran = subprocess.run(
        ("shellcheck", "-s", "sh", *scripts), cwd=FAKES, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, len(scripts)) == ("", 29)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("sw_vers", "ProductName:\t\tmacOS\nProductVersion:\t\t26.6.2\nBuildVersion:\t\t25G83\n"),
        ("sw_vers -productVersion", "26.6.2\n"),
        ("sw_vers --buildVersion", "25G83\n"),
        ("uname -s", "Darwin\n"),
        ("uname -sm", "Darwin arm64\n"),
        ("uname -r", "25.6.0\n"),
        ("sysctl -n hw.memsize hw.ncpu machdep.cpu.brand_string", f"{48 << 30}\n14\nApple M4 Pro\n"),
        ("sysctl hw.perflevel0.name hw.nperflevels", "hw.perflevel0.name: Performance\nhw.nperflevels: 2\n"),
        ("sysctl hw.memsize no.such", f"hw.memsize: {48 << 30}\n"),
        ("scutil --get LocalHostName", "mini1\n"),
        ("scutil --get ComputerName", "Lab\u2019s Mac mini 1\n"),
        ("ifconfig -l", "lo0 en0 en1 en2 en3 en4\n"),
        ("networksetup -getMTU en2", "Active MTU: 1500 (Current Setting: 1500)\n"),
        ("networksetup -getMTU 'Thunderbolt 1'", "Active MTU: 1500 (Current Setting: 1500)\n"),
        ("networksetup -listValidMTURange en2", "Valid MTU Range: 1280-65518\n"),
        ("pmset -g batt", "Now drawing from 'AC Power'\n"),
        ("rdma_ctl status", "enabled\n"),
        ("ipconfig getifaddr en2", "10.78.0.1\n"),
        ("sudo -n true", ""),
        ("caffeinate -i -s echo awake", "awake\n"),
    ],
)
def test_answers(lab: Lab, line: str, answer: str) -> None:
    assert say(lab, "mini1", line) == (answer, "", 0)


@pytest.mark.parametrize(
    ("line", "out", "err", "code"),
    [
        ("scutil --get HostName", "", "HostName: not set\n", 1),
        ("ifconfig thunderbolt0", "", "ifconfig: interface thunderbolt0 does not exist\n", 1),
        ("ifconfig thunderbolt0 mtu 9000", "", "ifconfig: interface thunderbolt0 does not exist\n", 1),
        ("ifconfig en2 mtu 9000", "", "ifconfig: ioctl (set mtu): Operation not permitted\n", 0),
        ("sudo ifconfig en2 mtu 1", "", "ifconfig: ioctl (set mtu): Invalid argument\n", 0),
        (
            "networksetup -getinfo Nope",
            f"Nope is not a recognized network service.\n{NETWORKSETUP_ERROR}",
            "",
            4,
        ),
        ("networksetup -listnetworkservices", NETWORKSETUP_ERROR, "", 4),
        ("networksetup -setMTU en2 9000", "** Error: Command requires admin privileges.\n", "", 14),
        ("pmset -a sleep 0", "'pmset' must be run as root...\n", "", 1),
        ("pmset -a disablesleep 1", "'pmset' must be run as root...\n", "", 0),
        ("sudo pmset -a thermallevel 1", PMSET_USAGE, "", 1),
        ("pmset -g nonsense", PMSET_USAGE, "", 1),
        ("ipconfig getifaddr en1", "", "", 1),
        ("sysctl iogpu.wired_limit_mb=1", "", "sysctl: iogpu.wired_limit_mb=1: Operation not permitted\n", 1),
        ("sudo sysctl hw.memsize=1", "", "sysctl: oid 'hw.memsize' is read only\n", 1),
    ],
)
def test_failures(lab: Lab, line: str, out: str, err: str, code: int) -> None:
    assert say(lab, "mini1", line) == (out, err, code)


@pytest.mark.parametrize(
    "line",
    [
        "sw_vers --nope",
        "uname -z",
        "sysctl",
        "sysctl -Z",
        "system_profiler SPNopeDataType",
        "networksetup",
        "sudo networksetup -setMTU en2 9000",
        "ifconfig --nope",
        "ifconfig en2 nope",
        "pmset",
        "rdma_ctl nope",
        "sudo rdma_ctl enable",
        "ibv_devices -x",
        "ibv_devinfo -x",
        "vm_stat -x",
        "memory_pressure",
        "route add default 10.0.0.1",
        "ipconfig set en2 DHCP",
        "caffeinate -z true",
    ],
)
def test_an_unknown_verb_never_succeeds(lab: Lab, line: str) -> None:
    assert lab.ssh("mini1", line).returncode != 0


def test_a_write_as_root_shows_the_old_value_and_stays(lab: Lab, fault: Fault) -> None:
    fault.set_state("mini1", "iogpu.wired_limit_mb", 7)
    assert lab.ssh("mini1", "sudo sysctl iogpu.wired_limit_mb=9").stdout == "iogpu.wired_limit_mb: 7 -> 9\n"
    assert lab.ssh("mini1", "sysctl -n iogpu.wired_limit_mb").stdout == "9\n"


def test_power_settings(lab: Lab, fault: Fault) -> None:
    fault.set_state("mini1", "womp", 1)
    fault.set_state("mini1", "sleep", 3)
    fault.set_state("mini1", "prevented", "powerd, caffeinate")
    fault.set_state("mini1", "sleep_disabled", 1)
    out = lab.ssh("mini1", "pmset -g").stdout
    assert out.startswith("System-wide power settings:\n SleepDisabled\t\t1\nCurrently in use:\n")
    assert " sleep                3 (sleep prevented by powerd, caffeinate)\n" in out
    assert " Sleep On Power Button 1\n" in out
    custom = lab.ssh("mini1", "sudo pmset -a sleep 0 womp 0 && pmset -g custom").stdout
    assert custom.startswith("AC Power:\n")
    assert " sleep                0\n" in custom
    assert " highpowermode\n" in lab.ssh("mini1", "pmset -g cap").stdout


def test_thermal_notes_turn_into_a_level(lab: Lab, fault: Fault) -> None:
    assert lab.ssh("mini1", "pmset -g therm").stdout.count("Note: No ") == 3
    fault.set_state("mini1", "thermal", 1)
    assert "Thermal Warning Level = 1\n" in lab.ssh("mini1", "pmset -g therm").stdout


def test_ifconfig_has_the_layout_of_a_mac(lab: Lab) -> None:
    lines = lab.ssh("mini1", "ifconfig en2").stdout.splitlines()
    assert lines[0] == "en2: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500"
    assert lines[1] == "\toptions=460<TSO4,TSO6,CHANNEL_IO>"
    assert lines[2].startswith("\tether 36:")
    assert lines[3] == "\tinet 10.78.0.1 netmask 0xfffffffc broadcast 10.78.0.3"
    assert lines[-1] == "\tstatus: active"


def test_networksetup_lists_real_interfaces(lab: Lab) -> None:
    out = lab.ssh("mini1", "networksetup -listallhardwareports").stdout
    ether = lab.ssh("mini1", "ifconfig en2").stdout.partition("ether ")[2].split()[0]
    assert f"\nHardware Port: Thunderbolt 1\nDevice: en2\nEthernet Address: {ether}\n" in out
    assert out.endswith("\nVLAN Configurations\n===================\n")
    order = lab.ssh("mini1", "networksetup -listnetworkserviceorder").stdout
    assert "(2) Thunderbolt 1\n(Hardware Port: Thunderbolt 1, Device: en2)\n\n" in order
    info = lab.ssh("mini1", "networksetup -getinfo 'Thunderbolt 1'").stdout.splitlines()
    mask = "Subnet mask: 255.255.255.252"
    assert info[:4] == ["Manual Configuration", "IP address: 10.78.0.1", mask, "Router: (null)"]


def test_a_disabled_service_is_starred(lab: Lab, fault: Fault) -> None:
    fault.set_state("mini1", "services", "on en0 Ethernet\noff en2 My Cable")
    out = lab.ssh("mini1", "networksetup -listallnetworkservices").stdout
    assert out.splitlines()[1:] == ["Ethernet", "*My Cable"]
    order = lab.ssh("mini1", "networksetup -listnetworkserviceorder").stdout
    assert "(*) My Cable\n(Hardware Port: Thunderbolt 1, Device: en2)\n" in order


def test_routes_are_the_real_ones(lab: Lab) -> None:
    direct = lab.ssh("mini1", "route -n get 10.78.0.2").stdout
    assert "  interface: en2\n" in direct
    assert "destination: default" not in direct
    assert "destination: default\n" in lab.ssh("mini1", "route -n get 10.99.0.1").stdout


def test_memory(lab: Lab) -> None:
    out = lab.ssh("mini1", "vm_stat; memory_pressure -Q").stdout
    assert out.startswith("Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free: ")
    assert "with a page size of 4096).\nSystem-wide memory free percentage: 87%\n" in out
