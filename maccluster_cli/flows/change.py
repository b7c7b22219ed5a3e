"""The change story: read, plan, show, ask, lock, remember, (arm), apply, verify, (confirm)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maccluster_cli import journal, store
from maccluster_cli.errors import FAILED, UNREACHABLE, ClusterError, UnreachableError
from maccluster_cli.flows.look import MACHINES, View, facts_of, reads
from maccluster_cli.plan import back, commands, plan
from maccluster_cli.transport import guard, lock
from maccluster_cli.transport.base import Transport, ask
from maccluster_cli.transport.fleet import Fleet, Outcome
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


@dataclass(frozen=True, slots=True)
class Ended:
    """How one node ended: what of its part of the plan holds, what does not, what stood in the way."""

    node: str
    done: tuple[Change, ...] = ()
    left: tuple[Change, ...] = ()
    error: ClusterError | None = None
    said: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by setting, of those that are left


@dataclass(slots=True)
class Report:
    """How it ended on all nodes, and the journal's entry that leads back."""

    entry: journal.Entry
    nodes: list[Ended] = field(default_factory=list)

    @property
    def code(self) -> int:
        """0 when every node is as planned; 4 when one could not be reached; 1 otherwise."""
        codes = [ended.error.code if ended.error else FAILED if ended.left else 0 for ended in self.nodes]
        return UNREACHABLE if UNREACHABLE in codes else max(codes, default=0)


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
    final = _irreversible(subjects) & {change.setting for change in changes}
    return Proposal(tuple(views), Plan(tuple(changes)), tuple(refused), tuple(unknown), final)


def _irreversible(subjects: Sequence[Subject]) -> frozenset[str]:
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
    """What would run with sudo, by node: shown before anybody is asked."""
    by_name = {view.node.name: settings_of(subjects, view) for view in proposal.views if not view.error}
    touched = dict.fromkeys(change.node for change in proposal.plan.changes)
    return {n: tuple(c for c in commands(by_name[n], proposal.plan, n) if c.sudo) for n in touched}


