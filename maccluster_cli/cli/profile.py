"""``maccluster profile``: which clusters and recipes there are, and whether a file is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import common, complete

if TYPE_CHECKING:
    from maccluster_cli.session import Session


_HELP = """Show, check and list profiles.

\b
Examples:
  maccluster profile list
  maccluster profile check ./maccluster.toml
"""


def show(session: Session) -> None:
    """Show the profile in force: its file, nodes and cables."""
    from maccluster_cli.ui import profile as ui

    ui.show(session.screen, session.profile, session.nodes)


def check(
    session: Session,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|PATH]", autocompletion=complete.profiles, help="Profile to check."),
    ] = None,
) -> None:
    """Check a profile, or every profile and recipe there is."""
    from maccluster_cli import shelf
    from maccluster_cli.profile import read_profile, read_recipe

    if file is not None:
        found = read_profile(shelf.profile_file(file)[0])
        session.screen.write(f"{found.file}: ok, {len(found.nodes)} nodes, {len(found.cables)} cables")
        return
    for path in (session.profile.file, *shelf.profiles().values()):
        read_profile(path)
        session.screen.write(f"{path}: ok")
    for path in shelf.recipes().values():
        read_recipe(path)
        session.screen.write(f"{path}: ok")


def list_(session: Session) -> None:
    """List the profiles and recipes that have a name."""
    from maccluster_cli import shelf
    from maccluster_cli.ui import profile as ui

    ui.listing(session.screen, shelf.profiles(), shelf.recipes(), session.profile_file)


def register(app: typer.Typer) -> None:
    """Add the subcommands."""
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help=_HELP,
    )
    shared = ("profile", "nodes", "json")
    common.command(
        group, panel=common.ABOUT, takes=shared, examples=("maccluster profile show -p mac-mini-x4",)
    )(show)
    common.command(
        group,
        panel=common.ABOUT,
        takes=("profile",),
        examples=("maccluster profile check ./maccluster.toml",),
    )(check)
    common.command(
        group, panel=common.ABOUT, takes=("profile", "json", "plain"), examples=("maccluster profile list",)
    )(list_)
    app.add_typer(
        group, name="profile", short_help="Show, check and list profiles", rich_help_panel=common.ABOUT
    )
