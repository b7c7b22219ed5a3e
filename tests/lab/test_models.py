"""What differs between machines and releases: ports, peers, RDMA, cores, bridges; and Linux hosts."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain

import pytest

from tests.lab.answers import processors
from tests.lab.asking import macs, say, thunderbolt
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault
from tests.lab.hardware import parse

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


def test_power_sources_and_modes_follow_the_model(zoo: Lab) -> None:
    assert "Battery Power:\n" in zoo.ssh("laptop", "pmset -g custom").stdout
    assert "-InternalBattery-0" in zoo.ssh("laptop", "pmset -g batt").stdout
    assert "highpowermode" not in zoo.ssh("four", "pmset -g cap").stdout


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
    assert zoo.ssh("penguin", "uname -s; id -un; pwd").stdout.split() == ["Linux", "mac", "/home/mac"]
    assert zoo.ssh("penguin", "command -v ip").returncode == 0
    assert zoo.ssh("penguin", "command -v sw_vers pmset system_profiler").stdout == ""


def test_the_bridge_takes_only_the_mtu_of_its_members(lab_factory: Callable[..., Lab]) -> None:
    lab = lab_factory(3, "ring", bridge0=True, mtu=9000)
    out = lab.ssh("mini1", "ifconfig bridge0").stdout
    assert out.startswith("bridge0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 9000\n")
    assert "\tmember: en3 flags=3<LEARNING,DISCOVER>\n" in out
    assert out.endswith("\tmedia: <unknown type>\n\tstatus: active\n")
    refused = lab.ssh("mini1", "sudo ifconfig bridge0 mtu 1500")
    assert (refused.stderr, refused.returncode) == ("ifconfig: ioctl (set mtu): Invalid argument\n", 0)
    services = lab.ssh("mini1", "networksetup -listallnetworkservices").stdout
    assert services.splitlines()[1:] == ["Ethernet", "Thunderbolt Bridge", "Wi-Fi"]
    lab.down()