class Application:
    """Carries a proposal out: one journal entry, all nodes at once, a canary first where it is risky."""

    def __init__(
        self,
        fleet: Fleet,
        subjects: Sequence[Subject],
        proposal: Proposal,
        *,
        what: str,
        undoes: str | None = None,
        confirm_within_s: int = 120,
    ) -> None:
        self._fleet = fleet
        self._subjects = subjects
        self._plan = proposal.plan
        self._views = {view.node.name: view for view in proposal.views if not view.error}
        self._confirm_within_s = confirm_within_s
        identities = {name: view.identity for name, view in self._views.items()}
        self.report = Report(journal.begin(what, proposal.plan, identities, undoes, proposal.settled))

    def run(self) -> Report:
        """Apply and verify everywhere. A failure on one node hides no other; Ctrl-C leaves a way back."""
        nodes = [node for node in self._fleet.nodes if self._mine(node.name)]
        canary = nodes[:1] if self._is_risky(None) and len(nodes) > 1 else []
        try:
            if canary and any(ended.error or ended.left for ended in self._on(canary)):
                self.report.nodes += [self._not_begun(node.name) for node in nodes[1:]]
            else:
                self._on([node for node in nodes if node not in canary])
        except BaseException:
            self.report.entry.status = journal.INTERRUPTED
            self.report.entry.save()
            raise
        self.report.entry.conclude()
        return self.report

    def _is_risky(self, node: str | None) -> bool:
        risky = {s.name for subject in self._subjects for s in subject.settings if s.risk == NETWORK}
        return any(c.setting in risky for c in self._plan.changes if node in (None, c.node))

    def _on(self, nodes: Sequence[Node]) -> list[Ended]:
        outcomes = self._fleet.only(nodes).each(self._one)
        ended = [o.value if o.error is None else self._failed(o) for o in outcomes]
        self.report.nodes += ended
        return ended

    def _failed(self, outcome: Outcome[Ended]) -> Ended:
        name = outcome.node.name
        self.report.entry.note(name, journal.FAILED, str(outcome.error))
        return Ended(name, left=self._mine(name), error=outcome.error)

    def _not_begun(self, name: str) -> Ended:
        error = ClusterError("not begun: the first node failed", node=name)
        self.report.entry.note(name, journal.PENDING, error.message)
        return Ended(name, left=self._mine(name), error=error)

    def _mine(self, name: str) -> tuple[Change, ...]:
        return tuple(change for change in self._plan.changes if change.node == name)

    def _one(self, door: Transport) -> Ended:
        """One node: lock, write, read back, unlock, in one round trip; with a guard around it where risky."""
        name = door.node.name
        view = self._views[name]
        writes = commands(settings_of(self._subjects, view), self._plan, name)
        if any(c.sudo for c in writes) and view.facts.get("sudo") == "none":
            raise _no_sudo(name)
        ended = self._risky(door, view, writes) if self._is_risky(name) else self._plain(door, view, writes)
        status = journal.FAILED if ended.left else journal.DONE
        left = ", ".join(change.setting for change in ended.left)
        self.report.entry.note(name, status, f"not taken: {left}" if left else "")
        return ended

    def _plain(self, door: Transport, view: View, writes: Sequence[Command]) -> Ended:
        after = [*reads(self._subjects, _PATIENCE_S), lock.give()]
        replies = self._locked(door, [*writes, *after])
        said = replies[: len(writes)]
        if any(reply and reply.command.vital and reply.code for reply in said):  # nothing after it was run
            replies = ask(door, after, patience_s=_PATIENCE_S)
        return self._judged(view, replies, said)

    def _risky(self, door: Transport, view: View, writes: Sequence[Command]) -> Ended:
        """The node reverts by itself unless a *new* connection finds it and says that all is well."""
        system = str(view.facts.get("os.system"))
        home = (*commands(settings_of(self._subjects, view), back(self._plan), view.node.name), lock.give())
        armed = guard.arm(home, self._confirm_within_s, system)
        replies = self._locked(door, [*armed, *writes], tied=False)
        return self._confirmed(view, replies[len(armed) :], system)

    def _confirmed(self, view: View, said: Sequence[Reply | None], system: str) -> Ended:
        fresh = self._fleet.fresh(view.node)
        home = f"it goes back by itself within {self._confirm_within_s} s"
        try:
            ended = self._judged(view, ask(fresh, reads(self._subjects, _PATIENCE_S)), said)
            if ended.left:
                left = ", ".join(change.setting for change in ended.left)
                raise ClusterError(f"not taken: {left}; {home}", node=view.node.name)
            confirmed = ask(fresh, [*guard.disarm(system), lock.give()])[0]
            if confirmed is None or confirmed.code != 0:
                raise ClusterError("it was confirmed too late, and went back by itself", node=view.node.name)
        except UnreachableError as error:
            text = f"not reachable after the change; {home} ({error.message})"
            raise ClusterError(text, node=view.node.name, code=UNREACHABLE) from error
        finally:
            fresh.close()
        return ended

    def _locked(self, door: Transport, then: Sequence[Command], *, tied: bool = True) -> list[Reply | None]:
        """Run under the node's lock; one that a dead process of this machine left is broken."""
        entry = self.report.entry
        mine = lock.Holder(entry.user, entry.controller, entry.pid, entry.when, f"{entry.what} {entry.id}")
        for attempt in range(2):
            replies = ask(door, [lock.take(mine), *then], tied=tied, patience_s=_PATIENCE_S)
            first = replies[0]
            if first is None or first.code is None:
                raise _lost(door.node.name)
            if first.code == 0:
                return replies[1:]
            if first.code != lock.HELD:
                said = " / ".join(_complaints([first]))
                raise ClusterError(f"it cannot be locked ({said})", node=door.node.name)
            holder = lock.held_by(first)
            if attempt or holder is None or not _is_gone(holder):
                raise _locked_by(door.node.name, holder)
            broken = ask(door, [lock.break_(holder)])[0]
            if broken and broken.code == lock.REVERTING:
                raise _reverting(door.node.name, holder)
        raise AssertionError  # the second attempt returned or raised

    def _judged(self, view: View, replies: Sequence[Reply | None], said: Sequence[Reply | None]) -> Ended:
        """Compare what was read back with the plan; an answer that never came proves nothing either way."""
        name = view.node.name
        if any(reply and reply.code is None for reply in replies):
            raise _lost(name)
        facts = facts_of(self._subjects, view.node, replies)
        settings = settings_of(self._subjects, view)
        mine = self._mine(name)
        want = {change.setting: change.want for change in mine}
        left = plan(settings, {name: facts}, {name: want})
        missed = {change.setting for change in left.changes}
        return Ended(
            name,
            done=tuple(change for change in mine if change.setting not in missed),
            left=left.changes,
            said=self._heard(settings, mine, said, missed),
        )

    @staticmethod
    def _heard(
        settings: Sequence[Setting], mine: Sequence[Change], said: Sequence[Reply | None], missed: set[str]
    ) -> dict[str, tuple[str, ...]]:
        """What the commands of each setting that is left had to say."""
        writes = {setting.name: setting.write for setting in settings}
        replies = iter(said)
        words = {
            c.setting: _complaints([next(replies, None) for _ in writes[c.setting](c.have, c.want)])
            for c in mine
        }
        return {name: lines for name, lines in words.items() if name in missed and lines}


