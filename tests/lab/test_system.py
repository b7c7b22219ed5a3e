"""Clock, names, kernel values, security posture and sudo of a Mac; what a Linux host lets root change."""

from __future__ import annotations

import re
import time

import pytest

from tests.lab.asking import say
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault
from tests.lab.layers import ALLOWED

NO_ADMIN = "You need administrator access to run this tool... exiting!\n"
NO_ACCESS = "setremotelogin: Turning Remote Login on or off requires Full Disk Access privileges.\n"
NOISE = "### Error:-99 File:InternetServices.m Line:395\n"
FIREWALL = "/usr/libexec/ApplicationFirewall/socketfilterfw"
BAD_NAME = "SCPreferencesSetLocalHostName() failed: Invalid argument\n"
REFUSED = "sudo: a password is required\n"


@pytest.mark.parametrize(
    ("host", "line", "out", "err", "code"),
    [
        ("mini", "sntp time.apple.com", "+0.004711 +/- 0.012345 time.apple.com 203.0.113.67\n", "", 0),
        ("mini", "systemsetup -getusingnetworktime", NO_ADMIN, "", 0),
        ("mini", "systemsetup -setusingnetworktime off", NO_ADMIN, "", 0),
        ("mini", "sudo systemsetup -getusingnetworktime", "Network Time: On\n", "", 0),
        ("mini", "sudo systemsetup -getnetworktimeserver", "Network Time Server: time.apple.com\n", "", 0),
        ("mini", "sudo systemsetup -getremotelogin", "Remote Login: On\n", "", 0),
        ("mini", "sudo systemsetup -getrestartpowerfailure", "Restart After Power Failure: Off\n", "", 0),
        ("mini", "sudo systemsetup -setremotelogin off", NO_ACCESS, "", 1),
        ("old", "sudo systemsetup -setremotelogin off", "", "", 0),
        ("mini", "fdesetup status", "FileVault is Off.\n", "", 0),
        ("book", "fdesetup status", "FileVault is On.\n", "", 0),
        ("mini", "csrutil status", "System Integrity Protection status: enabled.\n", "", 0),
        ("mini", "spctl --status", "assessments enabled\n", "", 0),
        ("mini", f"{FIREWALL} --getglobalstate", "Firewall is disabled. (State = 0)\n", "", 0),
        ("mini", f"{FIREWALL} --getstealthmode", "Firewall stealth mode is off\n", "", 0),
        ("mini", f"{FIREWALL} --listapps", "Total number of apps = 0\n", "", 0),
        ("mini", "nvram rdma-enable", "rdma-enable\t1\n", "", 0),
        ("mini", "scutil --set ComputerName x", "", "Permission denied.\n", 1),
        ("mini", "sudo scutil --set LocalHostName 'a b'", "", BAD_NAME, 1),
        ("mini", "sudo sysctl hw.memsize=1", "", "sysctl: oid 'hw.memsize' is read only\n", 1),
        ("mini", "sudo sysctl iogpu.wired_limit_mb=all", "", "sysctl: invalid integer 'all'\n", 1),
        ("mini", "stat -f '%Lp %Su:%Sg' /Library/LaunchDaemons", "755 root:wheel\n", "", 0),
        ("mini", "command -v setsid timeout flock", "", "", 1),
    ],
)  # fmt: skip
def test_answers_that_change_nothing(shop: Lab, host: str, line: str, out: str, err: str, code: int) -> None:
    before = shop.snapshot(host)
    assert say(shop, host, line) == (out, err, code)
    assert shop.snapshot(host) == before


@pytest.mark.parametrize(
    "line",
    [
        "sntp",
        "sntp -x time.apple.com",
        "sntp -sS time.apple.com",
        "sudo systemsetup -getnothing",
        "sudo systemsetup -setusingnetworktime maybe",
        "fdesetup nope",
        "csrutil disable",
        "spctl --nope",
        f"{FIREWALL} --nope",
        f"{FIREWALL} --setglobalstate on",
        "nvram no-such",
        "sudo nvram rdma-enable=0",
        "plutil",
        "plutil -p x",
        "scutil --get Nothing",
        "sudo scutil --set Nothing x",
        "last nobody",
        "stat /etc/hosts",
        "stat -c %a /etc/hosts",
    ],
)
def test_what_is_not_known_never_succeeds(shop: Lab, line: str) -> None:
    assert shop.ssh("mini", line).returncode != 0


