"""Before a rank starts: its node has the files, the interpreter, the engine, the port and the disk."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maccluster_cli.engines import mlx
from maccluster_cli.errors import ClusterError
from maccluster_cli.nodeset import fold
from maccluster_cli.placement import Seat
from maccluster_cli.transport import batch, lay
from maccluster_cli.transport.base import Transport, deadline
from maccluster_cli.transport.fleet import Fleet, Outcome
from maccluster_cli.values import Node

log = logging.getLogger(__name__)
_FREE_BYTES = 256 * 2**20  # logs and a small model; bigger models bring their own demand
_PATIENCE_S = 60.0  # a cold interpreter on a busy Mac


@dataclass(frozen=True, slots=True)
class Ready:
    """What the nodes answered: seats with ports, and facts by node."""

    seats: tuple[Seat, ...]
    folders: Mapping[str, str]
    systems: Mapping[str, str]
    versions: Mapping[str, Mapping[str, str]]


def prepare(
    fleet: Fleet, run_id: str, files: Mapping[str, bytes], seats: Sequence[Seat], pythons: Mapping[str, str]
) -> Ready:
    """Lay files and check every node in one round trip. Raises the first error after reading them all."""
    tar = lay.archive(files)

    def one(door: Transport) -> dict[str, Any]:
        name = door.node.name
        wishes = json.dumps([[s.rank, s.address, s.port] for s in seats if s.node == name])
        check = lay.python(pythons[name], f"{mlx.PACKAGE}.preflight", wishes)
        return _ask(door, lay.prepare(door.node, run_id, len(tar), check), tar, pythons[name])

    return _ready(fleet.each(one), seats)


def dial(fleet: Fleet, ready: Ready, pythons: Mapping[str, str]) -> None:
    """Let every rank dial the next: who does not answer is named, where MLX would wait and name nobody."""
    seats = ready.seats
    after = {seat.rank: seats[(seat.rank + 1) % len(seats)] for seat in seats}

    def one(door: Transport) -> dict[str, Any]:
        name = door.node.name
        mine = [seat for seat in seats if seat.node == name]
        wishes = [[s.rank, s.address, s.port, after[s.rank].address, after[s.rank].port] for s in mine]
        words = lay.python(pythons[name], f"{mlx.PACKAGE}.dialcheck", json.dumps(wishes))
        return _ask(
            door, batch.alone(f"cd {batch.quote(ready.folders[name])} && {words}"), b"", pythons[name]
        )

    for outcome in fleet.each(one):
        for dialled in outcome.value["dials"]:
            if dialled["error"]:
                raise _unreached(outcome.node, after[dialled["rank"]], dialled["error"])


def _unreached(node: Node, peer: Seat, why: str) -> ClusterError:
    text = f"cannot reach {peer.node} at {peer.address}:{peer.port}: {why}"
    return ClusterError(text, node=node.name, hint="maccluster discover shows the cables and their addresses")


def pythons(nodes: Sequence[Node], mine: str) -> dict[str, str]:
    """The interpreter of each node; ``mine`` is the one that runs here. Raises ClusterError for none."""
    found: dict[str, str] = {}
    for node in nodes:
        if not node.python and not node.local:
            raise ClusterError(
                "the profile names no python for it",
                node=node.name,
                hint='set python = "/path/to/env/bin/python"',
            )
        found[node.name] = node.python or mine
    return found


def _ask(door: Transport, script: str, tar: bytes, python: str) -> dict[str, Any]:
    out, err = bytearray(), bytearray()
    stream = door.open(script, tar)
    try:
        code = stream.pump(out.extend, err.extend, deadline(_PATIENCE_S))
    finally:
        stream.close()
    said = err.decode("utf-8", "replace").strip()
    log.info("%s: preflight -> %s %r %r", door.node.name, code, bytes(out), said)
    if code == 0:
        answer: dict[str, Any] = json.loads(out.splitlines()[-1])  # a login shell may have talked before
        return answer
    raise _explained(door.node, code, said, python)


def _explained(node: Node, code: int | None, said: str, python: str) -> ClusterError:
    lines = said.splitlines() or [f"exit code {code}"]
    if code in (126, 127):
        return ClusterError(
            f"there is no Python at {python}",
            node=node.name,
            hint="set python in the profile to one that is there",
        )
    if code == lay.NO_FOLDER:
        twice = (
            " (two nodes of the profile are one machine, or share its disk)" if "File exists" in said else ""
        )
        where = node.workdir or "~"
        text = f"cannot make the run's folder there: {lines[0]}{twice}"
        return ClusterError(text, node=node.name, hint=_run(node, f"'df -h {where}'"))
    if code is None:
        return ClusterError("did not answer the preflight in time", node=node.name, hint=_run(node, "uptime"))
    return ClusterError(f"the preflight broke: {lines[-1]}", node=node.name, hint=_run(node, f"{python} -V"))


def _ready(outcomes: Sequence[Outcome[dict[str, Any]]], seats: Sequence[Seat]) -> Ready:
    answers: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        answers[outcome.node.name] = outcome.value
        _check(outcome.node, outcome.value, seats)
    _same_mlx(answers)
    ports = {seat["rank"]: seat["port"] for answer in answers.values() for seat in answer["seats"]}
    return Ready(
        seats=tuple(replace(seat, port=ports[seat.rank]) for seat in seats),
        folders={name: answer["folder"] for name, answer in answers.items()},
        systems={name: answer["system"] for name, answer in answers.items()},
        versions={
            name: {key: answer[key] for key in ("python", "mlx", "device")}
            for name, answer in answers.items()
        },
    )


def _check(node: Node, answer: Mapping[str, Any], seats: Sequence[Seat]) -> None:
    if answer["mlx"] is None:
        text = f"its worker Python has no MLX ({answer['mlx_error']})"
        raise ClusterError(text, node=node.name, hint=_install(node, answer))
    if _numbers(answer["mlx"]) < _numbers(mlx.MINIMUM):
        text = f"its MLX is {answer['mlx']}, and {mlx.MINIMUM} or newer is needed"
        raise ClusterError(text, node=node.name, hint=_install(node, answer))
    if answer["free_bytes"] < _FREE_BYTES:
        text = f"its disk is full ({answer['free_bytes'] / 2**20:.0f} MiB free in {answer['folder']})"
        raise ClusterError(text, node=node.name, hint=_run(node, f"df -h {answer['folder']}"))
    for seat in answer["seats"]:
        if "error" in seat:
            _refuse(node, seat, next(s for s in seats if s.rank == seat["rank"]))


def _refuse(node: Node, answer: Mapping[str, Any], seat: Seat) -> None:
    if answer["error"] == "in_use":
        hint = "another port under [job] in the profile, or port = 0 to take a free one"
        raise ClusterError(f"port {seat.port} is in use on {seat.address}", node=node.name, hint=hint)
    raise ClusterError(
        f"the address {seat.address} is not its own ({answer['detail']})",
        node=node.name,
        hint="maccluster discover shows the addresses it has; put them under [[cables]]",
    )


def _same_mlx(answers: Mapping[str, Mapping[str, Any]]) -> None:
    """Ranks of one job must run one MLX: wire format and arithmetic change between releases."""
    versions: dict[str, list[str]] = {}
    for name, answer in answers.items():
        versions.setdefault(answer["mlx"], []).append(name)
    if len(versions) > 1:
        told = ", ".join(f"{fold(names)} has {version}" for version, names in sorted(versions.items()))
        newest = max(versions, key=_numbers)
        raise ClusterError(f"the nodes' MLX differs: {told}", hint=f"install mlx=={newest} everywhere")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _install(node: Node, answer: Mapping[str, Any]) -> str:
    """What puts the engine into the very interpreter that lacks it."""
    package = "mlx[cpu]" if answer["system"] == "Linux" else "mlx"
    words = f"{answer['executable']} -m pip install '{package}>={mlx.MINIMUM}'"
    return words if node.local else _run(node, words)


def _run(node: Node, words: str) -> str:
    return f"maccluster run --nodes {node.name} -- {words}"
