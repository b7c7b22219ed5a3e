"""The change story up to the yes: read, plan, what is refused and why, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maccluster_cli import journal
from maccluster_cli.flows.look import MACHINES, View, facts_of, reads
from maccluster_cli.plan import back, commands, plan
from maccluster_cli.transport import guard
from maccluster_cli.transport.fleet import Fleet
from maccluster_cli.values import Change, Command, Node, Plan, Refusal, Reply, Setting, Subject

IDENTITY = tuple(
    Subject(subject.system, tuple(f for f in subject.facts if f.name == "id.uuid"), dict)
    for subject in MACHINES
)
NETWORK = "network"
_PATIENCE_S = 60.0  # a change is given more time than a read; it must end, whatever it says
Wishes = Callable[[View], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Kept:
    """A wish that is not granted on a node, and why."""

    node: str
    setting: str
    reason: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would change, what would not, and which nodes could not even be asked."""

    views: tuple[View, ...]
    plan: Plan
    refused: tuple[Kept, ...] = ()
    unknown: tuple[Kept, ...] = ()
    final: frozenset[str] = frozenset()  # settings in the plan that no undo brings back
    settled: Mapping[str, str] = field(default_factory=dict)  # of an undo: nodes without a change, and why

    @property
    def unreachable(self) -> tuple[View, ...]:
        """Nodes without an answer."""
        return tuple(view for view in self.views if view.error)


def read(fleet: Fleet, subjects: Sequence[Subject], timeout_s: float) -> tuple[View, ...]:
    """What all nodes have now, their identity included, in one round trip each."""
    everything = (*subjects, *IDENTITY)
    wanted = reads(everything, timeout_s)
    return tuple(
        View(outcome.node, error=outcome.error)
        if outcome.error
        else View(outcome.node, _facts(everything, outcome.node, outcome.value))
        for outcome in fleet.ask(lambda _: wanted)
    )


def propose(subjects: Sequence[Subject], views: Sequence[View], wishes: Wishes) -> Proposal:
    """Decide for every node that answered. Pure: a dry run ends here."""
    changes: list[Change] = []
    refused: list[Kept] = []
    unknown: list[Kept] = []
    for view in views:
        if view.error:
            continue
        settings = settings_of(subjects, view)
        have = {s.name: view.facts[s.name] for s in settings if s.name in view.facts}
        want = _aims(settings, view, wishes(view), have, (refused, unknown))
        changes += plan(settings, {view.node.name: have}, {view.node.name: want}).changes
    final = irreversible(subjects) & {change.setting for change in changes}
    return Proposal(tuple(views), Plan(tuple(changes)), tuple(refused), tuple(unknown), final)


def irreversible(subjects: Sequence[Subject]) -> frozenset[str]:
    """Names of settings that no undo brings back."""
    return frozenset(s.name for subject in subjects for s in subject.settings if not s.reversible)


def settings_of(subjects: Sequence[Subject], view: View) -> tuple[Setting, ...]:
    """The settings that this node's system knows, in the order in which they are applied."""
    system = view.facts.get("os.system")
    return tuple(s for subject in subjects if subject.system == system for s in subject.settings)


def _aims(
    settings: Sequence[Setting],
    view: View,
    wishes: Mapping[str, Any],
    have: Mapping[str, Any],
    notes: tuple[list[Kept], list[Kept]],
) -> dict[str, Any]:
    refused, unknown = notes
    want: dict[str, Any] = {}
    for setting in settings:
        if setting.name not in wishes or setting.name not in have:
            continue  # not asked for, or this hardware has no such thing
        if have[setting.name] is None:
            unknown.append(Kept(view.node.name, setting.name, "could not be read, so it is left alone"))
            continue
        try:
            want[setting.name] = setting.aim(view.facts, wishes[setting.name])
        except Refusal as refusal:
            refused.append(Kept(view.node.name, setting.name, str(refusal)))
    return want


def sudo_commands(subjects: Sequence[Subject], proposal: Proposal) -> dict[str, tuple[Command, ...]]:
    """What would run with sudo, by node, that of a guard included: shown before anybody is asked."""
    views = {view.node.name: view for view in proposal.views if not view.error}
    risky = at_risk(subjects, proposal.plan)
    found: dict[str, tuple[Command, ...]] = {}
    for name in dict.fromkeys(change.node for change in proposal.plan.changes):
        writes = commands(settings_of(subjects, views[name]), proposal.plan, name)
        system = str(views[name].facts.get("os.system"))
        around = (*guard.arm((), 1, system), *guard.disarm(system)) if name in risky else ()
        found[name] = tuple(command for command in (*around, *writes) if command.sudo)
    return found


def at_risk(subjects: Sequence[Subject], todo: Plan) -> dict[str, list[str]]:
    """Nodes that the plan may cut off, and the settings that might do it."""
    risky = {s.name for subject in subjects for s in subject.settings if s.risk == NETWORK}
    found: dict[str, list[str]] = {}
    for change in todo.changes:
        if change.setting in risky:
            found.setdefault(change.node, []).append(change.setting)
    return found


def undoing(entry: journal.Entry, subjects: Sequence[Subject], views: Sequence[View]) -> Proposal:
    """The way back to what ``entry`` found: the same plan with its ends swapped, from what is now."""
    final = irreversible(subjects)
    home = back(entry.plan).changes
    changes: list[Change] = []
    refused: list[Kept] = []
    settled: dict[str, str] = {}
    for view in views:
        name = view.node.name
        if view.error:
            continue
        mine = [change for change in home if change.node == name]
        state = entry.nodes[name]
        if state.status == journal.UNTOUCHED:
            settled[name] = ""
            continue
        if state.identity is None or view.identity is None or state.identity != view.identity:
            settled[name] = _stranger(view.identity, state.identity)
            refused += [Kept(name, change.setting, settled[name]) for change in mine]
            continue
        refused += [Kept(name, c.setting, "cannot be taken back") for c in mine if c.setting in final]
        want = {change.setting: change.want for change in mine if change.setting not in final}
        todo = plan(tuple(reversed(settings_of(subjects, view))), {name: view.facts}, {name: want}).changes
        changes += todo
        if not todo:
            settled[name] = ""
    return Proposal(tuple(views), Plan(tuple(changes)), tuple(refused), settled=settled)


def _stranger(now: str | None, was: str | None) -> str:
    if now is None or was is None:
        return "which machine it is could not be read; try again"
    return f"another machine now ({now}, not {was})"


def resumed(entries: Sequence[journal.Entry], what: str, views: Sequence[View]) -> None:
    """Note that what was cut short has been gone on with, where all of its nodes are as wished by now."""
    answered = {view.node.name for view in views if not view.error}
    now = {view.node.name: view.identity for view in views}
    for entry in entries:
        same = all(state.identity == now.get(name) for name, state in entry.nodes.items())
        if entry.what == what and answered.issuperset(entry.nodes) and same:
            entry.status = journal.RESUMED
            entry.save()


def _facts(subjects: Sequence[Subject], node: Node, replies: Sequence[Reply | None]) -> dict[str, Any]:
    return {**facts_of(subjects, node, replies), "node.name": node.name, "node.host": node.host}
