"""maccluster doctor: what is wrong, on which node, and what to type."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.flows.conftest import data
from tests.lab.cluster import Lab


@pytest.fixture(scope="module")
def ward(lab_factory: Callable[..., Lab]) -> Iterator[Lab]:
    """A Mac with sudo for all, one with none, a Linux host."""
    with lab_factory(3, "none", specs=("mini-m4pro", "mini-m4pro:nopasswd=none", "linux")) as lab:
        yield lab


@pytest.fixture
def ask(ward: Lab, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    tmp_path.chmod(0o755)
    ward.profile(tmp_path / "p.toml")
    return lambda *argv, **options: ward.cli("doctor", "-p", str(tmp_path / "p.toml"), *argv, **options)


def test_a_node_without_sudo_is_a_failure_with_a_way_out(
    ask: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = ask()
    assert done.returncode == 1
    assert "FAIL sudo.password  mini2: sudo asks for a password there" in done.stdout
    assert "     next: maccluster doctor --nodes mini2 --sudoers" in done.stdout
    assert "WARN tune.drift  mini[1-2]: not as wanted: power.sleep" in done.stdout
    assert "     next: maccluster tune --nodes 'mini[1-2]'" in done.stdout


def test_findings_as_data(ask: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    findings = data(ask("--json"))["findings"]
    [sudo] = [finding for finding in findings if finding["id"] == "sudo.password"]
    assert (sudo["severity"], sudo["node"]) == ("fail", "mini2")
    plain = ask("--plain").stdout.splitlines()
    assert all(len(line.split("\t")) == 5 for line in plain)


@pytest.mark.parametrize("name", ["mini1", "mini3"])
def test_the_lines_are_what_visudo_takes(
    ask: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, name: str
) -> None:
    done = ask("-n", name, "--sudoers")
    assert done.returncode == 0
    file = tmp_path / "sudoers"
    file.write_text(done.stdout)
    file.chmod(0o440)
    subprocess.run(["/usr/sbin/visudo", "-cqf", str(file)], check=True)
    assert all(line.startswith(("#", "mac ALL=(root) NOPASSWD: /")) for line in done.stdout.splitlines())


def test_with_those_lines_tune_needs_nothing_more(
    ward: Lab, ask: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """The printed list is enough for all that is planned, and for the way back."""
    lines = ask("-n", "mini2", "--sudoers").stdout
    policy = "/etc/sudoers.d/mac"
    before = ward.exec("mini2", "cat", policy).stdout
    ward.exec("mini2", "sh", "-c", f"cat >{policy}; chmod 440 {policy}", input=lines, check=True)
    profile = str(ward.paths.home / "p.toml")
    ward.profile(Path(profile), nodes=["mini2"])
    done = ward.cli("tune", "-p", profile, "--yes")
    assert done.returncode == 0, done.stderr
    assert ward.cli("tune", "-p", profile, "--check").returncode == 0
    assert ward.cli("undo", "-p", profile, "--yes").returncode == 0
    ward.exec("mini2", "sh", "-c", f"cat >{policy}; chmod 440 {policy}", input=before, check=True)


def test_clocks_are_compared_with_each_other(
    ward: Lab, ask: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    ward.set_state("mini2", "sntp/offset", "+7.250000")
    done = ask()
    ward.set_state("mini2", "sntp/offset", "+0.010000")
    assert "WARN clock.spread  mini2: its clock is +7.2 s off the other nodes'" in done.stdout


def test_folk_advice_in_a_profile_is_a_finding(
    ask: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    file = tmp_path / "p.toml"
    wish = "[defaults.tune.power]\nthermallevel = 1\n[nodes.mini1]"
    file.write_text(file.read_text().replace("[nodes.mini1]", wish, 1))
    done = ask()
    assert "WARN folk." in done.stdout
    assert "tune.power.thermallevel: " in done.stdout
