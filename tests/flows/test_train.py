"""maccluster train: real ranks on real hosts, and every way they can end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import golden
from tests.flows.conftest import Cli, data
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

RANK = "maccluster_cli.worker"
RECIPE = """\
schema = 1
name = "short"
[model]
hidden_size = 32
intermediate_size = 64
vocab_size = 259
[train]
steps = {steps}
batch_size = 4
sequence_length = 32
learning_rate = 3e-3
[eval]
examples = 4
"""


@pytest.fixture
def short(tmp_path: Path) -> Path:
    file = tmp_path / "short.toml"
    file.write_text(RECIPE.format(steps=6))
    return file


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    file = tmp_path / "endless.toml"
    file.write_text(RECIPE.format(steps=1_000_000))
    return file


@pytest.fixture
def started(lab: Lab, profile: Path, endless: Path, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start an endless job on mini1 and mini2 and come back when it has taken steps."""
    processes: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        argv = (
            "-m",
            "maccluster_cli",
            "train",
            str(endless),
            "-p",
            str(profile),
            "-n",
            "mini[1-2]",
            "--json",
        )
        with (tmp_path / "err").open("w") as err:
            process = lab.popen("ctl", sys.executable, *argv, stdout=subprocess.PIPE, stderr=err)
        processes.append(process)
        _until(lambda: "step 1/" in (tmp_path / "err").read_text() or process.poll() is not None)
        assert process.poll() is None, (tmp_path / "err").read_text()
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def _ranks(lab: Lab, name: str) -> list[str]:
    return lab.exec(name, "pgrep", "-f", RANK).stdout.split()


def _none_left(lab: Lab, *names: str) -> None:
    for name in names or tuple(lab.hosts):
        _until(lambda name=name: not _ranks(lab, name), 5)  # type: ignore[misc]


@pytest.mark.parametrize(("nodes", "world_size"), [("mini[1-2]", 2), ("mini[1-4]", 4)])
def test_trains_over_the_cables(lab: Lab, cli: Cli, short: Path, nodes: str, world_size: int) -> None:
    names = [f"mini{i + 1}" for i in range(world_size)]
    cables = [c for c in lab.cables if {c.a.host, c.b.host} <= set(names)]

    def carried() -> tuple[int, int]:
        ends = [(end.host, end.interface) for c in cables for end in (c.a, c.b)]
        return sum(lab.counters(*end)[1] for end in ends), sum(lab.counters(name, "en0")[1] for name in names)

    before = carried()
    result = data(cli("train", str(short), "-n", nodes, "--json"))
    thunderbolt, ethernet = (after - start for after, start in zip(carried(), before, strict=True))
    assert result["status"] == "done"
    assert (result["world_size"], result["steps"]) == (world_size, 6)
    assert sorted(result["nodes"]) == names
    assert result["final_loss"] < result["first_loss"]
    parameters_bytes = 4 * 20_000  # at least; sent by every rank in every step
    assert thunderbolt > 6 * world_size * parameters_bytes
    assert ethernet < thunderbolt / 4, "gradients must not travel over the management network"
    _none_left(lab)


