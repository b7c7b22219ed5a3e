"""``maccluster undo``: the way back, out of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import change, common

if TYPE_CHECKING:
    from maccluster_cli.journal import Entry
    from maccluster_cli.session import Session


def undo(  # noqa: PLR0913  # one parameter an option
    session: Session,
    entry: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Which change; the last one if left out.")
    ] = None,
    *,
    listing: Annotated[bool, typer.Option("--list", help="List the journal, newest first.")] = False,
    dry_run: change.DryRun = False,
    check: change.Check = False,
    yes: change.Yes = False,
    accept_risk: change.AcceptRisk = None,
    confirm_within: change.ConfirmWithin = 120,
) -> int:
    """Put back what a change of maccluster found.

    An undo is a change too: it is shown, asked for, written down and read back, and undoing it is a redo.
    What cannot be taken back is said and left. A node that is another machine by now is not touched.
    """
    from maccluster_cli import journal
    from maccluster_cli.flows import change as flow
    from maccluster_cli.flows import tune
    from maccluster_cli.ui import change as ui

    if listing:
        ui.history(session.screen, journal.entries())
        return 0
    found = journal.entry(entry, [node.name for node in session.nodes], session.profile_id)
    _choose(session, found)
    views = flow.read(session.fleet, tune.SUBJECTS, session.profile.command_timeout_s)
    todo = flow.undoing(found, tune.SUBJECTS, views)
    wanted = change.Wanted("undo", tune.SUBJECTS, tune.wishes)
    terms = change.Terms(dry_run, check, yes, accept_risk or (), confirm_within)
    return change.settle(session, wanted, todo, terms, undoes=found.id)


def _choose(session: Session, found: Entry) -> None:
    """Only the nodes of that change, and say which of them are left out."""
    from maccluster_cli.errors import UsageError
    from maccluster_cli.nodeset import fold

    session.screen.say(f"undo of {found.what} {found.id} ({found.when})")
    missing = [name for name in found.nodes if name not in {node.name for node in session.nodes}]
    session.narrow(found.nodes)
    if not session.nodes:
        text = f"none of the nodes of {found.id} is among those chosen: {fold(missing)}"
        raise UsageError(text, hint="choose the profile of that cluster with --profile")
    if missing:
        session.screen.warn(f"left out, since not chosen or not in this profile: {fold(missing)}")


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    examples = ("maccluster undo", "maccluster undo --list", "maccluster undo 20261130-170501-3f9a --dry-run")
    common.command(app, panel=common.CHANGE, takes=("profile", "nodes", "json", "plain"), examples=examples)(
        undo
    )