def test_a_step_puts_the_clock_right(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    shop.set_state("mini", "sntp/offset", "-7.300000")
    shop.set_state("mini", "sntp/noise", "sntp: some notice")
    out = shop.ssh("mini", "sntp time.apple.com").stdout
    assert out.startswith("sntp: some notice\n-7.300000 +/- ")
    began = int(time.time())
    assert "-7.300000 +/- " in shop.ssh("mini", "sudo sntp -sS time.apple.com", check=True).stdout
    assert shop.ssh("mini", "sntp time.apple.com").stdout.splitlines()[1].startswith("+0.000000 +/- ")
    assert int(shop.state("mini", "sntp/stepped")) >= began


def test_a_time_server_may_be_silent(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.set_state("mini", "sntp/failure", "Timeout")
    out, err, code = say(shop, "mini", "sntp time.apple.com")
    assert (out, "Timeout" in err, code != 0) == ("", True, True)


def test_an_old_release_puts_a_timestamp_first(shop: Lab) -> None:
    line = shop.ssh("old", "sntp time.apple.com").stdout
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} \([+-]\d{4}\) \+0\.004711 \+/- ", line)
    assert line.endswith(" s1 no-leap\n")


def test_network_time_is_set_and_kept(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    off = "sudo systemsetup -setusingnetworktime off"
    assert say(shop, "mini", off) == ("setUsingNetworkTime: Off\n", NOISE, 0)
    server = "sudo systemsetup -setnetworktimeserver time.example.com"
    assert say(shop, "mini", server) == ("setNetworkTimeServer: time.example.com\n", "", 0)
    shop.reboot("mini")
    out = shop.ssh(
        "mini", "sudo systemsetup -getusingnetworktime; sudo systemsetup -getnetworktimeserver"
    ).stdout
    assert out == "Network Time: Off\nNetwork Time Server: time.example.com\n"


def test_restart_after_power_failure_is_the_setting_of_pmset(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    shop.ssh("mini", "sudo systemsetup -setrestartpowerfailure on", check=True)
    assert " autorestart          1\n" in shop.ssh("mini", "pmset -g").stdout
    assert "Not supported" in shop.ssh("book", "sudo systemsetup -getrestartpowerfailure").stdout


def test_with_full_disk_access_remote_login_asks_first(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    shop.set_state("mini", "full_disk_access", "yes")
    shop.ssh("mini", "echo no | sudo systemsetup -setremotelogin off", check=True)
    assert shop.state("mini", "remote_login") == "on"
    shop.ssh("mini", "sudo systemsetup -f -setremotelogin off", check=True)
    assert shop.state("mini", "remote_login") == "off"


def test_names_are_set_and_outlive_a_reboot(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    shop.ssh(
        "mini", "sudo scutil --set ComputerName 'Ada\u2019s Mini'; sudo scutil --set LocalHostName ada-mini"
    )
    assert say(shop, "mini", "hostname; sudo scutil --set HostName ada.example.com; hostname; sudo true") == (
        "mini\nada.example.com\n", "", 0
    )  # fmt: skip
    shop.reboot("mini")
    keys = "ComputerName LocalHostName HostName"
    out = shop.ssh("mini", f"for key in {keys}; do scutil --get $key; done; hostname; uname -n").stdout
    assert out.splitlines() == ["Ada\u2019s Mini", "ada-mini", *["ada.example.com"] * 3]
    assert shop.ssh("mini", "echo other | sudo scutil --set HostName && hostname").stdout == "other\n"
    shop.ssh("mini", "sudo scutil --set HostName ''", check=True)
    assert say(shop, "mini", "scutil --get HostName") == ("", "HostName: not set\n", 1)


def test_a_mac_can_rename_itself(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.set_state("mini", "names/LocalHostName", "mini-438")
    assert shop.ssh("mini", "scutil --get LocalHostName").stdout == "mini-438\n"


def test_kernel_values_are_written_with_their_old_ones(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini", "mule")
    lines = "sudo sysctl kern.maxfilesperproc=130000 net.inet.tcp.sendspace=262144 iogpu.wired_limit_mb=20000"
    assert shop.ssh("mini", lines).stdout.splitlines() == [
        "kern.maxfilesperproc: 122880 -> 130000",
        "net.inet.tcp.sendspace: 131072 -> 262144",
        "iogpu.wired_limit_mb: 0 -> 20000",
    ]
    shop.set_state("mini", "readonly", "iogpu.wired_limit_mb")
    refused = ("", "sysctl: oid 'iogpu.wired_limit_mb' is read only\n", 1)
    assert say(shop, "mini", "sudo sysctl iogpu.wired_limit_mb=30000") == refused
    assert shop.ssh("mule", "sudo sysctl iogpu.wired_limit_mb=5").stdout == "iogpu.wired_limit_mb: 0 -> 5\n"
    assert shop.ssh("mule", "sysctl -n iogpu.wired_limit_mb").stdout == "0\n"
    shop.reboot("mini")
    assert shop.ssh("mini", "sysctl -n net.inet.tcp.sendspace iogpu.wired_limit_mb").stdout == "131072\n0\n"


def test_posture_follows_its_states(shop: Lab, shop_fault: Fault) -> None:
    for key, value in (
        ("filevault", "on"),
        ("sip", "disabled"),
        ("gatekeeper", "disabled"),
        ("firewall", "1"),
    ):
        shop_fault.set_state("mini", key, value)
    shop_fault.set_state("mini", "firewall_apps", "/usr/local/bin/python3")
    shop_fault.set_state("mini", "rdma", "disabled")
    lines = ("fdesetup status", "csrutil status", f"{FIREWALL} --getglobalstate", f"{FIREWALL} --listapps")
    out = shop.ssh("mini", "; ".join(lines)).stdout
    assert (
        "FileVault is On.\nSystem Integrity Protection status: disabled.\nFirewall is enabled. (State = 1)\n"
        in out
    )
    assert "apps = 1\n\n1 : /usr/local/bin/python3\n" in out
    assert say(shop, "mini", "spctl --status") == ("assessments disabled\n", "", 1)
    missing = "nvram: Error getting variable - 'rdma-enable': (iokit/common) data was not found\n"
    assert say(shop, "mini", "nvram rdma-enable") == ("", missing, 1)


def test_a_boot_is_recorded(shop: Lab) -> None:
    before = shop.ssh("mini", "sysctl -n kern.boottime; last reboot").stdout.splitlines()
    shop.reboot("mini")
    after = shop.ssh("mini", "sysctl -n kern.boottime; last reboot; uptime").stdout.splitlines()
    assert re.match(r"\{ sec = \d+, usec = \d+ \} \w{3} ", after[0])
    assert after[0] != before[0]
    count = [sum(line.startswith("reboot") for line in lines) for lines in (before, after)]
    assert count[1] == count[0] + 1
    assert "up 0 mins, 1 user, load averages: " in after[-1]


def test_sudo_may_allow_only_a_list_of_commands(shop: Lab) -> None:
    for line in ("true", "mkdir /var/db/maccluster", "cat /etc/sudoers", "sh -c id"):
        assert say(shop, "mule", f"sudo -n {line}") == ("", REFUSED, 1)
    for line in ("pmset -g", "/bin/launchctl list", "launchctl list", "sysctl -n hw.ncpu", "ifconfig lo0"):
        assert shop.ssh("mule", f"sudo -n {line}").returncode == 0
    listed = shop.ssh("mule", "sudo -n -l").stdout
    assert all(command in listed for command in ALLOWED)


def test_a_sudoers_file_is_checked_by_the_real_tool(shop: Lab) -> None:
    assert shop.ssh("mini", "sudo visudo -c").returncode == 0
    assert shop.ssh(
        "mini", "echo 'mac ALL=(root NOPASSWD' >bad; visudo -c -f bad; e=$?; rm bad; exit $e"
    ).returncode


def test_the_network_settings_of_a_linux_host_are_its_own(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("linux")
    before = shop.snapshot("linux")
    lines = "sudo sysctl -q -w net.core.somaxconn=9000 && sudo sysctl -q -w net.ipv4.tcp_fin_timeout=31"
    shop.ssh("linux", lines, check=True)
    assert shop.ssh("mini", "cat /proc/sys/net/core/somaxconn").stdout != "9000\n"
    assert "net/core/somaxconn:9000\n" in shop.snapshot("linux")
    shop.reboot("linux")
    assert shop.snapshot("linux") == before
    shop.ssh("linux", "echo net.ipv4.tcp_fin_timeout=32 | sudo tee /etc/sysctl.d/90-lab.conf", check=True)
    shop.ssh("linux", "echo '* soft nofile 4096' | sudo tee /etc/security/limits.d/90-lab.conf", check=True)
    shop.reboot("linux")
    assert shop.ssh("linux", "cat /proc/sys/net/ipv4/tcp_fin_timeout").stdout == "32\n"
    assert "/etc/security/limits.d/90-lab.conf: 0644 0:0 b'* soft nofile 4096\\n'\n" in shop.snapshot("linux")


@pytest.mark.parametrize("key", ["vm/swappiness", "kernel/panic", "fs/file-max", "net/core/rmem_max"])
def test_no_host_can_change_the_machine(shop: Lab, key: str) -> None:
    value = shop.exec("linux", "cat", f"/proc/sys/{key}").stdout
    assert shop.exec("linux", "sh", "-c", f"echo 12345 >/proc/sys/{key}").returncode != 0
    assert shop.exec("linux", "cat", f"/proc/sys/{key}").stdout == value
