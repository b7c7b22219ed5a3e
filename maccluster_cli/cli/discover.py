"""``maccluster discover``: who is there, and which cable leads where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import common
from maccluster_cli.errors import FAILED

if TYPE_CHECKING:
    from maccluster_cli.session import Session


def discover(
    session: Session,
    *,
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="PROFILE|PATH",
            help="Write what was found into this profile; shows the difference and asks.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --save: do not ask.")] = False,
    bonjour: Annotated[
        float,
        typer.Option(
            "--bonjour",
            metavar="SECONDS",
            min=0,
            max=60,
            help="How long to listen on the network; 0 listens not at all.",
        ),
    ] = 0.6,
) -> int:
    """Show every node, what it is, and the Thunderbolt cables between them.

    Three sources stand side by side, since each of them fails alone: SSH to the nodes of the profile,
    Bonjour on the local network, and the cables themselves, told apart by the UUIDs of both ends.
    """
    from maccluster_cli.flows.discover import discover as flow
    from maccluster_cli.ui import discover as ui

    with session.asking():
        found = flow(
            session.fleet,
            session.profile.command_timeout_s,
            session.python,
            expected=session.profile.cables,
            bonjour_s=bonjour,
            whole=len(session.nodes) == len(session.profile.nodes),
        )
    ui.show(session.screen, found)
    if save is not None:
        from maccluster_cli.flows import save as keep

        todo = keep.propose(session.profile, found, save)
        ui.difference(session.screen, todo)
        if todo.changed and not (yes or session.screen.agree(f"Write {todo.file}?", "--yes")):
            return FAILED
        if todo.changed:
            keep.write(todo)
            session.screen.say(f"written: {todo.file}")
    return max((view.error.code for view in found.views if view.error), default=0)


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    examples = (
        "maccluster discover",
        "maccluster discover -p mac-mini-x4 --save ./maccluster.toml",
        "maccluster discover --json",
    )
    common.command(app, panel=common.LOOK, examples=examples)(discover)
