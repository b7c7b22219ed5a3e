"""The application: its subcommands and the page that lists them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from maccluster_cli import __version__
from maccluster_cli.cli import common, discover, doctor, profile, run, status, train, tune, undo

_PANELS = (common.LOOK, common.CHANGE, common.RUN, common.MEASURE, common.ABOUT)
_EXAMPLES = """\b
Examples:
  maccluster train tiny          two ranks on this machine learn to add
  maccluster discover            the Macs of the profile, and the cables between them
  maccluster run -- uptime       a command on all nodes at once
"""
_EPILOG = (
    "Exit codes: 0 done, 1 failed on a node or declined, 2 usage, 3 changes pending, "
    "4 unreachable, 70 our bug, 130 Ctrl-C."
)


class _Pages(TyperGroup):
    """Plain help by panels. Rich would draw prettier boxes and triple the time to the first line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel in _PANELS:
            found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
            rows = [
                (n, c.get_short_help_str(90))
                for n, c in found
                if c and getattr(c, "rich_help_panel", "") == panel
            ]
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)


app = typer.Typer(
    cls=_Pages,
    name="maccluster",
    help=f"A few Macs as one machine for training and running large models.\n\n{_EXAMPLES}",
    epilog=_EPILOG,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def _top(
    ctx: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Name and version; -v adds what bug reports need.")
    ] = False,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, show_default=False, help="With --version: say more.")
    ] = 0,
) -> None:
    if version:
        typer.echo(f"maccluster {__version__}")
        if verbose:
            from maccluster_cli.cli.about import versions

            for line in versions():
                typer.echo(line)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


for room in (discover, status, doctor, tune, undo, run, train, profile):
    room.register(app)
