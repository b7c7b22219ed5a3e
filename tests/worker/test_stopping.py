from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from maccluster_cli.worker.fault import PEER_LOST
from tests import golden
from tests.worker.conftest import ROOT, Launch, Rank, World, recipe

LONG = recipe(train_steps=100_000, eval_examples=0)


@pytest.fixture
def running(launch: Launch) -> World:
    world = launch(LONG, ranks=2)
    for rank in world.ranks:
        rank.until("step")
    return world


def inner(rank: Rank) -> int:
    return int(rank.one("start")["pid"])


def gone_within(rank: Rank, seconds: float) -> int:
    return rank.finish(timeout=seconds)


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_a_killed_peer_is_named(running: World) -> None:
    os.kill(inner(running.ranks[1]), signal.SIGKILL)
    assert gone_within(running.first, 5) == PEER_LOST
    error = running.first.one("error")
    assert error["kind"] == "peer_lost"
    assert "lost" in error["message"]


def test_a_loss_reaches_ranks_that_are_no_neighbours(launch: Launch) -> None:
    world = launch(LONG, ranks=4)
    for rank in world.ranks:
        rank.until("step")
    os.kill(inner(world.ranks[2]), signal.SIGKILL)
    assert [gone_within(world.ranks[rank], 5) for rank in (0, 1, 3)] == [69, 69, 69]


def test_a_killed_rank_is_explained_by_its_outer_process(running: World) -> None:
    os.kill(inner(running.ranks[1]), signal.SIGKILL)
    assert gone_within(running.ranks[1], 2) == 128 + signal.SIGKILL
    assert running.ranks[1].one("error")["kind"] == "crashed"
    assert "SIGKILL" in running.ranks[1].one("error")["message"]


def test_no_rank_outlives_its_outer_process(running: World) -> None:
    running.first.process.kill()
    deadline = time.monotonic() + 2
    while alive(inner(running.first)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(inner(running.first))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_rank_whose_peer_is_frozen(running: World, number: signal.Signals) -> None:
    frozen = inner(running.ranks[1])
    os.kill(frozen, signal.SIGSTOP)
    try:
        time.sleep(0.3)  # long enough for rank 0 to wait inside a collective
        running.first.process.send_signal(number)
        assert gone_within(running.first, 1) == 143
        assert not alive(inner(running.first))
    finally:
        os.kill(frozen, signal.SIGCONT)


def test_a_frozen_rank_can_be_ended(running: World) -> None:
    os.kill(inner(running.ranks[1]), signal.SIGSTOP)
    running.ranks[1].process.terminate()
    assert gone_within(running.ranks[1], 1.5) == 143
    assert not alive(inner(running.ranks[1]))


def test_a_lost_controller_leaves_no_orphan(running: World) -> None:
    for rank in running.ranks:
        assert rank.process.stdin
        rank.process.stdin.close()
    assert [gone_within(rank, 1) for rank in running.ranks] == [143, 143]
    assert not any(alive(inner(rank)) for rank in running.ranks)


@pytest.mark.parametrize("how", ["signal", "stdin"])
def test_a_rank_whose_peers_never_come_can_be_ended(launch: Launch, how: str) -> None:
    rank = launch(LONG, world_size=2, hosts=2).first
    time.sleep(0.5)  # it waits to be connected to; MLX holds Python's lock meanwhile
    assert rank.process.poll() is None
    assert rank.process.stdin
    if how == "signal":
        rank.process.terminate()
    else:
        rank.process.stdin.close()
    assert gone_within(rank, 1) == 143


def test_a_hostfile_of_another_size_is_refused(launch: Launch) -> None:
    world = launch(recipe(), ranks=2, world_size=4)
    assert world.finish() == [78, 78]
    assert [rank.one("error")["kind"] for rank in world.ranks] == ["world_size"] * 2
    told = world.first.one("error")
    golden.holds("errors/world-size.txt", f"error: {told['message']}\n next: {told['hint']}\n")


def test_a_missing_hostfile_is_refused(launch: Launch) -> None:
    world = launch(recipe(), ranks=1, world_size=2)
    assert world.finish() == [78]
    assert world.first.one("error")["kind"] == "world_size"


def test_a_bad_spec_is_refused(launch: Launch) -> None:
    world = launch(recipe(train_method="magic"))
    assert world.finish() == [78]
    assert world.first.one("error")["kind"] == "bad_spec"
    assert "train.method" in world.first.one("error")["message"]


def test_ranks_with_other_recipes_are_refused(launch: Launch) -> None:
    world = launch(recipe(), recipe(data_seed=2), ranks=2)
    assert world.finish() == [78, 78]
    assert [rank.one("error")["kind"] for rank in world.ranks] == ["ranks_differ"] * 2


def test_it_runs_from_a_zip(launch: Launch, tmp_path: Path) -> None:
    package = tmp_path / "worker.zip"
    with zipfile.ZipFile(package, "w") as archive:
        for path in [ROOT / "maccluster_cli/__init__.py", *(ROOT / "maccluster_cli/worker").glob("*.py")]:
            archive.write(path, path.relative_to(ROOT))
    world = launch(recipe(train_steps=1), ranks=2, python_path=package)
    assert world.finish() == [0, 0]
    probe = "import maccluster_cli.worker as w; print(w.__file__)"
    env = os.environ | {"PYTHONPATH": str(package)}
    found = subprocess.run(
        [sys.executable, "-c", probe], env=env, cwd=tmp_path, capture_output=True, check=True
    )
    assert str(package) in found.stdout.decode()


def test_without_a_spec_it_says_how(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "maccluster_cli.worker"]
    said = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (said.returncode, said.stdout) == (3, "")
    assert "usage" in said.stderr
