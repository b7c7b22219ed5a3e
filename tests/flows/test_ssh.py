"""SSH as OpenSSH users have it: known_hosts of every shape, keys, jump hosts, odd login shells."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.flows.conftest import Cli, data
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

ZSHENV = "/Users/mac/.zshenv"
HOSTNAME = ("run", "-n", "mini1", "--", "hostname")


@pytest.fixture
def known(lab: Lab) -> Iterator[Path]:
    """The controller's known_hosts, put back after the test."""
    file = lab.paths.home / ".ssh" / "known_hosts"
    text = file.read_bytes()
    yield file
    file.write_bytes(text)


@pytest.fixture
def ssh_config(lab: Lab) -> Iterator[Path]:
    file = lab.paths.home / ".ssh" / "config"
    text = file.read_text()
    yield file
    file.write_text(text)


def key_of(known: Path, name: str) -> str:
    line = next(line for line in known.read_text().splitlines() if line.startswith(f"{name},"))
    return line.split(" ", 1)[1]


def hashed(known: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)


def other_lines(known: Path) -> None:
    bad = b"@cert-authority *.example ssh-ed25519 AAAA\nmini1 ssh-ed25519 not~base64\n# Gr\xfc\xdfe\n\xff\n"
    known.write_bytes(bad + known.read_bytes())


def wildcard(known: Path) -> None:
    known.write_text(f"mini*,!mini9 {key_of(known, 'mini1')}\n")


def several(known: Path) -> None:
    known.write_text(f"mini1 {key_of(known, 'mini2')}\nmini1 {key_of(known, 'mini1')}\n")


def upper_case(known: Path) -> None:
    known.write_text(f"MINI1 {key_of(known, 'mini1')}\n")


@pytest.mark.parametrize("shape", [hashed, other_lines, wildcard, several, upper_case])
def test_known_hosts_of_every_shape(cli: Cli, known: Path, shape: Callable[[Path], None]) -> None:
    shape(known)
    done = cli(*HOSTNAME)
    assert (done.returncode, done.stdout) == (0, "mini1\n"), done.stderr


def test_a_revoked_key_is_never_taken(cli: Cli, known: Path) -> None:
    known.write_text(f"{known.read_text()}\n@revoked mini1 {key_of(known, 'mini1')}\n")
    done = cli(*HOSTNAME)
    assert done.returncode == 4
    assert "error: mini1: its host key was revoked" in done.stderr


def test_an_alias_is_what_counts(cli: Cli, known: Path, ssh_config: Path) -> None:
    known.write_text(f"the-mini {key_of(known, 'mini1')}\n")
    ssh_config.write_text(f"Host mini1\n  HostKeyAlias the-mini\n{ssh_config.read_text()}")
    assert cli(*HOSTNAME).stdout == "mini1\n"


def test_a_jump_host_is_verified_and_named(cli: Cli, known: Path, profile: Path) -> None:
    profile.write_text(profile.read_text().replace("[nodes.mini2]", '[nodes.mini2]\njump = "mini1"'))
    assert cli("run", "-n", "mini2", "--", "hostname").stdout == "mini2\n"
    known.write_text(known.read_text().replace(key_of(known, "mini1"), key_of(known, "mini3"), 1))
    done = cli("run", "-n", "mini2", "--", "hostname")
    assert done.returncode == 4
    assert "error: mini2: mini1, the host on the way to it: its host key has changed" in done.stderr
    assert "ssh-keygen -R 'mini1'" in done.stderr