def test_any_number_of_ranks_learns_the_same(cli: Cli, short: Path) -> None:
    losses = [
        data(cli("train", str(short), "-n", nodes, "--json"))["final_loss"]
        for nodes in ("mini1", "mini[1-4]")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_what_is_kept(lab: Lab, cli: Cli, short: Path) -> None:
    result = data(cli("train", str(short), "-n", "mini[1-2]", "--json", "--seed", "7"))
    manifest_file = Path(result["manifest"])
    manifest = json.loads(manifest_file.read_text())
    assert (manifest["status"], manifest["recipe"]["train"]["seed"]) == ("done", 7)
    assert [(rank["node"], rank["code"]) for rank in manifest["ranks"]] == [("mini1", 0), ("mini2", 0)]
    assert {seat["address"] for seat in manifest["seats"]} == {"10.78.0.1", "10.78.0.2"}
    assert manifest_file.stat().st_mode & 0o777 == 0o600
    assert (manifest_file.parent / "events.jsonl").read_text().count('"step"') >= 6
    model = lab.exec("mini1", "ls", "-l", result["model"]).stdout
    assert "model.safetensors" in model
    assert "config.json" in model


def test_a_killed_rank_ends_the_job(lab: Lab, started: Callable[..., Any], tmp_path: Path) -> None:
    process = started()
    lab.exec("mini2", "pkill", "-KILL", "-f", RANK)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 137
    assert json.loads(out)["status"] == "failed"
    text = (tmp_path / "err").read_text()
    assert "error: mini2: rank 1 was ended by signal 9" in text
    told = golden.plainly(text[text.index("error: ") :], home=lab.paths.home)
    golden.holds("errors/rank-killed.txt", told)
    _none_left(lab)


def test_ctrl_c_stops_every_rank(lab: Lab, started: Callable[..., Any]) -> None:
    process = started()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert process.returncode == 130
    assert json.loads(out)["status"] == "interrupted"
    _none_left(lab)


def test_ctrl_c_stops_a_rank_that_is_stuck(lab: Lab, started: Callable[..., Any]) -> None:
    process = started()
    lab.exec("mini2", "pkill", "-STOP", "-f", RANK)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    _none_left(lab)


def test_ranks_end_with_their_controller(lab: Lab, started: Callable[..., Any]) -> None:
    process = started()
    process.kill()
    process.wait()
    _none_left(lab)


def test_power_loss_is_noticed(lab: Lab, fault: Fault, started: Callable[..., Any], tmp_path: Path) -> None:
    process = started()
    fault.kill("mini2", power=True)
    began = time.monotonic()
    process.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert process.returncode == 4
    assert "error: mini2: rank 1: the connection was lost while it trained" in (tmp_path / "err").read_text()
    _none_left(lab, "mini1", "mini3", "mini4")


def test_status_shows_what_runs(cli: Cli, started: Callable[..., Any]) -> None:
    started()
    jobs = {n["node"]: n["jobs"] for n in data(cli("status", "--json"))["nodes"]}
    assert jobs["mini3"] == []
    assert len(jobs["mini1"]) == 1
    assert jobs["mini1"] == jobs["mini2"]
    assert "-short-" in jobs["mini1"][0]


def test_two_ranks_a_node_take_part_in_the_ring(lab: Lab, cli: Cli, short: Path, profile: Path) -> None:
    profile.write_text(profile.read_text().replace("[defaults]", "[defaults]\nranks = 2"))
    result = data(cli("train", str(short), "-n", "mini[1-2]", "--json"))
    assert result["status"] == "done"
    assert (result["world_size"], result["nodes"]) == (4, ["mini1", "mini1", "mini2", "mini2"])
    _none_left(lab)


def test_a_cable_that_leads_nowhere_is_named_at_once(cli: Cli, short: Path, fault: Fault) -> None:
    fault.cut("mini1", "mini2")
    began = time.monotonic()
    done = cli("train", str(short), "-n", "mini[1-2]")
    assert time.monotonic() - began < 25
    assert done.returncode == 1
    assert "cannot reach mini" in done.stderr
    assert "at 10.78.0." in done.stderr


def test_one_machine_under_two_names_is_told(cli: Cli, short: Path, profile: Path) -> None:
    profile.write_text(profile.read_text().replace('host = "mini2"', 'host = "mini1"'))
    done = cli("train", str(short), "-n", "mini[1-2]")
    assert done.returncode == 1
    assert "two nodes of the profile are one machine" in done.stderr


def test_a_full_disk_here_takes_no_result_away(lab: Lab, profile: Path, short: Path) -> None:
    """200 KiB hold the run's folder and not its events."""
    place = "/tmp/full-state"
    argv = f"{sys.executable} -m maccluster_cli train {short} -p {profile} -n mini1 --json"
    mount = f"mkdir -p {place} && mount -t tmpfs -o size=24k none {place}"
    line = f"{mount} && XDG_STATE_HOME={place} {argv}; code=$?; umount {place}; exit $code"
    done = lab.exec("ctl", "unshare", "-m", "sh", "-c", line, cwd=str(Path(__file__).parents[2]))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "done"
    assert "Traceback" not in done.stderr


def test_ranks_may_open_as_many_files_as_the_profile_says(
    lab: Lab, cli: Cli, profile: Path, started: Callable[..., Any], short: Path
) -> None:
    text = profile.read_text()
    profile.write_text(text + "\n[job]\nopen_files = 4321\n")
    started()
    pid = _ranks(lab, "mini1")[-1]
    assert "Max open files            4321 " in lab.exec("mini1", "cat", f"/proc/{pid}/limits").stdout
    profile.write_text(text + "\n[job]\nopen_files = 16777216\n")
    done = cli("train", str(short), "-n", "mini3")
    assert done.returncode == 71
    assert "error: mini3: rank 0 may not open as many files as job.open_files wants" in done.stderr
