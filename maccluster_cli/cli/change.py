"""The change story as commands tell it: the same options and the same order for all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.errors import FAILED, PENDING, UNREACHABLE

if TYPE_CHECKING:
    from maccluster_cli.flows.change import Application, Proposal, Wishes
    from maccluster_cli.session import Session
    from maccluster_cli.values import Subject

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")]
Check = Annotated[
    bool, typer.Option("--check", help="Like --dry-run, and exit 3 when something would change.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command is about: its name, what it knows, what it wants."""

    what: str
    subjects: Sequence[Subject]
    wishes: Wishes


def carry_out(session: Session, wanted: Wanted, *, dry_run: bool, check: bool, yes: bool) -> int:
    """Read, plan, and go on from there."""
    from maccluster_cli import journal
    from maccluster_cli.flows import change as flow
    from maccluster_cli.ui import change as ui

    open_ends = journal.cut_short(journal.entries())
    ui.half_done(session.screen, open_ends)
    views = flow.read(session.fleet, wanted.subjects, session.profile.command_timeout_s)
    todo = flow.propose(wanted.subjects, views, wanted.wishes)
    code = settle(session, wanted, todo, dry_run=dry_run, check=check, yes=yes)
    if not (code or dry_run or check):
        flow.resumed(open_ends, wanted.what, views)
    return code


def settle(
    session: Session,
    wanted: Wanted,
    todo: Proposal,
    *,
    dry_run: bool = False,
    check: bool = False,
    yes: bool = False,
    undoes: str | None = None,
) -> int:
    """Show a plan, ask, apply it, report; the exit code."""
    from maccluster_cli.flows import change as flow
    from maccluster_cli.ui import change as ui

    ui.proposal(session.screen, todo, flow.sudo_commands(wanted.subjects, todo))
    silent = UNREACHABLE if todo.unreachable else FAILED if any(todo.settled.values()) else 0
    story = functools.partial(
        flow.Application, session.fleet, wanted.subjects, todo, what=wanted.what, undoes=undoes
    )
    if todo.plan and not (dry_run or check):
        return _agreed(session, todo, story, yes=yes, silent=silent)
    if todo.settled and not (todo.plan or dry_run or check):
        story().run()  # an undo that finds nothing to do is noted, so that it is not proposed again
    if session.screen.look.json:
        session.screen.data(ui.as_json(todo))
    return silent or (PENDING if check and todo.plan else 0)


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
