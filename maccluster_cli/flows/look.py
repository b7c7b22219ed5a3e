"""The look story: every fact of every node in one round trip each."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from maccluster_cli import linux, macos, pyenv
from maccluster_cli.errors import ClusterError
from maccluster_cli.transport.fleet import Fleet
from maccluster_cli.values import DARWIN, LINUX, Command, Fact, Facts, Node, Reply

log = logging.getLogger(__name__)
# What these print takes a Mac a quarter of a second and more; a status line does without.
_SLOW = frozenset({"system_profiler", "ibv_devices", "ibv_devinfo", "rdma_ctl"})
JOBS = Command(("sh", "-c", "ps -axo pid=,args= | grep '[m]accluster_cli.worker'"))


@dataclass(frozen=True, slots=True)
class View:
    """A node as it was seen: facts by name, or the error that stands in their place."""

    node: Node
    facts: Facts = field(default_factory=dict)
    error: ClusterError | None = None
    jobs: tuple[str, ...] = ()

    @property
    def identity(self) -> str | None:
        """The machine behind the name: a hash, since hardware UUIDs are nobody's business."""
        uuid = self.facts.get("id.uuid")
        return hashlib.sha256(str(uuid).encode()).hexdigest()[:12] if uuid else None


def look(
    fleet: Fleet, timeout_s: float, python: Callable[[Node], str | None], *, brief: bool = False
) -> list[View]:
    """All facts of all nodes; ``brief`` leaves out the slow ones and adds the jobs that run."""
    facts = [f for f in (*macos.FACTS, *linux.FACTS) if not (brief and f.command.argv[0] in _SLOW)]
    shared = [replace(c, timeout_s=timeout_s) for c in dict.fromkeys(f.command for f in facts)]

    def worker(node: Node) -> Command | None:
        interpreter = python(node)
        return replace(pyenv.worker_command(interpreter), timeout_s=timeout_s) if interpreter else None

    def commands(node: Node) -> Sequence[Command]:
        return [*([JOBS] if brief else []), *filter(None, [worker(node)]), *shared]

    return [
        View(outcome.node, error=outcome.error)
        if outcome.error
        else _view(outcome.node, outcome.value, facts, worker(outcome.node))
        for outcome in fleet.ask(commands)
    ]


def _view(node: Node, replies: Sequence[Reply | None], facts: Sequence[Fact], worker: Command | None) -> View:
    answers = {_key(reply.command): reply for reply in replies if reply is not None}
    for reply in answers.values():
        log.info("%s: %s -> %s %r", node.name, reply.command.argv, reply.code, reply.out[:2000])
    system = _system(facts, answers)
    mine = [f for f in facts if f.command.system == system]
    parts = {f.name: f.parse(answers[_key(f.command)]) if _key(f.command) in answers else None for f in mine}
    combined = (macos if system == DARWIN else linux).combine(parts)
    engine = pyenv.parse_worker(answers[_key(worker)]) if worker and _key(worker) in answers else {}
    return View(node, {"os.system": system, **combined, **engine}, jobs=_jobs(answers))


def _key(command: Command) -> tuple[tuple[str, ...], str]:
    return command.argv, command.system


def _system(facts: Sequence[Fact], answers: Mapping[Any, Reply]) -> str:
    mac = any(_key(f.command) in answers for f in facts if f.command.system == DARWIN)
    return DARWIN if mac else LINUX


def _jobs(answers: Mapping[Any, Reply]) -> tuple[str, ...]:
    """Run ids, read off the workers' command lines: …/RUN_ID/job.json."""
    reply = answers.get(_key(JOBS))
    lines = reply.text.splitlines() if reply else []
    return tuple(sorted({line.rsplit("/", 2)[-2] for line in lines if line.endswith("/job.json")}))
