"""``maccluster tune``: settings that a headless cluster needs, planned, shown, asked, applied, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import change, common

if TYPE_CHECKING:
    from maccluster_cli.session import Session


def tune(
    session: Session,
    *,
    dry_run: change.DryRun = False,
    check: change.Check = False,
    yes: change.Yes = False,
    accept_risk: change.AcceptRisk = None,
    confirm_within: change.ConfirmWithin = 120,
    listing: Annotated[
        bool, typer.Option("--list", help="List the settings, their baseline and why.")
    ] = False,
) -> int:
    """Set sleep, power, memory, file limits, clock and names the way a cluster needs them.

    What the profile names under [defaults.tune] or [nodes.NAME.tune] is set and everything else left alone;
    where it names nothing, the baseline for a headless node is proposed. Nothing happens before you said yes.
    Every change is written down first, read back afterwards, and can be undone.
    """
    from maccluster_cli.flows import tune as flow

    if listing:
        from maccluster_cli.ui import tune as ui

        ui.listing(session.screen, flow.SUBJECTS, flow.BASELINES)
        return 0
    flow.check(session.nodes)
    wanted = change.Wanted("tune", flow.SUBJECTS, flow.wishes)
    terms = change.Terms(dry_run, check, yes, accept_risk or (), confirm_within)
    return change.carry_out(session, wanted, terms)


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    examples = ("maccluster tune --dry-run", "maccluster tune", "maccluster tune --check --nodes 'mini[1-2]'")
    common.command(app, panel=common.CHANGE, takes=("profile", "nodes", "json"), examples=examples)(tune)
