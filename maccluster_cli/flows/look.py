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
from maccluster_cli.values import DARWIN, LINUX, Command, Fact, Facts, Node, Reply, Subject

log = logging.getLogger(__name__)
# What these print takes a Mac a quarter of a second and more; a status line does without.
_SLOW = frozenset({"system_profiler", "ibv_devices", "ibv_devinfo", "rdma_ctl"})
JOBS = Command(("sh", "-c", "ps -axww -o pid=,args= | grep '[m]accluster_cli.worker'"))


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


MACHINES = (Subject(DARWIN, macos.FACTS, macos.combine), Subject(LINUX, linux.FACTS, linux.combine))
_QUICK = tuple(
    replace(subject, facts=tuple(fact for fact in subject.facts if fact.command.argv[0] not in _SLOW))
    for subject in MACHINES
)


def look(
    fleet: Fleet, timeout_s: float, python: Callable[[Node], str | None], *, brief: bool = False
) -> list[View]:
    """All facts of all nodes; ``brief`` leaves out the slow ones and adds the jobs that run."""
    subjects = _QUICK if brief else MACHINES

    def worker(node: Node) -> Command | None:
        interpreter = python(node)
        return replace(pyenv.worker_command(interpreter), timeout_s=timeout_s) if interpreter else None

    def commands(node: Node) -> Sequence[Command]:
        return [*([JOBS] if brief else []), *filter(None, [worker(node)]), *reads(subjects, timeout_s)]

    def view(node: Node, replies: Sequence[Reply | None]) -> View:
        engine = pyenv.parse_worker(own) if (own := answer(replies, worker(node))) else {}
        return View(node, {**facts_of(subjects, node, replies), **engine}, jobs=_jobs(answer(replies, JOBS)))

    return [
        View(outcome.node, error=outcome.error) if outcome.error else view(outcome.node, outcome.value)
        for outcome in fleet.ask(commands)
    ]


def reads(subjects: Sequence[Subject], timeout_s: float) -> list[Command]:
    """The commands behind all facts, each once, those of both systems: the node's script picks its own."""
    commands = dict.fromkeys(fact.command for subject in subjects for fact in subject.facts)
    return [replace(command, timeout_s=timeout_s) for command in commands]


def facts_of(subjects: Sequence[Subject], node: Node, replies: Sequence[Reply | None]) -> dict[str, Any]:
    """What the replies to ``reads`` say, in the words of the system that answered."""
    answers = {_key(reply.command): reply for reply in replies if reply is not None}
    for reply in answers.values():
        log.info("%s: %s -> %s %r", node.name, reply.command.argv, reply.code, reply.out[:2000])
    mac = any(reply.command.system == DARWIN for reply in answers.values())
    system = DARWIN if mac else LINUX
    found: dict[str, Any] = {"os.system": system}
    for subject in subjects:
        if subject.system == system:
            found |= subject.combine({f.name: _parsed(f, answers) for f in subject.facts})
    return found


def answer(replies: Sequence[Reply | None], command: Command | None) -> Reply | None:
    """The reply to one command, whatever its time-out was."""
    return next((r for r in replies if r and command and _key(r.command) == _key(command)), None)


def _parsed(fact: Fact, answers: Mapping[Any, Reply]) -> Any:
    reply = answers.get(_key(fact.command))
    return fact.parse(reply) if reply is not None else None


def _key(command: Command) -> tuple[tuple[str, ...], str]:
    return command.argv, command.system


def _jobs(reply: Reply | None) -> tuple[str, ...]:
    """Run ids, read off the workers' command lines: …/RUN_ID/job.json."""
    lines = reply.text.splitlines() if reply else []
    return tuple(sorted({line.rsplit("/", 2)[-2] for line in lines if line.endswith("/job.json")}))
