"""The change story as commands tell it: the same options and the same order for all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.errors import FAILED, PENDING, UNREACHABLE, UsageError

if TYPE_CHECKING:
    from maccluster_cli.flows.apply import Application
    from maccluster_cli.flows.change import Proposal, Wishes
    from maccluster_cli.session import Session
    from maccluster_cli.values import Subject

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")]
Check = Annotated[
    bool, typer.Option("--check", help="Like --dry-run, and exit 3 when something would change.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
AcceptRisk = Annotated[
    list[str] | None,
    typer.Option("--accept-risk", metavar="network", help="Needed where a change may cut a node off."),
]
ConfirmWithin = Annotated[
    int,
    typer.Option(
        "--confirm-within",
        metavar="SECONDS",
        min=10,
        max=3600,
        help="How long such a node waits to be found again.",
    ),
]


@dataclass(frozen=True, slots=True)
class Terms:
    """How far a command may go."""

    dry_run: bool = False
    check: bool = False
    yes: bool = False
    accepted: Sequence[str] = ()
    confirm_within_s: int = 120

    @property
    def only_look(self) -> bool:
        """Whether the plan is all that is wanted."""
        return self.dry_run or self.check


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command is about: its name, what it knows, what it wants."""

    what: str
    subjects: Sequence[Subject]
    wishes: Wishes


def carry_out(session: Session, wanted: Wanted, terms: Terms) -> int:
    """Read, plan, and go on from there."""
    from maccluster_cli import journal
    from maccluster_cli.flows import change as flow
    from maccluster_cli.ui import change as ui

    open_ends = journal.cut_short(journal.entries(), session.profile_id)
    ui.half_done(session.screen, open_ends)
    views = flow.read(session.fleet, wanted.subjects, session.profile.command_timeout_s)
    todo = flow.propose(wanted.subjects, views, wanted.wishes)
    code = settle(session, wanted, todo, terms)
    if not (code or terms.only_look):
        flow.resumed(open_ends, wanted.what, views)
    return code


def settle(session: Session, wanted: Wanted, todo: Proposal, terms: Terms, undoes: str | None = None) -> int:
    """Show a plan, ask, apply it, report; the exit code."""
    from maccluster_cli.flows import apply
    from maccluster_cli.flows import change as flow
    from maccluster_cli.ui import change as ui

    risks = flow.at_risk(wanted.subjects, todo.plan)
    ui.proposal(session.screen, todo, flow.sudo_commands(wanted.subjects, todo), risks)
    silent = UNREACHABLE if todo.unreachable else FAILED if any(todo.settled.values()) else 0
    story = functools.partial(
        apply.Application,
        session.fleet,
        wanted.subjects,
        todo,
        what=wanted.what,
        undoes=undoes,
        profile=session.profile_id,
        confirm_within_s=terms.confirm_within_s,
    )
    if todo.plan and not terms.only_look:
        _accept(risks, terms)
        return _agreed(session, todo, story, yes=terms.yes, silent=silent)
    if todo.settled and not (todo.plan or terms.only_look or any(todo.settled.values())):
        story().run()  # an undo that finds nothing to do is noted, so that it is not proposed again
    if session.screen.look.json:
        session.screen.data(ui.as_json(todo))
    return silent or (PENDING if terms.check and todo.plan else 0)


def _accept(risks: Mapping[str, Sequence[str]], terms: Terms) -> None:
    """A yes alone never covers what may cut a node off: it has to be named."""
    if risks and "network" not in terms.accepted:
        told = "; ".join(f"{', '.join(settings)} on {node}" for node, settings in risks.items())
        raise UsageError(f"this may cut a node off: {told}", hint="add --accept-risk network")


def _agreed(
    session: Session, todo: Proposal, story: Callable[[], Application], *, yes: bool, silent: int
) -> int:
    from maccluster_cli.ui import change as ui

    if not yes and not session.screen.agree("Apply this?", "--yes, or --dry-run to look"):
        session.screen.say("nothing was changed")
        return FAILED
    begun = story()
    try:
        done = begun.run()
    except KeyboardInterrupt:
        ui.half_done(session.screen, [begun.report.entry])
        raise
    ui.report(session.screen, todo, done)
    if session.screen.look.json:
        session.screen.data(ui.report_json(todo, done))
    return silent or done.code
