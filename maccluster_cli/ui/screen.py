"""One screen a call: colour, quiet, JSON or plain, questions, errors. Rich loads on the first table."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from maccluster_cli.errors import ClusterError, UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SCHEMA = 1
# C0 and C1 controls except tab and newline: a node must not be able to repaint the user's terminal
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WIDE = 1000  # where nobody looks through a terminal, no cell is folded
_NARROW = 40
_PATIENCE_S = 0.5  # before a person is told what is being waited for


@dataclass(frozen=True, slots=True)
class Look:
    """How the person, or the program, wants to be spoken to."""

    json: bool = False
    plain: bool = False
    color: str = "auto"
    quiet: bool = False
    verbose: int = 0
    no_input: bool = False


def clean(text: str) -> str:
    r"""Text from a node without terminal control: escapes become visible ``\x1b``."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


class Screen:
    """stdout and stderr of this call. All drawing goes through here."""

    def __init__(self, look: Look, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.look = look
        self.out = out or sys.stdout
        self.err = err or sys.stderr

    def say(self, text: str = "") -> None:
        """A line for people; silent with --quiet."""
        if not self.look.quiet:
            print(clean(text), file=self.err, flush=True)

    def warn(self, text: str) -> None:
        """A line that quiet does not swallow."""
        print(f"{self._paint('warning', '33')}: {clean(text)}", file=self.err, flush=True)

    def error(self, error: ClusterError) -> None:
        """What happened, where, and what to type next."""
        for line in str(error).splitlines():
            print(f"{self._paint('error', '31')}: {clean(line)}", file=self.err)
        if error.hint:
            print(f" next: {clean(error.hint)}", file=self.err)
        self.err.flush()

    def write(self, text: str) -> None:
        """A line of data."""
        print(text, file=self.out, flush=True)

    def data(self, value: Mapping[str, Any]) -> None:
        """One JSON object with our schema number: a promise to programs."""
        self.write(json.dumps({"schema": SCHEMA, **value}, default=_jsonable))

    def records(self, rows: Iterable[Sequence[str]]) -> None:
        """``--plain``: one tab-separated record a line."""
        for row in rows:
            self.write("\t".join(clean(cell).replace("\t", " ").replace("\n", " ") for cell in row))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table for people on stdout, or records with --plain."""
        if self.look.plain:
            self.records(rows)
            return
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(_text(cell) for cell in row))
        self.draw(table)

    def draw(self, what: RenderableType) -> None:
        """Something Rich knows how to draw, on stdout."""
        self.console(self.out).print(what)

    def console(self, stream: TextIO) -> Console:
        """A Rich console that follows our colour rules."""
        from rich.console import Console

        columns = os.environ.get("COLUMNS", "")
        wished = max(int(columns), _NARROW) if columns.isdecimal() and int(columns) else None
        width = wished or (None if stream.isatty() else _WIDE)
        return Console(
            file=stream,
            force_terminal=self.colored(stream),
            no_color=not self.colored(stream),
            width=width,
            highlight=False,
            emoji=False,
            markup=False,
        )

    def colored(self, stream: TextIO | None = None) -> bool:
        """--color, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal that can."""
        if self.look.color != "auto":
            return self.look.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return (stream or self.err).isatty() and os.environ.get("TERM") != "dumb"

    def lively(self) -> bool:
        """Whether stderr can be redrawn: a terminal, and nobody asked for calm."""
        calm = self.look.quiet or os.environ.get("MACCLUSTER_NO_PROGRESS") or os.environ.get("TERM") == "dumb"
        return self.err.isatty() and not calm

    @contextlib.contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """A sign of life at a terminal, for as long as nothing else is to be seen."""
        if not self.lively():
            yield
            return
        timer = threading.Timer(_PATIENCE_S, lambda: print(clean(text), end="", file=self.err, flush=True))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            print("\r\x1b[K", end="", file=self.err, flush=True)

    def agree(self, question: str, flag: str) -> bool:
        """Ask yes or no. Never hangs: without a terminal it refuses and names the flag."""
        if self.look.no_input or not sys.stdin.isatty():
            raise UsageError("this needs a yes, and nobody is here to give it", hint=f"add {flag}")
        self.err.write(f"{clean(question)} [y/N] ")
        self.err.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    def _paint(self, word: str, code: str) -> str:
        return f"\x1b[{code}m{word}\x1b[0m" if self.colored(self.err) else word


def _text(cell: str) -> Any:
    from rich.text import Text

    return Text(clean(cell))


def _jsonable(value: Any) -> Any:
    from dataclasses import asdict, is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)
