"""``maccluster doctor``: what is wrong on which node, and what to type next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import common

if TYPE_CHECKING:
    from maccluster_cli.session import Session


def doctor(
    session: Session,
    *,
    sudoers: Annotated[
        bool, typer.Option("--sudoers", help="Print the sudoers lines for these nodes and stop.")
    ] = False,
) -> int:
    """Look for what keeps nodes from being managed or differs from what the profile wants.

    Nothing is changed. Exit 0 when all is well, 3 with warnings, 1 with failures, 4 when a node is
    unreachable.
    """
    from maccluster_cli.flows import doctor as flow
    from maccluster_cli.ui import doctor as ui

    with session.asking():
        report = flow.examine(session.fleet, session.profile.command_timeout_s)
    if sudoers:
        return ui.sudoers(session.screen, report, flow.sudoers(report))
    return ui.show(session.screen, report)


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    examples = ("maccluster doctor", "maccluster doctor --nodes mini3 --sudoers")
    common.command(app, panel=common.LOOK, examples=examples)(doctor)