def test_a_jump_host_that_is_not_there_is_named(cli: Cli, profile: Path) -> None:
    profile.write_text(profile.read_text().replace("[nodes.mini2]", '[nodes.mini2]\njump = "nosuch"'))
    done = cli("run", "-n", "mini2", "--", "hostname")
    assert "error: mini2: nosuch, the host on the way to it: its name is not known" in done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [("garbage", "is not a private key"), (None, "cannot read the key"), ("locked", "your key is locked")],
)
def test_a_key_that_cannot_be_used(
    cli: Cli, ssh_config: Path, profile: Path, tmp_path: Path, content: str | None, said: str
) -> None:
    ssh_config.write_text(ssh_config.read_text().replace("  IdentityFile", "  # IdentityFile"))
    key = tmp_path / "key"
    if content == "locked":
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(key)], check=True)
    elif content:
        key.write_text(content)
    profile.write_text(profile.read_text().replace("[defaults]", f'[defaults]\nkey = "{key}"'))
    done = cli(*HOSTNAME, env={"SSH_AUTH_SOCK": ""})
    assert done.returncode == 4
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_agent_opens_what_is_locked(lab: Lab, profile: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(key)], check=True)
    allowed = "/Users/mac/.ssh/authorized_keys"
    before = lab.exec("mini1", "cat", allowed).stdout
    lab.exec("mini1", "tee", "-a", allowed, input=(tmp_path / "key.pub").read_text(), check=True)
    profile.write_text(profile.read_text().replace("[defaults]", f'[defaults]\nkey = "{key}"'))
    ask = tmp_path / "ask"
    ask.write_text("#!/bin/sh\necho secret\n")
    ask.chmod(0o755)
    add = f"SSH_ASKPASS={ask} SSH_ASKPASS_REQUIRE=force DISPLAY=x ssh-add -q {key}"
    ours = f"{sys.executable} -m maccluster_cli run -p {profile} -n mini1 -- hostname"
    line = f"eval $(ssh-agent) >/dev/null; {add}; {ours}; kill $SSH_AGENT_PID"
    done = lab.exec("ctl", "sh", "-c", line, cwd=str(Path(__file__).parents[2]))
    lab.exec("mini1", "tee", allowed, input=before, check=True)
    assert done.stdout == "mini1\n", done.stderr


@pytest.fixture
def talkative(lab: Lab) -> Iterator[Callable[[str], None]]:
    """What mini1's login shell does before anything else."""

    def say(line: str) -> None:
        lab.exec("mini1", "tee", ZSHENV, input=f"{line}\n", check=True)

    yield say
    lab.exec("mini1", "rm", "-f", ZSHENV, check=True)


def test_a_login_shell_that_talks_disturbs_nothing(cli: Cli, talkative: Callable[[str], None]) -> None:
    talkative("echo welcome; echo to mini1 >&2")
    facts = data(cli("discover", "--json", "-n", "mini1", "--bonjour", "0"))["nodes"][0]["facts"]
    assert facts["hw.model"] == "Mac16,11"
    done = cli("train", "tiny", "-n", "mini[1-2]", "--json", "-q")
    assert data(done)["status"] == "done", done.stderr


def test_a_login_shell_that_ends_is_told(cli: Cli, talkative: Callable[[str], None]) -> None:
    talkative("exit 3")
    done = cli("status", "-n", "mini1")
    assert done.returncode == 1
    assert "error: mini1: its login shell ended before our script began (exit code 3)" in done.stderr


def test_a_node_that_comes_back_is_seen_again(lab: Lab, fault: Fault, profile: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    argv = (
        "-m",
        "maccluster_cli",
        "status",
        "-p",
        str(profile),
        "-n",
        "mini2",
        "--plain",
        "--watch",
        "--every",
        "0.5",
    )
    with out.open("w") as stream:
        process = lab.popen("ctl", sys.executable, *argv, stdout=stream, stderr=subprocess.DEVNULL)
    try:
        for word in ("mini2\tup", "mini2\tunreachable", "mini2\tup"):
            _appears(out, word)
            if (
                word.endswith("up")
                and lab.hosts["mini2"].pid is not None
                and "unreachable" not in out.read_text()
            ):
                fault.kill("mini2", power=True)
            elif word.endswith("unreachable"):
                lab.boot("mini2")
                out.write_text("")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(10)


def _appears(file: Path, word: str) -> None:
    end = time.monotonic() + 40
    while word not in file.read_text(errors="replace"):
        assert time.monotonic() < end, f"{word!r} does not appear"
        time.sleep(0.1)


def test_a_script_may_close_its_own_output(cli: Cli) -> None:
    assert cli("run", "-n", "mini1", "--", "exec >/dev/null 2>&1; sleep 6; exit 3").returncode == 3


def test_a_large_script_travels_quickly(cli: Cli) -> None:
    began = time.monotonic()
    done = cli("run", "-n", "mini1", "-", input="#!/bin/sh\necho ok\nexit\n" + "x" * 8_000_000)
    assert done.stdout == "ok\n", done.stderr
    assert time.monotonic() - began < 30


def test_nobody_is_meant_by_an_empty_word(cli: Cli) -> None:
    for nodes in ("", " ", "mini1,!mini1"):
        done = cli("run", "-n", nodes, "--", "hostname")
        assert (done.returncode, done.stdout) == (2, ""), nodes
