"""``maccluster run``: a command or a script on all nodes at once."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from maccluster_cli.cli import common

if TYPE_CHECKING:
    from maccluster_cli.session import Session


def run(
    session: Session,
    words: Annotated[
        list[str], typer.Argument(metavar="[--] COMMAND...", help="What to run; - takes a script from stdin.")
    ],
    *,
    stream: Annotated[
        bool, typer.Option("--stream", help="Show lines as they come, with the node in front.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Give up after this long.")
    ] = None,
) -> int:
    """Run a command or a script on all nodes at once.

    Several words are handed to the node's sh one by one, as they stand; a single word is a line for it, so
    that pipes work. A script from stdin may have a #! line; commands themselves read nothing. Output that
    is the same is shown once. The exit code is the largest one of all nodes.
    """
    from maccluster_cli.errors import UsageError
    from maccluster_cli.flows import run as flow
    from maccluster_cli.ui import run as ui

    payload = None
    if not "".join(words).strip():
        raise UsageError("there is no command", hint="maccluster run -- uptime")
    if timeout is not None and not math.isfinite(timeout):
        raise UsageError("--timeout is a number of seconds", hint="leave it out to wait for ever")
    if words[0] == "-":
        payload, words = sys.stdin.buffer.read(), words[1:]
    on_line = ui.live(session.screen) if stream and not session.screen.look.json else None
    with contextlib.nullcontext() if on_line else session.asking():
        outcomes = flow.run(session.fleet, words, payload=payload, timeout_s=timeout, on_line=on_line)
    return ui.show(session.screen, outcomes, streamed=on_line is not None)


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    examples = (
        "maccluster run -- uptime",
        "maccluster run --nodes 'mini[1-3]' -- 'df -h / | tail -1'",
        "maccluster run - < setup.sh",
    )
    common.command(app, panel=common.RUN, examples=examples)(run)
