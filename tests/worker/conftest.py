"""Real ranks as real processes: a recipe small enough for a test, and a launcher of a few lines."""

from __future__ import annotations

import copy
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL: dict[str, Any] = {
    "name": "small",
    "model": {
        "source": "scratch",
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 4,
        "num_kv_heads": 2,
        "intermediate_size": 64,
        "vocab_size": 259,
        "max_position": 128,
    },
    "data": {"source": "sums", "seed": 1},
    "train": {
        "method": "full",
        "steps": 4,
        "batch_size": 4,
        "sequence_length": 32,
        "optimizer": "adamw",
        "learning_rate": 5e-3,
        "warmup_steps": 2,
        "weight_decay": 0.01,
        "clip_norm": 1.0,
        "seed": 3,
        "max_bad_steps": 3,
    },
    "lora": {"rank": 4, "scale": 4.0, "layers": -1, "targets": ["q_proj", "v_proj"]},
    "eval": {"examples": 8},
}


def recipe(**changes: Any) -> dict[str, Any]:
    """The small recipe with changes such as ``train_steps=2`` (part, then field)."""
    made = copy.deepcopy(SMALL)
    for name, value in changes.items():
        part, _, key = name.partition("_")
        made[part][key] = value
    return made


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all held at once so that no two are the same."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@dataclass
class Rank:
    """One started rank; ``events`` is filled by ``finish``."""

    process: subprocess.Popen[str]
    events: list[dict[str, Any]] = field(default_factory=list)
    errors: str = ""

    def until(self, event: str) -> dict[str, Any]:
        """Read events up to the first of a kind."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == event:
                return self.events[-1]
        raise AssertionError(f"no {event} event: {self.events} {self.process.communicate()[1]}")

    def finish(self, timeout: float = 60) -> int:
        """Wait for the end with stdin held open, as the launcher does."""
        self.process.wait(timeout)
        assert self.process.stdout
        assert self.process.stderr
        self.events += [json.loads(line) for line in self.process.stdout]
        self.errors = self.process.stderr.read()
        return self.process.returncode

    def end(self) -> None:
        """Leave nothing behind, whatever the test did with the pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def all(self, event: str) -> list[dict[str, Any]]:
        return [one for one in self.events if one["event"] == event]

    def one(self, event: str) -> dict[str, Any]:
        (found,) = self.all(event)
        return found


@dataclass
class World:
    """The ranks of one run and the folder where rank 0 saves."""

    ranks: list[Rank]
    out: Path

    def finish(self) -> list[int]:
        return [rank.finish() for rank in self.ranks]

    @property
    def first(self) -> Rank:
        return self.ranks[0]


Launch = Callable[..., World]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    started: list[Rank] = []

    def start(*raw: dict[str, Any], ranks: int = 1, **spec: Any) -> World:
        place = tmp_path / f"run{len(started)}"
        out = Path(spec.pop("out_dir", place / "out"))
        path = spec.pop("python_path", ROOT)
        (place / "out").mkdir(parents=True)
        hosts = [[f"127.0.0.1:{port}"] for port in free_ports(spec.pop("hosts", ranks))]
        (place / "hosts.json").write_text(json.dumps(hosts))
        head = {"schema": 1, "run_id": "r1", "world_size": ranks, "backend": "ring", "out_dir": str(out)}
        for rank in range(ranks):
            whole = head | {"recipe": raw[rank % len(raw)]} | spec
            (place / f"spec{rank}.json").write_text(json.dumps(whole))
        world = World([_start(place, rank, len(hosts), path) for rank in range(ranks)], out)
        started.extend(world.ranks)
        return world

    yield start
    for rank in started:
        rank.end()


def _start(place: Path, rank: int, ranks: int, path: Path) -> Rank:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MLX_")} | {"PYTHONPATH": str(path)}
    if ranks > 1:
        env |= {"MLX_RANK": str(rank), "MLX_HOSTFILE": str(place / "hosts.json")}
    argv = [sys.executable, "-u", "-m", "maccluster_cli.worker", str(place / f"spec{rank}.json")]
    pipe = subprocess.PIPE
    return Rank(subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env, cwd=place))
