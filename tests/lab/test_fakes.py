"""Each fake command answers as Apple's does: texts, exit statuses, channels, and refusals."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.lab.answers import processors
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault
from tests.lab.hardware import parse
from tests.lab.layers import FAKES

NETWORKSETUP_ERROR = "** Error: The parameters were not valid.\n"
PMSET_USAGE = "Usage: pmset <options>\nSee pmset(1) for details: 'man pmset'\n"
IBV_HEADER = "    device          \t   node GUID\n    ------          \t----------------\n"


@pytest.fixture(scope="module")
def zoo(lab_factory: Callable[..., Lab]) -> Lab:
    """One of many kinds, in a chain: old, Thunderbolt 4, two of Thunderbolt 5, invented, no Mac."""
    specs = (
        "mini-m1:macos=15.5",
        "mini-m4:nopasswd=none",
        "studio-m3ultra:macos=26.2:hub",
        "mbp-m5max:macos=27.0:dock",
        "studio-m6:rdma=off",
        "linux",
    )
    names = ("old", "four", "ultra", "laptop", "six", "penguin")
    return lab_factory(len(specs), "chain", specs=specs, names=names)


def say(lab: Lab, host: str, line: str) -> tuple[str, str, int]:
    ran = lab.ssh(host, line)
    return ran.stdout, ran.stderr, ran.returncode


def thunderbolt(lab: Lab, host: str) -> list[dict[str, Any]]:
    out = lab.ssh(host, "system_profiler SPThunderboltDataType -json").stdout
    buses: list[dict[str, Any]] = json.loads(out)["SPThunderboltDataType"]
    return buses


def below(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for child in item.get("_items", ()):
        yield child
        yield from below(child)


def macs(bus: dict[str, Any]) -> list[str]:
    return [item["domain_uuid_key"] for item in below(bus) if "domain_uuid_key" in item]


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_the_fakes_are_plain_posix_shell() -> None:
    scripts = sorted(path.name for path in FAKES.glob("*.sh"))
    ran = subprocess.run(
        ("shellcheck", "-s", "sh", *scripts), cwd=FAKES, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, len(scripts)) == ("", 16)


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
        "scutil --set ComputerName x",
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


def test_a_laptop_has_a_battery_and_no_high_wish_on_a_mini_m4(zoo: Lab) -> None:
    assert "Battery Power:\n" in zoo.ssh("laptop", "pmset -g custom").stdout
    assert "-InternalBattery-0" in zoo.ssh("laptop", "pmset -g batt").stdout
    assert "highpowermode" not in zoo.ssh("four", "pmset -g cap").stdout


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


def test_domain_uuids_are_reciprocal_in_a_mesh(lab: Lab) -> None:
    seen = {name: thunderbolt(lab, name) for name in lab.hosts}
    own = {bus["domain_uuid_key"]: name for name, buses in seen.items() for bus in buses}
    pairs = {
        (bus["domain_uuid_key"], peer) for bus in chain.from_iterable(seen.values()) for peer in macs(bus)
    }
    assert len(pairs) == 12
    assert {(b, a) for a, b in pairs} == pairs
    assert all(own[a] != own[b] for a, b in pairs)


def test_ports_of_a_mac(lab: Lab) -> None:
    buses = thunderbolt(lab, "mini1")
    assert [bus["receptacle_1_tag"]["receptacle_id_key"] for bus in buses] == ["3", "2", "1"]
    peer = buses[0]["_items"][0]
    assert (peer["_name"], peer["device_name_key"], peer["vendor_id_key"]) == (
        "Mac mini",
        "Mac16,11",
        "0x0A27",
    )
    assert [service["protocol_id_key"] for service in peer["services_title"]] == [1, 64087]
    assert buses[0]["receptacle_1_tag"]["current_speed_key"] == "80 Gb/s"


def test_an_empty_port_says_what_it_could_do(zoo: Lab) -> None:
    empty = next(bus for bus in thunderbolt(zoo, "ultra") if "_items" not in bus)["receptacle_1_tag"]
    assert empty["current_speed_key"] == "Up to 120 Gb/s"
    assert empty["receptacle_status_key"] == "receptacle_no_devices_connected"
    text = zoo.ssh("ultra", "system_profiler SPThunderboltDataType").stdout
    assert text.count("Status: No device connected") == 4
    assert text.count("Service Key: rdma") == 1


def test_a_hub_puts_the_peer_one_level_deeper(zoo: Lab) -> None:
    bus = next(bus for bus in thunderbolt(zoo, "ultra") if macs(bus))
    assert bus["receptacle_1_tag"]["link_status_key"] == "0x4"
    assert "domain_uuid_key" not in bus["_items"][0]
    assert "domain_uuid_key" in bus["_items"][0]["_items"][0]


def test_a_dock_has_no_domain_and_sits_on_a_crossed_interface(zoo: Lab) -> None:
    bus = thunderbolt(zoo, "laptop")[0]
    assert bus["receptacle_1_tag"]["receptacle_id_key"] == "3"
    assert (bus["_items"][0]["mode_key"], macs(bus)) == ("usb_four_v2", [])
    ports = zoo.ssh("laptop", "networksetup -listallhardwareports").stdout
    assert "Thunderbolt 2\nDevice: en6\n" in ports
    assert "Thunderbolt 3\nDevice: en2\n" in ports


def test_a_slower_end_sets_the_rate_and_a_peer_that_is_no_mac_is_not_seen(zoo: Lab) -> None:
    rates = {bus["receptacle_1_tag"]["current_speed_key"] for bus in thunderbolt(zoo, "four")}
    assert rates == {"40 Gb/s", "Up to 40 Gb/s"}
    assert sum(len(macs(bus)) for bus in thunderbolt(zoo, "six")) == 1


def test_rdma_needs_the_release_the_hardware_and_the_peer(zoo: Lab) -> None:
    assert zoo.ssh("old", "command -v rdma_ctl ibv_devices ibv_devinfo").stdout == ""
    assert say(zoo, "four", "rdma_ctl status") == ("enabled\n", "", 0)
    assert say(zoo, "four", "ibv_devices") == (IBV_HEADER, "", 0)
    assert "No IB devices found\n" in "".join(say(zoo, "four", "ibv_devinfo")[:2])
    assert say(zoo, "six", "rdma_ctl status; ibv_devices") == (f"disabled\n{IBV_HEADER}", "", 0)
    devices = zoo.ssh("laptop", "ibv_devices").stdout.splitlines()[2:]
    assert [line.split()[0] for line in devices] == ["rdma_en1", "rdma_en6", "rdma_en2"]
    states = zoo.ssh("laptop", "ibv_devinfo").stdout
    # One cable goes to a Mac with RDMA on, one to a Mac with RDMA off, one port holds a dock.
    assert (states.count("PORT_ACTIVE (4)"), states.count("PORT_DOWN (1)")) == (1, 2)
    assert "transport:\t\t\tThunderbolt (100)\n" in states


def test_a_peer_that_turns_rdma_off_stops_offering_it(lab: Lab, fault: Fault) -> None:
    fault.set_state("mini2", "rdma", "disabled")
    services = [len(bus["_items"][0]["services_title"]) for bus in thunderbolt(lab, "mini1")]
    assert services == [2, 2, 1]
    out = lab.ssh("mini1", "ibv_devinfo -v -d rdma_en2").stdout
    assert "PORT_DOWN (1)" in out
    assert "GID[  1]:\t\t::ffff:10.78.0.1\n" in out


@pytest.mark.parametrize(
    ("spec", "form"),
    [
        ("mini-m1:macos=15.5", "proc 8:4:4"),
        ("studio-m2ultra:macos=26.6", "proc 24:16:8:0"),
        ("mbp-m5max:macos=26.3", "proc 18:6:0:12"),
        ("mini-m4pro:cpu=8P+4E:macos=27.0", "proc 12:0:8:4"),
        ("studio-m6:macos=27.0", "proc 16:4:8:4"),
    ],
)
def test_number_of_processors_by_release(spec: str, form: str) -> None:
    assert processors(parse(spec)) == form


def test_hardware_and_displays(zoo: Lab) -> None:
    line = "system_profiler -json SPHardwareDataType SPDisplaysDataType"
    both = json.loads(zoo.ssh("six", line).stdout)
    assert both["SPHardwareDataType"][0]["number_processors"] == "proc 16:4:8:4"
    assert both["SPHardwareDataType"][0]["physical_memory"] == "192 GB"
    assert both["SPDisplaysDataType"][0]["sppci_cores"] == "48"
    text = zoo.ssh("six", "system_profiler SPHardwareDataType SPDisplaysDataType").stdout
    assert "      Total Number of Cores: 16 (4 super and 8 performance and 4 efficiency)\n" in text
    assert "      Metal Support: Metal 4\n" in text


def test_an_older_release_names_an_unknown_sysctl(zoo: Lab) -> None:
    assert say(zoo, "old", "sysctl -n no.such") == ("", "sysctl: unknown oid 'no.such'\n", 1)


def test_sudo_can_ask_for_a_password(zoo: Lab) -> None:
    assert say(zoo, "four", "sudo -n true") == ("", "sudo: a password is required\n", 1)


def test_a_linux_host_is_plain_linux_with_the_same_user(zoo: Lab) -> None:
    assert zoo.ssh("penguin", "uname -s; id -un; command -v ip").stdout.split() == [
        "Linux",
        "mac",
        "/usr/bin/ip",
    ]
    assert zoo.ssh("penguin", "command -v sw_vers pmset system_profiler").stdout == ""


def test_the_bridge_takes_only_the_mtu_of_its_members(lab_factory: Callable[..., Lab]) -> None:
    lab = lab_factory(2, "pair", bridge0=True, mtu=9000)
    out = lab.ssh("mini1", "ifconfig bridge0").stdout
    assert out.startswith("bridge0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 9000\n")
    assert "\tmember: en3 flags=3<LEARNING,DISCOVER>\n" in out
    assert out.endswith("\tmedia: <unknown type>\n\tstatus: active\n")
    refused = lab.ssh("mini1", "sudo ifconfig bridge0 mtu 1500")
    assert (refused.stderr, refused.returncode) == ("ifconfig: ioctl (set mtu): Invalid argument\n", 0)
    services = lab.ssh("mini1", "networksetup -listallnetworkservices").stdout
    assert services.splitlines()[1:] == ["Ethernet", "Thunderbolt Bridge", "Wi-Fi"]
    assert Path(f"/proc/{lab.hosts['mini1'].pid}").exists()
    lab.down()
