"""``maccluster profile``: which clusters and recipes there are, and whether a file is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import common, complete
from maccluster_cli.errors import ClusterError

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
        typer.Argument(metavar="[NAME|PATH]", autocompletion=complete.profiles, help="What to check."),
    ] = None,
) -> int:
    """Check a profile or a recipe, or every one there is."""
    from maccluster_cli import shelf

    if file is not None:
        known = {**shelf.recipes(), **shelf.profiles()}
        _check(session, known[file] if file in known else shelf.profile_file(file)[0])
        return 0
    places = dict.fromkeys((session.profile_file, *shelf.profiles().values(), *shelf.recipes().values()))
    return max(_checked(session, path) for path in places)


def _checked(session: Session, path: Path) -> int:
    """One broken file hides no other."""
    try:
        _check(session, path)
    except ClusterError as error:
        session.screen.error(error)
        return error.code
    return 0


def _check(session: Session, path: Path) -> None:
    from maccluster_cli.profile import is_recipe, read_profile
    from maccluster_cli.recipe import read_recipe

    if is_recipe(path):
        session.screen.write(f"{path}: ok, a recipe of {read_recipe(path).train.steps} steps")
    else:
        found = read_profile(path)
        session.screen.write(f"{path}: ok, {len(found.nodes)} nodes, {len(found.cables)} cables")


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
