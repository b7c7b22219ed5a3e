"""A training run as it goes: one live panel at a terminal, one line every few seconds elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from maccluster_cli.ui import units
from maccluster_cli.ui.screen import Screen, clean

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from maccluster_cli.flows.job import Rank
    from maccluster_cli.flows.train import Result

_CALM_S = 2.0  # between two lines where nothing can be redrawn


class Progress:
    """Draws what ranks report. Use as a context manager; ``on_event`` is for the job."""

    def __init__(self, screen: Screen, steps: int, run_id: str) -> None:
        self._screen = screen
        self._steps = steps
        self._run_id = run_id
        self._step: Mapping[str, Any] = {}
        self._floor: float | None = None
        self._last_line_at = 0.0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._screen.lively():
            from rich.live import Live

            self._live = Live(
                console=self._screen.console(self._screen.err), refresh_per_second=8, transient=True
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def on_event(self, ranks: Sequence[Rank], rank: int, event: Mapping[str, Any]) -> None:
        """Take in one event and redraw."""
        kind = event.get("event")
        if kind == "start":
            self._started(ranks, rank, event)
        elif kind == "data":
            self._floor = event.get("entropy_floor_nats_per_byte")
        elif kind == "score":
            self._say(f"held-out score {event['when']} training: {_score(event)}")
        elif kind == "step" and rank == 0:
            self._step = event
            self._step_line()
        elif kind == "ended" and event.get("code") != 0:
            self._say(f"rank {rank} on {ranks[rank].launch.node} ended: {_code(event.get('code'))}")
        if self._live:
            self._live.update(self._panel(ranks))

    def _started(self, ranks: Sequence[Rank], rank: int, event: Mapping[str, Any]) -> None:
        where = f"{ranks[rank].launch.node} (pid {event.get('pid')}, {event.get('device', '?')})"
        self._say(
            f"rank {rank} of {event.get('world_size', len(ranks))} runs on {where}, mlx {event.get('mlx')}"
        )

    def _step_line(self) -> None:
        """Where lines cannot be redrawn: the first step, the last, and one now and then."""
        step, now = int(self._step.get("step", 0)) + 1, time.monotonic()
        if self._live or (1 < step < self._steps and now - self._last_line_at < _CALM_S):
            return
        self._last_line_at = now
        self._screen.say(self._sentence())

    def _sentence(self) -> str:
        step = self._step
        floor = f" (floor {self._floor:.3f})" if self._floor is not None else ""
        parts = [f"step {step['step'] + 1}/{self._steps}" if step else "no step yet"]
        if step.get("loss") is not None:
            parts.append(f"loss {step['loss']:.3f}{floor}")
        if step.get("tokens_per_s") is not None:
            parts.append(f"{step['tokens_per_s']:,.0f} tokens/s")
        if step.get("skipped"):
            parts.append("skipped: gradients were not finite")
        return "  ".join(parts)

    def _say(self, text: str) -> None:
        if self._live:
            self._live.console.print(clean(text))
        else:
            self._screen.say(text)

    def _panel(self, ranks: Sequence[Rank]) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        table.add_row(Text(self._run_id, style="bold"), Text(self._sentence()))
        for rank in ranks:
            table.add_row(Text(f"rank {rank.launch.rank}"), Text(clean(f"{rank.launch.node}  {rank.state}")))
        return table


def opening(screen: Screen, recipe: str, description: str, world_size: int, nodes: str) -> None:
    """What is about to happen, before anything does."""
    screen.say(f"{recipe}: {description}" if description else recipe)
    screen.say(f"{world_size} ranks on {nodes}")


def closing(screen: Screen, result: Result, summary: Mapping[str, Any]) -> None:
    """The figures that a person remembers."""
    if screen.look.json:
        screen.data(summary)
        return
    if result.status != "done":
        screen.say(f"{result.status} after {result.steps} steps; manifest: {summary['manifest']}")
        return
    floor = result.floor
    before, after = (_score(result.score.get(when)) for when in ("before", "after"))
    rows = [
        ("loss", f"{_loss(summary['first_loss'])} -> {_loss(summary['final_loss'])}"),
        ("held-out", f"{before} -> {after}"),
        ("tokens/s", f"{summary['tokens_per_second'] or 0:,.0f}"),
        ("wall time", units.span(result.wall_s)),
        ("model", f"{result.seats[0].node}:{result.saved}" if result.saved else "not saved"),
        ("manifest", str(summary["manifest"])),
    ]
    if floor is not None:
        rows.insert(1, ("entropy floor", f"{floor:.3f} nats/byte: no model can go below"))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        if screen.look.plain:
            screen.records([(name, value)])
        else:
            screen.write(f"{name:<{width}}  {clean(value)}")


def _loss(value: Any) -> str:
    return units.UNKNOWN if value is None else f"{value:.3f}"


def _score(score: Mapping[str, Any] | None) -> str:
    """Sums are right or wrong; of other texts only the loss can be told."""
    if score and score.get("exact") is not None:
        return f"{score['exact']}/{score['of']} exact"
    return f"loss {_loss(score.get('loss'))}" if score else units.UNKNOWN


def _code(code: Any) -> str:
    if code is None:
        return "its connection was lost"
    return f"signal {code - 128}" if code > 128 else f"exit code {code}"  # noqa: PLR2004
