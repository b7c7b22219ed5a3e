"""``maccluster status``: one line a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import common

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maccluster_cli.flows.look import View
    from maccluster_cli.session import Session


def status(
    session: Session,
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again until Ctrl-C.")] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.5, help="With --watch: pause between looks.")
    ] = 2.0,
) -> int:
    """Show reachability, load, memory, power and running jobs, one line a node."""
    from maccluster_cli.flows.look import look
    from maccluster_cli.ui import status as ui

    def see() -> Sequence[View]:
        return look(session.fleet, session.profile.command_timeout_s, session.python, brief=True)

    def draw(views: Sequence[View]) -> int:
        ui.show(session.screen, views, session.profile_source)
        return max((view.error.code for view in views if view.error), default=0)

    if watch:
        return ui.again(session.screen, see, draw, every)
    with session.asking():
        views = see()
    return draw(views)


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    examples = ("maccluster status", "maccluster status --watch", "maccluster status --plain | cut -f1,2")
    common.command(app, panel=common.LOOK, examples=examples)(status)
