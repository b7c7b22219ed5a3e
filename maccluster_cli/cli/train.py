"""``maccluster train``: a recipe on the nodes of a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import common, complete

if TYPE_CHECKING:
    from maccluster_cli.session import Session


def train(
    session: Session,
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE|PATH", autocompletion=complete.recipes, help="What to train.")
    ],
    *,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="NUMBER", min=0, help="Instead of the recipe's seed.")
    ] = None,
) -> int:
    """Train a recipe, data parallel over all ranks of the profile.

    Every node is checked first: interpreter, MLX, port, address, disk. Ctrl-C stops every rank on every node.
    """
    from maccluster_cli import shelf, store
    from maccluster_cli.flows import train as flow
    from maccluster_cli.nodeset import fold
    from maccluster_cli.recipe import read_recipe
    from maccluster_cli.ui import train as ui

    chosen = read_recipe(shelf.recipe_file(recipe))
    names = fold(node.name for node in session.nodes)
    ranks = flow.world_size(chosen, session.nodes)
    ui.opening(session.screen, chosen.name, chosen.description, ranks, names)
    run = store.Run(store.new_run_id(chosen.name))
    with run, ui.Progress(session.screen, chosen.train.steps, run.run_id) as progress:
        training = flow.Training(session.fleet, session.profile, chosen, run, seed)
        result = training.run(progress.on_event)
    ui.closing(session.screen, result, flow.summary(result, str(run.manifest)))
    for warning in result.warnings:
        session.screen.warn(warning)
    if result.error is not None:
        raise result.error
    return result.code


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    examples = ("maccluster train tiny", "maccluster train tiny --nodes 'mini[1-2]' --json")
    common.command(app, panel=common.RUN, examples=examples)(train)
