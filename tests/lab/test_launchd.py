"""launchctl: limits, and daemons that really run, end and come back at boot."""

from __future__ import annotations

import plistlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.lab.asking import say
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

LIMITS = "\tmaxfiles    {:<14} {:<14} \n"
SIP = (
    "Could not set resource limits: 150: "
    "Operation not permitted while System Integrity Protection is engaged\n"
)
FOLDER = "/Library/LaunchDaemons"


def install(lab: Lab, host: str, label: str, script: str, **keys: Any) -> str:
    """Put a daemon on a host's disk as an administrator does; return its path."""
    job = {"Label": label, "ProgramArguments": ["/bin/sh", "-c", script], **keys}
    path = f"{FOLDER}/{label}.plist"
    line = f"cat >job.plist && sudo install -m 644 -o root -g wheel job.plist {path} && rm job.plist"
    lab.ssh(host, line, input=plistlib.dumps(job).decode(), check=True)
    return path


def load(lab: Lab, host: str, path: str) -> tuple[str, str, int]:
    return say(lab, host, f"sudo launchctl bootstrap system {path}")


def until(condition: Callable[[], object], limit: float = 15) -> bool:
    end = time.monotonic() + limit
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


def read(lab: Lab, host: str, path: str) -> str:
    return lab.exec(host, "cat", path).stdout


def caps(lab: Lab, host: str) -> list[str]:
    return lab.ssh(host, "sysctl -n kern.maxfiles kern.maxfilesperproc").stdout.split()


def test_limits_of_a_fresh_mac(shop: Lab) -> None:
    assert say(shop, "mini", "launchctl limit maxfiles") == (LIMITS.format(256, "unlimited"), "", 0)
    table = shop.ssh("mini", "launchctl limit").stdout
    assert [line.split()[0] for line in table.splitlines()][-2:] == ["maxproc", "maxfiles"]


