"""What was found, into a profile: decided by ``plan``, written with the file's comments kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maccluster_cli import shelf, store
from maccluster_cli.errors import ClusterError, UsageError
from maccluster_cli.flows.discover import Report
from maccluster_cli.plan import plan
from maccluster_cli.profile import CABLE, amend, parse_profile, read_profile, renamed
from maccluster_cli.schema import NAME
from maccluster_cli.values import Cable, Plan, Profile, Setting

KEYS = (
    Setting("uuid_hash", "the machine itself, whatever it is called"),
    Setting("ends", "the two nodes of a cable"),
    Setting("interfaces", "the ports of a cable; a re-plug moves them"),
    Setting("receptacles", "the sockets of a cable, as Apple counts them"),
    Setting("addresses", "ranks talk over these"),
    Setting("rate_gbit_s", "what both ends negotiated"),
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The profile's text before and after."""

    file: Path
    before: str
    after: str
    plan: Plan

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def propose(profile: Profile, report: Report, target: str) -> Proposal:
    """What ``target`` (a name or path) would say. A new file starts as a copy of the profile in force."""
    file = _file(target)
    base = read_profile(file) if shelf.is_file(file) else profile
    there = {node.name for node in base.nodes}
    found = {name: values for name, values in _found(base, report).items() if name in there or " " in name}
    todo = plan(KEYS, _have(base), found)
    before = base.text if shelf.is_file(file) else ""
    after = amend(base.text, todo)
    if not before and NAME.fullmatch(file.stem):
        after = renamed(after, file.stem)
    parse_profile(after, file)  # what cannot be read back is never written
    return Proposal(file, before, after, todo)


def write(proposal: Proposal) -> None:
    """Write it in one step, where the user's file really lies and with the rights it had."""
    file = proposal.file.resolve()
    exists = shelf.is_file(file)
    if exists and file.read_text(encoding="utf-8") != proposal.before:
        raise ClusterError(f"{file} changed meanwhile", hint="look again, then save again")
    store.write_atomically(file, proposal.after.encode(), file.stat().st_mode & 0o777 if exists else 0o644)


def _file(target: str) -> Path:
    if not target.strip():
        raise UsageError("--save needs a name or a path", hint="--save ./maccluster.toml")
    if "/" in target or target.endswith(".toml"):
        return Path(target).expanduser()
    return shelf.config_dir() / "profiles" / f"{target}.toml"


def _have(profile: Profile) -> dict[str, dict[str, Any]]:
    nodes = {node.name: {"uuid_hash": node.uuid_hash} for node in profile.nodes}
    return nodes | {f"{CABLE} {i}": _values(cable) for i, cable in enumerate(profile.cables)}


def _found(profile: Profile, report: Report) -> dict[str, dict[str, Any]]:
    nodes = {view.node.name: {"uuid_hash": view.identity} for view in report.views if view.identity}
    there = {node.name for node in profile.nodes}
    cables = aligned(profile.cables, [c for c in report.cables if {c.a, c.b} <= there])
    return nodes | {f"{CABLE} {i}": _known(_values(cable)) for i, cable in cables.items()}


def aligned(known: Sequence[Cable], found: Sequence[Cable]) -> dict[int, Cable]:
    """Found cables by their place in the profile, ends in its order; new ones follow behind.

    A cable is the one with the same ends, and the same interfaces where several join the same two nodes.
    """
    places: dict[int, Cable] = {}
    fresh = len(known)
    for cable in sorted(found, key=lambda c: not any(_same_ports(c, k) for k in known)):
        free = [i for i, k in enumerate(known) if i not in places and {k.a, k.b} == {cable.a, cable.b}]
        place = next((i for i in free if _same_ports(cable, known[i])), free[0] if free else None)
        if place is None:
            place, fresh = fresh, fresh + 1
            places[place] = cable
        else:
            places[place] = cable if known[place].a == cable.a else _turned(cable)
    return places


def _same_ports(one: Cable, other: Cable) -> bool:
    ends = {(one.a, one.a_interface), (one.b, one.b_interface)}
    return ends == {(other.a, other.a_interface), (other.b, other.b_interface)}


def _turned(cable: Cable) -> Cable:
    return replace(
        cable,
        a=cable.b,
        b=cable.a,
        a_address=cable.b_address,
        b_address=cable.a_address,
        a_interface=cable.b_interface,
        b_interface=cable.a_interface,
        a_receptacle=cable.b_receptacle,
        b_receptacle=cable.a_receptacle,
    )


def _values(cable: Cable) -> dict[str, Any]:
    def pair(a: str | None, b: str | None) -> list[str] | None:
        return [a, b] if a and b else None

    return {
        "ends": [cable.a, cable.b],
        "interfaces": pair(cable.a_interface, cable.b_interface),
        "receptacles": pair(cable.a_receptacle, cable.b_receptacle),
        "addresses": pair(cable.a_address, cable.b_address),
        "rate_gbit_s": cable.rate_bits_s / 1e9 if cable.rate_bits_s else None,
    }


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