def undoing(entry: journal.Entry, subjects: Sequence[Subject], views: Sequence[View]) -> Proposal:
    """The way back to what ``entry`` found: the same plan with its ends swapped, from what is now."""
    final = _irreversible(subjects)
    home = back(entry.plan).changes
    changes: list[Change] = []
    refused: list[Kept] = []
    settled: dict[str, str] = {}
    for view in views:
        name = view.node.name
        if view.error:
            continue
        mine = [change for change in home if change.node == name]
        if (was := entry.nodes[name].identity) != view.identity:
            settled[name] = f"another machine now ({view.identity}, not {was})"
            refused += [Kept(name, change.setting, settled[name]) for change in mine]
            continue
        refused += [Kept(name, c.setting, "cannot be taken back") for c in mine if c.setting in final]
        want = {change.setting: change.want for change in mine if change.setting not in final}
        todo = plan(tuple(reversed(settings_of(subjects, view))), {name: view.facts}, {name: want}).changes
        changes += todo
        if not todo:
            settled[name] = ""
    return Proposal(tuple(views), Plan(tuple(changes)), tuple(refused), settled=settled)


def resumed(entries: Sequence[journal.Entry], what: str, views: Sequence[View]) -> None:
    """Note that what was cut short has been gone on with, where all of its nodes are as wished by now."""
    answered = {view.node.name for view in views if not view.error}
    for entry in entries:
        if entry.what == what and answered.issuperset(entry.nodes):
            entry.status = journal.RESUMED
            entry.save()


def _facts(subjects: Sequence[Subject], node: Node, replies: Sequence[Reply | None]) -> dict[str, Any]:
    return {**facts_of(subjects, node, replies), "node.name": node.name, "node.host": node.host}


def _complaints(replies: Sequence[Reply | None]) -> tuple[str, ...]:
    """What the writing commands had to say, for the reader of a failure: their exit codes prove nothing."""
    texts = [f"{r.out.decode('utf-8', 'replace')}\n{r.err.decode('utf-8', 'replace')}" for r in replies if r]
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    return tuple(dict.fromkeys(lines))[:4]


def _lost(node: str) -> ClusterError:
    text = "the connection was lost while it was changed, so how far it got is not known"
    return ClusterError(text, node=node, hint=f"maccluster tune --check --nodes {node}", code=UNREACHABLE)


def _is_gone(holder: lock.Holder) -> bool:
    """Names of machines repeat, ids of the journal do not: only a lock of ours is known to be dead."""
    ours = {entry.id for entry in journal.entries()}
    return holder.what.rpartition(" ")[2] in ours and not store.lives(holder.pid)


def _locked_by(node: str, holder: lock.Holder | None) -> ClusterError:
    if holder is None:
        who = f"it is locked, and the lock says not by whom ({lock.PATH})"
    else:
        who = f"{holder.user} on {holder.controller} changes it since {holder.since}: {holder.what}"
    hint = f"wait, or when that is over for sure: maccluster run --nodes {node} -- rm -rf {lock.PATH}"
    return ClusterError(who, node=node, hint=hint)


def _reverting(node: str, holder: lock.Holder) -> ClusterError:
    text = f"{holder.what} was cut short there, and the node takes it back by itself"
    return ClusterError(text, node=node, hint=f"wait until {lock.PATH} is gone there, two minutes at most")


def _no_sudo(node: str) -> ClusterError:
    text = "sudo asks for a password there, and maccluster never sends one"
    return ClusterError(
        text, node=node, hint=f"maccluster doctor --nodes {node} prints the lines for sudoers"
    )
