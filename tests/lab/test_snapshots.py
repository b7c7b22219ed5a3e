"""Snapshots see every change and nothing else; a host can be put back; calls are written down when asked."""

from __future__ import annotations

import pytest

from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

READS = (
    "pmset -g; pmset -g custom; pmset -g log; sysctl hw.memsize kern.boottime; launchctl limit; ifconfig; "
    "sudo systemsetup -getremotelogin; scutil --get LocalHostName; sudo launchctl list; sntp time.apple.com; "
    "sudo cat /etc/sudoers; sudo touch /tmp/x; mkdir -p .cache; touch .zsh_history; last reboot; "
    "networksetup -listallhardwareports"
)
WRITES = (
    ("sudo pmset -a womp 0", "/var/db/lab/pmset/AC Power/womp"),
    ("sudo pmset -a disablesleep 1", "/var/db/lab/sleep_disabled"),
    ("sudo sysctl iogpu.wired_limit_mb=5", "/var/db/lab/sysctl/iogpu.wired_limit_mb"),
    ("sudo launchctl limit maxfiles 300000 500000", "/var/db/lab/limits/maxfiles"),
    ("sudo launchctl disable system/lab.x", "/var/db/lab/launchd/lab.x"),
    ("sudo scutil --set ComputerName x", "/var/db/lab/names/ComputerName"),
    ("sudo sntp -sS time.apple.com", "/var/db/lab/sntp/stepped"),
    ("sudo systemsetup -setusingnetworktime off", "/var/db/lab/network_time"),
    ("sudo touch /Library/LaunchDaemons/lab.x.plist", "/Library/LaunchDaemons/lab.x.plist"),
    ("sudo mkdir -m 700 /var/db/maccluster", "/var/db/maccluster"),
    ("sudo chmod 777 /Library/LaunchDaemons", "/Library/LaunchDaemons"),
    ("sudo chmod 600 /etc/hosts", "/etc/hosts"),
    ("sudo rm /etc/hosts", "/etc/hosts"),
    ("sudo ifconfig en0 mtu 1400", "interface en0"),
)


def names(text: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in text.splitlines())


def test_to_look_is_no_change(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    before = shop.snapshot("mini")
    shop.ssh("mini", READS, check=True)
    assert shop.snapshot("mini") == before
    shop.reboot("mini")
    assert shop.snapshot("mini") == before


@pytest.mark.parametrize(("line", "name"), WRITES)
def test_a_change_is_seen_and_undone(shop: Lab, shop_fault: Fault, line: str, name: str) -> None:
    shop_fault.change("mini")
    kept, before = shop.keep("mini"), shop.snapshot("mini")
    shop.ssh("mini", line, check=True)
    after = shop.snapshot("mini")
    assert names(after).get(name) != names(before).get(name)
    assert name not in shop.snapshot("mini", without=(name,))
    shop.exec("mini", "ifconfig", "en0", "mtu", "1500")
    shop.restore("mini", kept)
    assert shop.snapshot("mini") == before


def test_what_is_made_and_removed_again_leaves_no_trace(shop: Lab) -> None:
    before = shop.snapshot("mini")
    shop.ssh("mini", "echo x | sudo tee /etc/sysctl.d/x; sudo rm /etc/sysctl.d/x", check=True)
    shop.ssh("mini", "sudo cp -p /etc/hosts h; sudo mv h /etc/hosts", check=True)
    assert shop.snapshot("mini") == before


def test_a_host_that_is_off_has_a_snapshot_of_its_disk(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    before = shop.snapshot("mini", without=("interface",))
    shop.kill("mini")
    assert shop.snapshot("mini") == before


def test_calls_that_would_change_something_are_written_down(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    before = shop.snapshot("mini")
    shop.record("mini")
    shop.ssh("mini", READS, check=True)
    assert shop.calls("mini") == []
    shop.ssh(
        "mini",
        "pmset -a sleep 0; sudo sysctl hw.memsize=1; ifconfig en0 mtu 9; sudo networksetup -setMTU en0 9",
    )
    shop.ssh(
        "mini",
        "launchctl bootout system/x; sntp -sS here; systemsetup -setremotelogin on; scutil --set HostName x",
    )
    assert shop.calls("mini") == [
        "pmset -a sleep 0",
        "sysctl hw.memsize=1",
        "ifconfig en0 mtu 9",
        "networksetup -setMTU en0 9",
        "launchctl bootout system/x",
        "sntp -S here",
        "systemsetup -setremotelogin on",
        "scutil --set HostName x",
    ]
    assert shop.snapshot("mini") == before
