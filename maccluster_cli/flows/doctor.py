"""Reads every node once and asks the rooms that know what to make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maccluster_cli.advise import FAIL, Finding, advice, clocks, findings
from maccluster_cli.errors import ClusterError
from maccluster_cli.flows import change, tune
from maccluster_cli.flows.look import View
from maccluster_cli.linux import sudoers as linux_sudoers
from maccluster_cli.linux import tuning as linux
from maccluster_cli.macos import sudoers as macos_sudoers
from maccluster_cli.macos import tuning as macos
from maccluster_cli.transport import guard
from maccluster_cli.transport.fleet import Fleet
from maccluster_cli.values import DARWIN, Command, Fact, Refusal, Reply, Subject

_WHO = Command(("id", "-un"))


def _user(reply: Reply) -> str | None:
    return reply.text.strip() or None


_USERS = tuple(Subject(s.system, (Fact("node.user", _WHO, _user),), dict) for s in tune.SUBJECTS)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found, and the nodes as they were seen."""

    views: tuple[View, ...]
    findings: tuple[Finding, ...]
    unreachable: tuple[ClusterError, ...]


def examine(fleet: Fleet, timeout_s: float) -> Report:
    """One round trip a node; everything after it is thought."""
    views = change.read(fleet, (*tune.SUBJECTS, *_USERS), timeout_s)
    pending = change.propose(tune.SUBJECTS, views, tune.wishes)
    found = [
        finding
        for view in views
        if not view.error
        for finding in findings(view.node.name, view.facts, pending.plan, _notes(view))
    ]
    found += [Finding("tune.refused", FAIL, k.node, f"{k.setting}: {k.reason}") for k in _asked(pending)]
    offsets = {
        v.node.name: v.facts["clock.offset_s"] for v in views if v.facts.get("clock.offset_s") is not None
    }
    found += [*clocks(offsets), *(f for view in views for f in advice(view.node.name, view.node.tune))]
    errors = tuple(view.error for view in views if view.error)
    return Report(views, tuple(found), errors)


def sudoers(report: Report) -> Mapping[str, tuple[str, ...]]:
    """The lines for sudoers, by node; a user whose name no line can hold has none."""
    return {view.node.name: _lines(view) for view in report.views if not view.error}


def _lines(view: View) -> tuple[str, ...]:
    user = str(view.facts.get("node.user") or "")
    mac = view.facts.get("os.system") == DARWIN
    try:
        known = (macos_sudoers if mac else linux_sudoers).lines(user)
    except Refusal:
        return ()
    return (*known, *(f"{user} ALL=(root) NOPASSWD: {rule}" for rule in (guard.rules() if mac else ())))


def _notes(view: View) -> tuple[str, ...]:
    return macos.notes(view.facts) if view.facts.get("os.system") == DARWIN else linux.notes(view.facts)


def _asked(pending: change.Proposal) -> list[change.Kept]:
    """Refusals of what a profile itself names; the baseline may simply not apply."""
    named = {view.node.name: set(view.node.tune) for view in pending.views}
    return [kept for kept in pending.refused if kept.setting in named[kept.node]]
