"""What all subcommands share: their options, their help, their way to a session."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from maccluster_cli.cli import complete

LOOK, CHANGE, RUN, MEASURE, ABOUT = "Look", "Change", "Run", "Measure", "About"

_COMMON: dict[str, Any] = {
    "profile": Annotated[
        str | None,
        typer.Option(
            "--profile",
            "-p",
            metavar="NAME|PATH",
            help="Cluster to work on. Default: MACCLUSTER_PROFILE, ./maccluster.toml, your own, local.",
            autocompletion=complete.profiles,
        ),
    ],
    "nodes": Annotated[
        str | None,
        typer.Option(
            "--nodes",
            "-n",
            metavar="NODES",
            envvar="MACCLUSTER_NODES",
            help="Only these nodes: 'mini[1-4],!mini3', @role.",
            autocompletion=complete.nodes,
        ),
    ],
    "json": Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")],
    "plain": Annotated[bool, typer.Option("--plain", help="Tab-separated records on stdout.")],
    "color": Annotated[
        str,
        typer.Option("--color", metavar="auto|always|never", help="Colour, before NO_COLOR and FORCE_COLOR."),
    ],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and data.")],
    "verbose": Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, show_default=False, help="Say where log and profile are."
        ),
    ],
    "no_input": Annotated[
        bool, typer.Option("--no-input", help="Never ask; fail and name the flag instead.")
    ],
}
_DEFAULTS: dict[str, Any] = {
    "profile": None,
    "nodes": None,
    "json": False,
    "plain": False,
    "color": "auto",
    "quiet": False,
    "verbose": 0,
    "no_input": False,
}
_EVERYWHERE = ("color", "quiet", "verbose", "no_input")
Body = Callable[..., int | None]


def command(
    app: typer.Typer,
    *,
    panel: str,
    examples: Sequence[str],
    takes: Sequence[str] = ("profile", "nodes", "json", "plain"),
    name: str | None = None,
    loose: bool = False,
) -> Callable[[Body], Body]:
    """Register ``body(session, ...)`` with the common options and with help that starts with examples."""

    def register(body: Body) -> Body:
        options = [option for option in _COMMON if option in takes or option in _EVERYWHERE]
        run = functools.wraps(body)(functools.partial(_run, body, options))
        run.__signature__ = _signature(body, options)  # type: ignore[attr-defined]  # Typer reads it
        run.__annotations__ = {p.name: p.annotation for p in run.__signature__.parameters.values()}  # type: ignore[attr-defined]
        context = {"ignore_unknown_options": True} if loose else None
        app.command(
            name or body.__name__.rstrip("_"),
            help=_help(body, examples),
            short_help=(body.__doc__ or "").partition("\n")[0].rstrip("."),
            rich_help_panel=panel,
            context_settings=context,
        )(run)
        return body

    return register


def _run(body: Body, options: Sequence[str], **given: Any) -> None:
    import logging

    from maccluster_cli.errors import ClusterError, UsageError
    from maccluster_cli.session import Options, open_session
    from maccluster_cli.ui.screen import Look

    common = {**_DEFAULTS, **{option: given.pop(option) for option in options}}
    if common["color"] not in {"auto", "always", "never"}:
        raise UsageError(f"--color is auto, always or never, not {common['color']!r}", hint="--color auto")
    profile, nodes = common.pop("profile"), common.pop("nodes")
    with open_session(Options(Look(**common), profile, nodes)) as session:
        try:
            code = body(session, **given)
        except ClusterError as error:  # told here, where it is known which colours are wanted
            logging.getLogger(__name__).info("failed", exc_info=error)
            session.screen.error(error)
            code = error.code
    raise typer.Exit(code or 0)


def _signature(body: Body, options: Sequence[str]) -> inspect.Signature:
    hints = typing.get_type_hints(body, localns={"Session": object}, include_extras=True)  # stays unimported
    own = list(inspect.signature(body).parameters.values())[1:]
    mine = [p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    shared = [
        inspect.Parameter(
            option, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[option], annotation=_COMMON[option]
        )
        for option in options
    ]
    return inspect.Signature([*mine, *shared])


def _help(body: Body, examples: Sequence[str]) -> str:
    r"""Examples stand first: they are what people copy. ``\b`` keeps a paragraph's lines as they are."""
    summary, _, rest = inspect.cleandoc(body.__doc__ or "").partition("\n")
    shown = "\n".join(f"  {example}" for example in examples)
    return f"{summary}\n\n\b\nExamples:\n{shown}\n\n{rest.strip()}".strip()