def test_raised_limits_reach_the_kernel_and_end_with_it(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    assert say(shop, "mini", "sudo launchctl limit maxfiles 300000 500000") == ("", "", 0)
    assert shop.ssh("mini", "launchctl limit maxfiles").stdout == LIMITS.format(300000, 500000)
    assert caps(shop, "mini") == ["500000", "300000"]
    shop.reboot("mini")
    assert shop.ssh("mini", "launchctl limit maxfiles").stdout == LIMITS.format(256, "unlimited")
    assert caps(shop, "mini") == ["245760", "122880"]


@pytest.mark.parametrize("values", ["65536 200000", "65536", "200000 245759", "122879 unlimited"])
def test_integrity_protection_refuses_lower_limits(shop: Lab, values: str) -> None:
    assert say(shop, "mini", f"sudo launchctl limit maxfiles {values}") == ("", SIP, 150)
    assert caps(shop, "mini") == ["245760", "122880"]


def test_without_integrity_protection_they_do_their_harm(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    shop.set_state("mini", "sip", "disabled")
    assert say(shop, "mini", "sudo launchctl limit maxfiles 65536 200000") == ("", "", 0)
    assert caps(shop, "mini") == ["200000", "65536"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("launchctl limit maxfiles 300000 500000", 1),
        ("sudo launchctl limit maxfiles 500000 300000", 22),
        ("sudo launchctl limit maxfiles many 500000", 64),
        ("launchctl", 64),
        ("launchctl frobnicate", 64),
        ("launchctl bootstrap", 64),
        ("sudo launchctl bootout some.label", 64),
        ("launchctl bootout system/some.label", 1),
        ("launchctl disable system/some.label", 1),
        ("sudo launchctl bootout system/some.label", 3),
        ("sudo launchctl bootstrap system /Library/LaunchDaemons/none.plist", 2),
        ("sudo launchctl load /Library/LaunchDaemons/none.plist", 69),
        ("launchctl print system/some.label", 113),
        ("sudo launchctl list some.label", 113),
    ],
)
def test_refusals(shop: Lab, line: str, code: int) -> None:
    out, err, status = say(shop, "mini", line)
    assert (out, status, bool(err)) == ("", code, True)


def test_a_daemon_runs_as_root_and_is_known_until_it_is_put_out(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    path = install(
        shop, "mini", "lab.once", "id -u; echo $WORD; exit 3",
        RunAtLoad=True, StandardOutPath="/var/db/once", EnvironmentVariables={"WORD": "two words"},
    )  # fmt: skip
    assert load(shop, "mini", path) == ("", "", 0)
    assert until(
        lambda: "\tlast exit code = 3\n" in shop.ssh("mini", "launchctl print system/lab.once").stdout
    )
    assert read(shop, "mini", "/var/db/once") == "0\ntwo words\n"
    assert shop.ssh("mini", "sudo launchctl list").stdout == "PID\tStatus\tLabel\n-\t3\tlab.once\n"
    assert shop.ssh("mini", "launchctl list").stdout == "PID\tStatus\tLabel\n"
    assert load(shop, "mini", path) == ("", "Bootstrap failed: 5: Input/output error\n", 5)
    assert say(shop, "mini", f"sudo launchctl bootout system {path}") == ("", "", 0)
    out, err, code = say(shop, "mini", "launchctl print system/lab.once")
    assert (out, code) == ("", 113)
    assert 'Could not find service "lab.once" in domain for system\n' in err


def test_putting_a_job_out_ends_its_program(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    script = "trap 'echo told >>/var/db/long; exit 0' TERM; echo $$ >/var/db/long; sleep 1000 & wait"
    load(shop, "mini", install(shop, "mini", "lab.long", script, RunAtLoad=True))
    assert until(lambda: "\tstate = running\n" in shop.ssh("mini", "launchctl print system/lab.long").stdout)
    assert until(lambda: read(shop, "mini", "/var/db/long"))
    shop.ssh("mini", "sudo launchctl bootout system/lab.long", check=True)
    assert read(shop, "mini", "/var/db/long").endswith("told\n")
    assert "sleep 1000" not in shop.exec("mini", "ps", "ax").stdout


def test_what_a_job_leaves_behind_is_killed_with_it(shop: Lab, shop_fault: Fault) -> None:
    """A timed revert must be a job of its own: a child in the background of a job does not live on."""
    shop_fault.change("mini")
    load(shop, "mini", install(shop, "mini", "lab.leave", "sleep 1001 & sleep 0.2", RunAtLoad=True))
    keeps = install(
        shop, "mini", "lab.keep", "sleep 1002 & sleep 0.2", RunAtLoad=True, AbandonProcessGroup=True
    )
    load(shop, "mini", keeps)
    assert until(lambda: "last exit code = 0" in shop.ssh("mini", "launchctl print system/lab.keep").stdout)
    assert until(lambda: "sleep 1001" not in shop.exec("mini", "ps", "ax").stdout)
    assert "sleep 1002" in shop.exec("mini", "ps", "ax").stdout


def test_a_job_may_put_itself_out(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    script = f"rm {FOLDER}/lab.self.plist; /bin/launchctl bootout system/lab.self; echo no >/var/db/self"
    path = install(shop, "mini", "lab.self", script, StartInterval=1)
    assert load(shop, "mini", path) == ("", "", 0)
    assert until(lambda: shop.ssh("mini", "launchctl print system/lab.self").returncode == 113)
    assert not (shop.paths.upper("mini") / path[1:]).exists()
    time.sleep(1.2)
    assert read(shop, "mini", "/var/db/self") == ""


def test_an_interval_fires_again_and_again(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    load(shop, "mini", install(shop, "mini", "lab.tick", "echo tick >>/var/db/ticks", StartInterval=1))
    assert read(shop, "mini", "/var/db/ticks") == ""
    assert until(lambda: read(shop, "mini", "/var/db/ticks").count("tick") >= 2)
    assert "\trun interval = 1 seconds\n" in shop.ssh("mini", "launchctl print system/lab.tick").stdout


def test_a_job_can_be_started_by_hand(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    load(shop, "mini", install(shop, "mini", "lab.hand", "echo ran >/var/db/hand"))
    assert "(never exited)" in shop.ssh("mini", "launchctl print system/lab.hand").stdout
    shop.ssh("mini", "sudo launchctl kickstart system/lab.hand", check=True)
    assert until(lambda: read(shop, "mini", "/var/db/hand") == "ran\n")


def test_boot_runs_the_daemons_in_order_but_not_disabled_ones(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    for label in ("lab.b", "lab.a", "lab.off"):
        install(shop, "mini", label, f"echo {label} >>/var/db/booted", RunAtLoad=True)
    shop.ssh("mini", "sudo launchctl disable system/lab.off", check=True)
    shop.reboot("mini")
    assert until(lambda: len(read(shop, "mini", "/var/db/booted").split()) == 2)
    loaded = shop.ssh("mini", "sudo launchctl list").stdout.splitlines()[1:]
    assert [line.split()[2] for line in loaded] == ["lab.a", "lab.b"]
    assert '"lab.off" => disabled\n' in shop.ssh("mini", "launchctl print-disabled system").stdout
    assert load(shop, "mini", f"{FOLDER}/lab.off.plist")[2] == 119
    shop.ssh("mini", "sudo launchctl enable system/lab.off", check=True)
    assert load(shop, "mini", f"{FOLDER}/lab.off.plist")[2] == 0


def test_a_limit_persists_by_a_daemon(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    script = "/bin/launchctl limit maxfiles 300000 500000; /usr/sbin/sysctl iogpu.wired_limit_mb=9000"
    install(shop, "mini", "lab.limits", script, RunAtLoad=True)
    shop.reboot("mini")
    assert until(lambda: caps(shop, "mini") == ["500000", "300000"])
    assert until(lambda: shop.state("mini", "iogpu.wired_limit_mb") == "9000")


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        ("sudo chmod 664 {}", 122),
        ("sudo chown mac {}", 122),
        ("echo '<plist>' | sudo tee {}", 5),
        ("sudo rm {}", 2),
    ],
)
def test_a_file_that_launchd_does_not_trust(shop: Lab, shop_fault: Fault, spoil: str, code: int) -> None:
    shop_fault.change("mini")
    path = install(shop, "mini", "lab.bad", "true")
    shop.ssh("mini", spoil.format(path), check=True)
    out, err, status = load(shop, "mini", path)
    assert (out, status) == ("", code)
    assert f"Bootstrap failed: {code}: " in err
    assert shop.ssh("mini", "sudo launchctl list").stdout == "PID\tStatus\tLabel\n"


def test_without_root_nothing_is_loaded(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    path = install(shop, "mini", "lab.user", "true")
    err = "Bootstrap failed: 5: Input/output error\nTry re-running the command as root for richer errors.\n"
    assert say(shop, "mini", f"launchctl bootstrap system {path}") == ("", err, 5)


def test_plutil_tells_good_from_bad(shop: Lab, shop_fault: Fault) -> None:
    shop_fault.change("mini")
    path = install(shop, "mini", "lab.lint", "true")
    assert say(shop, "mini", f"plutil -lint {path}") == (f"{path}: OK\n", "", 0)
    out, _, code = say(shop, "mini", "echo nonsense > bad; plutil -lint bad none; e=$?; rm bad; exit $e")
    assert (out.splitlines()[0][:6], len(out.splitlines()), code) == ("bad: (", 2, 1)
