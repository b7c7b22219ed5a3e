"""Output of many nodes, folded: what is the same is said once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maccluster_cli.errors import UNREACHABLE
from maccluster_cli.flows.run import Ran, UnfinishedError
from maccluster_cli.nodeset import fold
from maccluster_cli.ui.screen import Screen, clean

if TYPE_CHECKING:
    from maccluster_cli.flows.run import Line
    from maccluster_cli.transport.fleet import Outcome


def show(screen: Screen, outcomes: Sequence[Outcome[Ran]], *, streamed: bool) -> int:
    """Show what every node said and return the largest exit code."""
    done = [(o.node.name, o.value) for o in outcomes if o.error is None]
    cut = [
        (o.node.name, Ran(0, o.error.out, o.error.err))
        for o in outcomes
        if isinstance(o.error, UnfinishedError)
    ]
    if screen.look.json:
        screen.data({"nodes": [_record(o) for o in outcomes]})
    elif not streamed:
        _texts(screen, [*done, *cut], alone=len(outcomes) == 1)
    _codes(screen, done)
    return max([_errors(screen, outcomes), *(ran.code for _, ran in done)])


def live(screen: Screen) -> Line:
    """A sink for whole lines that puts the node in front and keeps lines whole."""
    lock = threading.Lock()

    def line(node: str, data: bytes, is_err: bool) -> None:
        with lock:
            stream = screen.err if is_err else screen.out
            print(f"{node}: {clean(data.decode('utf-8', 'replace'))}", file=stream, flush=True)

    return line


def _texts(screen: Screen, done: Sequence[tuple[str, Ran]], *, alone: bool) -> None:
    for is_err in (False, True):
        groups: dict[bytes, list[str]] = {}
        for name, ran in done:
            groups.setdefault(ran.err if is_err else ran.out, []).append(name)
        for text, names in groups.items():
            if text:
                _block(screen, names, text, is_err=is_err, alone=alone)


def _block(screen: Screen, names: Sequence[str], text: bytes, *, is_err: bool, alone: bool) -> None:
    stream = screen.err if is_err else screen.out
    if screen.look.plain:
        for name in names:
            for line in text.decode("utf-8", "replace").splitlines():
                print(f"{name}\t{clean(line)}", file=stream)
    elif alone and not stream.isatty():  # one node, a pipe: every byte as it came
        stream.flush()
        stream.buffer.write(text)
        stream.buffer.flush()
    else:
        lines = clean(text.decode("utf-8", "replace")).splitlines()
        head = f"{fold(names)}:"
        short = len(lines) == 1
        print(
            f"{head} {lines[0]}" if short else "\n".join([head, *(f"  {line}" for line in lines)]),
            file=stream,
        )
    stream.flush()


def _codes(screen: Screen, done: Sequence[tuple[str, Ran]]) -> None:
    groups: dict[int, list[str]] = {}
    for name, ran in done:
        if ran.code:
            groups.setdefault(ran.code, []).append(name)
    for code, names in sorted(groups.items()):
        screen.warn(f"{fold(names)}: exit code {code}")


def _errors(screen: Screen, outcomes: Sequence[Outcome[Ran]]) -> int:
    errors = [o.error for o in outcomes if o.error is not None]
    for error in errors:
        screen.error(error)
    return max((error.code for error in errors), default=0)


def _record(outcome: Outcome[Ran]) -> dict[str, Any]:
    error = outcome.error
    if error is None:
        return {
            "node": outcome.node.name,
            "status": "done",
            "code": outcome.value.code,
            **_streams(outcome.value),
        }
    kind = "unreachable" if error.code == UNREACHABLE else "failed"
    said = _streams(error) if isinstance(error, UnfinishedError) else {}
    return {"node": outcome.node.name, "status": kind, "error": error.message, "hint": error.hint, **said}


def _streams(ran: Ran | UnfinishedError) -> dict[str, str]:
    out, err = (data.decode("utf-8", "backslashreplace") for data in (ran.out, ran.err))
    return {"stdout": out, "stderr": err}
