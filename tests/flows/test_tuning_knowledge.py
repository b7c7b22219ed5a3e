"""What `tune` knows, against hosts of the lab: read, write, read back, write back; then nothing differs.

The script is the one that a transport runs; it goes over the controller's own ssh. Two settings have
no host here: a Linux host of the lab has neither clocks to scale nor a running systemd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from maccluster_cli.linux import sudoers as linux_sudoers
from maccluster_cli.linux import tuning as linux
from maccluster_cli.macos import sudoers as mac_sudoers
from maccluster_cli.macos import tuning as macos
from maccluster_cli.plan import back, commands, plan
from maccluster_cli.transport import batch
from maccluster_cli.values import Command, Plan, Reply
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

HOSTS = {
    "mini": "mini-m4:mem=64",
    "pro": "mini-m4pro:ups",
    "book": "mbp-m5max",
    "old": "mini-m1:macos=14.6.1",
    "strict": "mini-m4:nopasswd=none",
    "mule": "mini-m4:stubborn=womp+iogpu.wired_limit_mb",
    "linux": "linux",
    "bare": "linux:nopasswd=none",
}
READS = tuple(dict.fromkeys(fact.command for room in (macos, linux) for fact in room.FACTS))
MARK = "_0123456789abcdef"
TUNED: Mapping[str, Any] = {
    "power.sleep": 0,
    "power.disksleep": 0,
    "power.displaysleep": 5,
    "power.standby": True,
    "power.womp": 0,
    "power.autorestart": 1,
    "power.powernap": 0,
    "power.tcpkeepalive": 0,
    "power.mode": "low",
    "memory.wired_limit": "auto",
    "names.consistent": True,
    "clock.network_time": False,
    "clock.step": 0.5,
    "files.limit": 1048576,
    "sleep.targets": True,
    "net.buffers": 123_456_789,
}
ROUND_TRIPS = ("mini", "pro", "book", "old", "linux")


@pytest.fixture(scope="module")
def shelf(lab_factory: Callable[..., Lab]) -> Lab:
    """Hosts that have all settings between them."""
    return lab_factory(len(HOSTS), "none", specs=tuple(HOSTS.values()), names=tuple(HOSTS))


@pytest.fixture
def breaking(shelf: Lab) -> Iterator[Fault]:
    with ExitStack() as repairs:
        yield Fault(shelf, repairs)


def room_of(lab: Lab, host: str) -> Any:
    return macos if lab.hosts[host].hardware.is_mac else linux


def ask(lab: Lab, host: str, wanted: Sequence[Command]) -> list[Reply | None]:
    """One script over one ssh, as a transport sends it, without the lifeline: nobody holds it here."""
    ran = lab.ssh(host, batch.shell(batch.script(wanted, MARK, tied=False)))
    return batch.replies(wanted, MARK, ran.stdout.encode(), ran.stderr.encode())


def read(lab: Lab, host: str) -> dict[str, Any]:
    replies = {reply.command: reply for reply in ask(lab, host, READS) if reply}
    room = room_of(lab, host)
    parts = {fact.name: fact.parse(replies[fact.command]) for fact in room.FACTS}
    return {**room.combine(parts), "node.name": host, "node.host": f"{host}.local"}


def proposed(lab: Lab, host: str, facts: Mapping[str, Any], wishes: Mapping[str, Any]) -> Plan:
    settings = [one for one in room_of(lab, host).SETTINGS if facts.get(one.name) is not None]
    want = {one.name: one.aim(facts, wishes[one.name]) for one in settings if one.name in wishes}
    return plan(settings, {host: facts}, {host: want})


def carry_out(lab: Lab, host: str, todo: Plan) -> list[Reply]:
    replies = ask(lab, host, commands(room_of(lab, host).SETTINGS, todo, host))
    return [reply for reply in replies if reply]


def wanted(todo: Plan) -> dict[str, Any]:
    return {change.setting: change.want for change in todo.changes}


@pytest.mark.parametrize("host", ROUND_TRIPS)
def test_there_and_back_again(shelf: Lab, breaking: Fault, host: str) -> None:
    breaking.change(host)
    before = shelf.snapshot(host)
    facts = read(shelf, host)
    todo = proposed(shelf, host, facts, TUNED)
    replies = carry_out(shelf, host, todo)
    assert [reply for reply in replies if reply.code != 0] == []
    after = read(shelf, host)
    assert {name: after[name] for name in wanted(todo)} == wanted(todo)
    assert not proposed(shelf, host, after, TUNED)
    assert shelf.snapshot(host) != before
    carry_out(shelf, host, back(todo))
    assert shelf.snapshot(host) == before
    assert read(shelf, host) == facts


def test_every_setting_is_served(shelf: Lab) -> None:
    served: dict[str, set[str]] = {"macos": set(), "linux": set()}
    for host in ROUND_TRIPS:
        facts = read(shelf, host)
        served["linux" if host == "linux" else "macos"] |= set(wanted(proposed(shelf, host, facts, TUNED)))
    assert {one.name for one in macos.SETTINGS} - served["macos"] == {"clock.step"}  # below, by itself
    assert {one.name for one in linux.SETTINGS} - served["linux"] == {"cpu.governor", "clock.network_time"}
    assert ("cpu.governor" in facts, facts["clock.network_time"]) == (False, None)


def test_to_read_changes_nothing(shelf: Lab) -> None:
    for host in HOSTS:
        before = shelf.snapshot(host)
        read(shelf, host)
        assert shelf.snapshot(host) == before


def test_stopped_anywhere_it_goes_on(shelf: Lab, breaking: Fault) -> None:
    breaking.change("mini")
    wish = {"memory.wired_limit": "auto", "files.limit": 300_000, "power.sleep": 0}
    steps = len(commands(macos.SETTINGS, proposed(shelf, "mini", read(shelf, "mini"), wish), "mini"))
    assert steps > 10
    for count in range(0, steps, 3):
        todo = proposed(shelf, "mini", read(shelf, "mini"), wish)
        ask(shelf, "mini", commands(macos.SETTINGS, todo, "mini")[:count])
        facts = read(shelf, "mini")
        assert facts["memory.wired_limit"] in {(0, None), (57344, None), (57344, 57344)}
        carry_out(shelf, "mini", proposed(shelf, "mini", facts, wish))
        assert not proposed(shelf, "mini", read(shelf, "mini"), wish)
        home = {"memory.wired_limit": (0, None), "files.limit": (491520, 245760, None), "power.sleep": 1}
        carry_out(shelf, "mini", plan(macos.SETTINGS, {"mini": read(shelf, "mini")}, {"mini": home}))


def test_what_was_set_is_set_again_at_boot(shelf: Lab, breaking: Fault) -> None:
    breaking.change("mini", "linux")
    for host in ("mini", "linux"):
        wish = {"memory.wired_limit": "auto", "files.limit": 1048576, "net.buffers": 123_456_789}
        todo = proposed(shelf, host, read(shelf, host), wish)
        carry_out(shelf, host, todo)
        shelf.reboot(host)
        looks = (read(shelf, host) for _ in range(50))
        assert any({name: facts[name] for name in wanted(todo)} == wanted(todo) for facts in looks)
        daemons = shelf.exec(host, "ls", "-l", "/Library/LaunchDaemons").stdout
        assert host == "linux" or daemons.count("-rw-r--r-- 1 root wheel") == 2


def test_a_clock_is_stepped(shelf: Lab, breaking: Fault) -> None:
    breaking.change("mini")
    breaking.set_state("mini", "sntp/offset", "+7.250000")
    facts = read(shelf, "mini")
    assert (facts["clock.step"], facts["clock.offset_s"]) == ("off by +7.2 s", 7.25)
    todo = proposed(shelf, "mini", facts, {"clock.step": 0.5})
    carry_out(shelf, "mini", todo)
    assert read(shelf, "mini")["clock.step"] == "in time"
    assert commands(macos.SETTINGS, back(todo), "mini") == ()


def test_high_power_where_it_is(shelf: Lab, breaking: Fault) -> None:
    breaking.change("pro")
    todo = proposed(shelf, "pro", read(shelf, "pro"), {"power.mode": "high"})
    carry_out(shelf, "pro", todo)
    assert read(shelf, "pro")["power.mode"] == "powermode 2"


def test_a_notebook_on_battery_is_left_alone(shelf: Lab, breaking: Fault) -> None:
    breaking.change("book")
    breaking.set_state("book", "power_source", "Battery Power")
    facts = read(shelf, "book")
    assert "power.autorestart" not in facts
    carry_out(shelf, "book", proposed(shelf, "book", facts, {"power.sleep": 0}))
    sections = shelf.ssh("book", "pmset -g custom").stdout.split("AC Power:")
    assert " sleep                1" in sections[0]
    assert " sleep                0" in sections[1]


def test_what_is_not_taken_is_noticed(shelf: Lab, breaking: Fault) -> None:
    breaking.change("mule", "mini")
    shelf.set_state("mini", "readonly", "iogpu.wired_limit_mb")
    wish = {"power.womp": 0, "power.sleep": 0, "memory.wired_limit": 8192}
    for host, left in (("mule", {"power.womp", "memory.wired_limit"}), ("mini", {"memory.wired_limit"})):
        carry_out(shelf, host, proposed(shelf, host, read(shelf, host), wish))
        assert set(wanted(proposed(shelf, host, read(shelf, host), wish))) == left


def test_without_sudo_it_reads_what_it_can_and_changes_nothing(shelf: Lab) -> None:
    before = shelf.snapshot("strict")
    facts = read(shelf, "strict")
    assert facts["sudo"] == "none"
    assert facts["clock.network_time"] is None
    assert [one.name for one in macos.SETTINGS if facts.get(one.name, 0) is None] == ["clock.network_time"]
    carry_out(shelf, "strict", proposed(shelf, "strict", facts, TUNED))
    assert shelf.snapshot("strict") == before


@pytest.mark.parametrize("host", ["strict", "bare"])
def test_the_sudoers_lines_are_enough(shelf: Lab, breaking: Fault, host: str) -> None:
    breaking.change(host)
    before = shelf.snapshot(host)
    lines = (mac_sudoers if host == "strict" else linux_sudoers).lines("mac")
    text = "\n".join((*lines, ""))
    install = "cat >/tmp/rules && install -m 440 /tmp/rules /etc/sudoers.d/zz-maccluster && visudo -c"
    shelf.exec(host, "sh", "-c", install, input=text, check=True)
    facts = read(shelf, host)
    assert facts["sudo"] == "list"
    todo = proposed(shelf, host, facts, TUNED)
    replies = carry_out(shelf, host, todo)
    assert [reply for reply in replies if reply.code != 0] == []
    after = read(shelf, host)
    assert {name: after[name] for name in wanted(todo)} == wanted(todo)
    carry_out(shelf, host, back(todo))
    assert shelf.ssh(host, "sudo -n true").returncode != 0
    assert shelf.ssh(host, "sudo -n install -m 644 /etc/hosts /etc/sudoers.d/x").returncode != 0
    shelf.exec(host, "rm", "/etc/sudoers.d/zz-maccluster", check=True)
    assert shelf.snapshot(host) == before


def test_reports_follow_the_host(shelf: Lab, breaking: Fault) -> None:
    for key, value in (("filevault", "on"), ("sip", "disabled"), ("firewall", "1"), ("stealth", "on")):
        breaking.set_state("mini", key, value)
    breaking.set_state("mini", "thermal", "2")
    breaking.set_state("mini", "sntp/failure", "Timeout")
    breaking.change("mini")
    shelf.write("mini", "power_log", "2040-01-01 00:00:00 +0000 Sleep               \tEntering Sleep state\n")
    shelf.ssh("mini", "sudo touch /Library/LaunchDaemons/io.exo.networksetup.plist", check=True)
    facts = read(shelf, "mini")
    assert [facts[f"posture.{name}"] for name in ("filevault", "firewall", "stealth")] == [True] * 3
    assert facts["posture.sip"] is False
    assert facts["thermal.notes"] == ("Thermal Warning Level = 2",)
    assert (facts["power.sleeps"], facts["power.last_sleep"]) == (1, "2040-01-01 00:00:00 +0000")
    assert [label for label, _ in facts["daemons.rivals"]] == ["io.exo.networksetup"]
    assert facts["clock.step"] is None
    assert len(macos.notes(facts)) == 6
