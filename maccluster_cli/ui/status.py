"""One line a node, once or again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from maccluster_cli.errors import UNREACHABLE
from maccluster_cli.flows.look import View
from maccluster_cli.ui import units
from maccluster_cli.ui.screen import Screen

_COLUMNS = ("node", "state", "load", "memory free", "power", "sleep", "up", "disk free", "jobs")


def show(screen: Screen, views: Sequence[View], profile: tuple[Path, str]) -> None:
    """The nodes' lines, then what is wrong with those that did not answer."""
    if screen.look.json:
        screen.data({"nodes": [_record(view) for view in views], "profile": str(profile[0])})
        return
    screen.table(_COLUMNS, [_row(view) for view in views])
    if screen.look.verbose:
        screen.say(f"profile: {profile[0]} (from {profile[1]})")
    for view in views:
        if view.error:
            screen.error(view.error)


def again(
    screen: Screen, look: Callable[[], Sequence[View]], draw: Callable[[Sequence[View]], int], every_s: float
) -> int:
    """Repeat until Ctrl-C; at a terminal the old table stays until the new one is there."""
    while True:
        views = look()
        if screen.out.isatty() and not (screen.look.json or screen.look.plain):
            screen.write("\x1b[2J\x1b[H" + time.strftime("%H:%M:%S") + "  (Ctrl-C ends)")
        draw(views)
        time.sleep(every_s)


def _row(view: View) -> tuple[str, ...]:
    facts = view.facts
    if view.error:
        return (view.node.name, _state(view), *("" for _ in _COLUMNS[2:]))
    load = facts.get("os.load_1m")
    sleep = facts.get("power.sleep_min")
    return (
        view.node.name,
        _state(view),
        units.UNKNOWN if load is None else f"{load:.2f}",
        f"{units.size(facts.get('mem.free_bytes'))} of {units.size(facts.get('hw.memory_bytes'))}",
        units.known(facts.get("power.source")),
        units.UNKNOWN if sleep is None else "never" if sleep == 0 else f"{sleep} min",
        units.span(facts.get("os.uptime_s")),
        units.size(facts.get("disk.free_bytes")),
        ", ".join(view.jobs) or "-",
    )


def _state(view: View) -> str:
    if view.error is None:
        return "up"
    return "unreachable" if view.error.code == UNREACHABLE else "failed"


def _record(view: View) -> dict[str, Any]:
    names = (
        "os.load_1m",
        "mem.free_bytes",
        "hw.memory_bytes",
        "power.source",
        "power.sleep_min",
        "os.uptime_s",
        "disk.free_bytes",
    )
    error = {"message": view.error.message, "hint": view.error.hint} if view.error else None
    facts = {name: view.facts.get(name) for name in names}
    return {
        "node": view.node.name,
        "state": _state(view),
        "error": error,
        "facts": facts,
        "jobs": list(view.jobs),
    }
