"""pmset: what is taken, what is refused and how, what stays."""

from __future__ import annotations

import time

import pytest

from tests.lab.answers import power_event
from tests.lab.asking import say
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

USAGE = "Usage: pmset <options>\nSee pmset(1) for details: 'man pmset'\n"
NOT_ROOT = "'pmset' must be run as root...\n"
LATE = (
    'Warning: Idle sleep timings for "AC Power" may not behave as expected.\n'
    "- Display sleep should have a lower timeout than system sleep.\n"
)


def custom(lab: Lab, host: str) -> dict[str, dict[str, str]]:
    """`pmset -g custom` by source and key."""
    found: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}
    for line in lab.ssh(host, "pmset -g custom").stdout.splitlines():
        if line.startswith(" "):
            key, _, value = line.strip().rpartition(" ")
            section[key.strip()] = value
        else:
            section = found.setdefault(line.rstrip(":"), {})
    return found


def test_a_quiet_set_is_taken_and_outlives_a_reboot(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    line = "sudo pmset -a sleep 0 disksleep 0 womp 0 autorestart 1 powernap 0 tcpkeepalive 0 ttyskeepawake 0"
    assert say(shop, "mini", line) == ("", "", 0)
    shop.reboot("mini")
    mini = custom(shop, "mini")["AC Power"]
    keys = ("sleep", "disksleep", "womp", "autorestart", "powernap", "tcpkeepalive", "ttyskeepawake")
    assert [mini[key] for key in keys] == ["0", "0", "0", "1", "0", "0", "0"]


@pytest.mark.parametrize(
    ("host", "line", "out", "err", "code"),
    [
        ("mini", "pmset -a sleep 0", NOT_ROOT, "", 1),
        ("mini", "pmset -a disablesleep 1", NOT_ROOT, "", 0),
        ("mini", "pmset -a disablesleep 1 sleep 0", NOT_ROOT, "", 1),
        ("mini", "pmset -a thermallevel 1", USAGE, "", 1),
        ("mini", "sudo pmset -a womp 0 thermallevel 1", USAGE, "", 1),
        ("mini", "sudo pmset -a womp", USAGE, "", 1),
        ("mini", "sudo pmset -a womp on", USAGE, "", 1),
        ("mini", "sudo pmset -x womp 1", USAGE, "", 1),
        ("mini", "sudo pmset -a powermode 2", f"HighPowerMode not supported on AC Power\n{USAGE}", "", 1),
        ("pro", "sudo pmset -a powermode 3", f"Unsupported mode 3\n{USAGE}", "", 1),
    ],
)
def test_a_refused_set_changes_nothing(
    shop: Lab, host: str, line: str, out: str, err: str, code: int
) -> None:
    before = shop.snapshot(host)
    assert say(shop, host, line) == (out, err, code)
    assert shop.snapshot(host) == before


def test_timers_that_do_not_fit_are_only_warned_of(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    assert say(shop, "mini", "sudo pmset -a displaysleep 0 sleep 10") == ("", LATE, 0)
    assert custom(shop, "mini")["AC Power"]["sleep"] == "10"
    assert "Disk sleep" in shop.ssh("mini", "sudo pmset -a disksleep 0").stderr


def test_sources_are_set_apart(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("book", "pro")
    shop.ssh("book", "sudo pmset -c sleep 0; sudo pmset -b sleep 7")
    assert {name: keys["sleep"] for name, keys in custom(shop, "book").items()} == {
        "Battery Power": "7",
        "AC Power": "0",
    }
    shop.ssh("pro", "sudo pmset -u sleep 3; sudo pmset -b sleep 9")
    assert {name: keys["sleep"] for name, keys in custom(shop, "pro").items()} == {
        "AC Power": "1",
        "UPS Power": "3",
    }
    assert "Example UPS" in shop.ssh("pro", "pmset -g batt").stdout


def test_the_source_in_use_heads_the_answers(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.set_state("book", "power_source", "Battery Power")
    out = shop.ssh("book", "pmset -g cap; pmset -g batt").stdout
    assert out.startswith("Capabilities for Battery Power:\n")
    assert "Now drawing from 'Battery Power'\n" in out
    assert " womp                 0\n" in shop.ssh("book", "pmset -g").stdout


def test_modes_of_power(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("pro", "mini")
    assert say(shop, "pro", "sudo pmset -c powermode 2 sleep 0") == ("", "", 0)
    assert custom(shop, "pro")["AC Power"]["powermode"] == "2"
    shop.ssh("mini", "sudo pmset -a powermode 1 sleep 0")
    mini = custom(shop, "mini")["AC Power"]
    assert (mini["lowpowermode"], "powermode" in mini) == ("1", False)


def test_a_key_that_the_machine_lacks_is_accepted_and_not_kept(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("book")
    assert say(shop, "book", "sudo pmset -a sleep 0 autorestart 1") == ("", "", 0)
    assert "autorestart" not in custom(shop, "book")["AC Power"]


def test_a_stubborn_key_is_accepted_and_not_taken(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mule", "mini")
    assert say(shop, "mule", "sudo pmset -a sleep 0 womp 0") == ("", "", 0)
    assert [custom(shop, "mule")["AC Power"][key] for key in ("sleep", "womp")] == ["0", "1"]
    shop.set_state("mini", "stubborn", "disablesleep")
    assert shop.ssh("mini", "sudo pmset -a disablesleep 1").returncode == 0
    assert "SleepDisabled" not in shop.ssh("mini", "pmset -g").stdout


def test_sleep_can_be_disabled_as_a_whole(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    shop.ssh("mini", "sudo pmset -a disablesleep 1")
    shop.reboot("mini")
    assert " SleepDisabled\t\t1\n" in shop.ssh("mini", "pmset -g").stdout


def test_the_log_of_sleep_is_what_a_test_writes(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    events = [("Sleep", "Entering Sleep state due to 'Idle Sleep'"), ("DarkWake", "DarkWake from Deep Idle")]
    shop.write("mini", "power_log", "".join(power_event(time.time(), *event) for event in events))
    lines = shop.ssh("mini", "pmset -g log").stdout.splitlines()
    assert [line.split()[3] for line in lines] == ["Sleep", "DarkWake"]
