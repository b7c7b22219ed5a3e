"""The change story after the yes: remember, lock, look again, (arm), apply, verify, (confirm)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from maccluster_cli import journal, store
from maccluster_cli.errors import FAILED, UNREACHABLE, ClusterError, UnreachableError
from maccluster_cli.flows.change import Proposal, at_risk, irreversible, settings_of
from maccluster_cli.flows.look import View, facts_of, reads
from maccluster_cli.plan import back, commands, plan
from maccluster_cli.transport import guard, lock
from maccluster_cli.transport.base import Transport, ask
from maccluster_cli.transport.fleet import Fleet, Outcome
from maccluster_cli.values import Change, Command, Node, Reply, Setting, Subject

_PATIENCE_S = 60.0  # a change is given more time than a read; it must end, whatever it says


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


class UntouchedError(ClusterError):
    """A failure before anything was changed on the node, so that there is nothing to put back."""


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
        profile: str = "",
        confirm_within_s: int = 120,
    ) -> None:
        self._fleet = fleet
        self._subjects = subjects
        self._plan = proposal.plan
        self._views = {view.node.name: view for view in proposal.views if not view.error}
        self._confirm_within_s = confirm_within_s
        identities = {name: view.identity for name, view in self._views.items()}
        self._risks = at_risk(subjects, proposal.plan)
        entry = journal.begin(what, proposal.plan, identities, undoes, proposal.settled, profile)
        self._mark = lock.Holder(entry.user, entry.controller, entry.pid, entry.when, f"{what} {entry.id}")
        self.report = Report(entry)

    def run(self) -> Report:
        """Apply and verify everywhere. A failure on one node hides no other; Ctrl-C leaves a way back."""
        nodes = [node for node in self._fleet.nodes if self._mine(node.name)]
        canary = [node for node in nodes if node.name in self._risks][:1] if len(nodes) > 1 else []
        others = [node for node in nodes if node not in canary]
        try:
            if canary and any(ended.error or ended.left for ended in self._on(canary)):
                self.report.nodes += [self._not_begun(node.name) for node in others]
            else:
                self._on(others)
        except BaseException:
            self.report.entry.status = journal.INTERRUPTED
            self.report.entry.save()
            raise
        self.report.entry.conclude()
        return self.report

    def _on(self, nodes: Sequence[Node]) -> list[Ended]:
        outcomes = self._fleet.only(nodes).each(self._one)
        ended = [o.value if o.error is None else self._failed(o) for o in outcomes]
        self.report.nodes += ended
        return ended

    def _failed(self, outcome: Outcome[Ended]) -> Ended:
        name = outcome.node.name
        untouched = isinstance(outcome.error, UntouchedError)
        self.report.entry.note(name, journal.UNTOUCHED if untouched else journal.FAILED, str(outcome.error))
        return Ended(name, left=self._mine(name), error=outcome.error)

    def _not_begun(self, name: str) -> Ended:
        error = ClusterError("not begun: the first node failed", node=name)
        self.report.entry.note(name, journal.UNTOUCHED, error.message)
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
        self._locked(door, view)
        ended = self._risky(door, view, writes) if name in self._risks else self._plain(door, view, writes)
        status = journal.FAILED if ended.left else journal.DONE
        left = ", ".join(change.setting for change in ended.left)
        self.report.entry.note(name, status, f"not taken: {left}" if left else "")
        return ended

    def _plain(self, door: Transport, view: View, writes: Sequence[Command]) -> Ended:
        after = [*reads(self._subjects, _PATIENCE_S), lock.give(self._mark)]
        replies = ask(door, [*writes, *after], patience_s=_PATIENCE_S)
        said = replies[: len(writes)]
        if any(reply and reply.command.vital and reply.code for reply in said):  # nothing after it was run
            replies = ask(door, after, patience_s=_PATIENCE_S)
        return self._judged(view, replies, said)

    def _risky(self, door: Transport, view: View, writes: Sequence[Command]) -> Ended:
        """The node reverts by itself unless a *new* connection finds it and says that all is well."""
        system = str(view.facts.get("os.system"))
        undo = commands(settings_of(self._subjects, view), back(self._plan), view.node.name)
        armed = guard.arm((*undo, lock.give(self._mark)), self._confirm_within_s, system)
        replies = ask(door, [*armed, *writes], tied=False, patience_s=_PATIENCE_S)
        failed = next((r for r in replies[: len(armed)] if r and r.command.vital and r.code), None)
        if failed is not None:  # being vital, it kept everything after it from running
            ask(door, [*guard.clear(system), lock.give(self._mark)], patience_s=_PATIENCE_S)
            said = " / ".join(_complaints([failed])) or f"exit code {failed.code}"
            raise UntouchedError(f"the timed revert cannot be armed ({said})", node=view.node.name)
        return self._confirmed(view, replies[len(armed) :], system)

    def _confirmed(self, view: View, said: Sequence[Reply | None], system: str) -> Ended:
        fresh = self._fleet.fresh(view.node)
        home = f"it goes back by itself within {self._confirm_within_s} s"
        try:
            ended = self._judged(view, ask(fresh, reads(self._subjects, _PATIENCE_S)), said)
            if ended.left:
                left = ", ".join(change.setting for change in ended.left)
                raise ClusterError(f"not taken: {left}; {home}", node=view.node.name)
            confirmed = ask(fresh, [*guard.disarm(system), lock.give(self._mark)])[0]
            if confirmed is None or confirmed.code != 0:
                raise ClusterError("it was confirmed too late, and went back by itself", node=view.node.name)
        except UnreachableError as error:
            text = f"not reachable after the change; {home} ({error.message})"
            raise ClusterError(text, node=view.node.name, code=UNREACHABLE) from error
        finally:
            fresh.close()
        return ended

    def _locked(self, door: Transport, view: View) -> None:
        """Take the node's lock and look again: what was decided must still be what is there."""
        name = view.node.name
        for attempt in range(2):
            look = [lock.take(self._mark), *reads(self._subjects, _PATIENCE_S)]
            first, *replies = ask(door, look, patience_s=_PATIENCE_S)
            if first is None or first.code is None:
                raise _lost(name)
            if first.code == 0:
                return self._unchanged(door, view, replies)
            if first.code == lock.REVERTING:
                raise _reverting(name)
            if first.code != lock.HELD:
                raise UntouchedError(f"it cannot be locked ({' / '.join(_complaints([first]))})", node=name)
            holder = lock.held_by(first)
            if attempt or holder is None or not _is_gone(holder):
                raise _locked_by(name, holder)
            broken = ask(door, [lock.break_(holder)])[0]
            if broken and broken.code == lock.REVERTING:
                raise _reverting(name)
        raise AssertionError  # the second attempt returned or raised

    def _unchanged(self, door: Transport, view: View, replies: Sequence[Reply | None]) -> None:
        """A yes was given to one plan; where somebody was faster it is a plan for another node."""
        name = view.node.name
        now = facts_of(self._subjects, view.node, replies)
        final = irreversible(
            self._subjects
        )  # what only ever goes forward, as a clock does, differs by nature
        moved = [c for c in self._mine(name) if c.setting not in final and now.get(c.setting) != c.have]
        if moved:
            ask(door, [lock.give(self._mark)])
            text = f"changed since you looked: {', '.join(change.setting for change in moved)}"
            raise UntouchedError(
                text, node=name, hint=f"look again: maccluster {self.report.entry.what} --nodes {name}"
            )

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


def _locked_by(node: str, holder: lock.Holder | None) -> UntouchedError:
    if holder is None:
        who = f"it is locked, and the lock says not by whom ({lock.PATH})"
    else:
        who = f"{holder.user} on {holder.controller} changes it since {holder.since}: {holder.what}"
    hint = f"wait, or when that is over for sure: maccluster run --nodes {node} -- sudo -n rm -f {lock.PATH}"
    return UntouchedError(who, node=node, hint=hint)


def _reverting(node: str) -> UntouchedError:
    text = "a change there waits to be confirmed, or the node is taking it back by itself"
    hint = (
        f"wait; when nothing moves there for minutes: maccluster run --nodes {node} -- rm -rf {guard.FOLDER}"
    )
    return UntouchedError(text, node=node, hint=hint)


def _no_sudo(node: str) -> UntouchedError:
    text = "sudo asks for a password there, and maccluster never sends one"
    return UntouchedError(
        text, node=node, hint=f"maccluster doctor --nodes {node} prints the lines for sudoers"
    )
