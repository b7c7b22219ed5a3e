"""Puts profile, transport, screen and log together, once a call."""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
from collections.abc import Container, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from maccluster_cli import remember, shelf, store
from maccluster_cli.nodeset import fold, select
from maccluster_cli.transport.fleet import Fleet
from maccluster_cli.ui.screen import Look, Screen
from maccluster_cli.values import Node, Profile

if TYPE_CHECKING:
    from maccluster_cli.transport.dial import Trust


@dataclass(frozen=True, slots=True)
class Options:
    """What every subcommand takes."""

    look: Look = field(default_factory=Look)
    profile: str | None = None
    nodes: str | None = None


class Session:
    """One call of maccluster. Nothing is read, opened or imported before it is used."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.screen = Screen(options.look)
        self.log = _start_log(self.screen)
        self._fleet: Fleet | None = None

    @functools.cached_property
    def profile(self) -> Profile:
        """The profile in force, checked."""
        return remember.profile(self.profile_file)

    @property
    def profile_file(self) -> Path:
        """The file of the profile in force."""
        return self.profile_source[0]

    @functools.cached_property
    def profile_source(self) -> tuple[Path, str]:
        """The file, and what chose it: a flag, a variable, a place or the built-in default."""
        file, source = shelf.profile_file(self.options.profile)
        logging.getLogger(__name__).info("profile %s (from %s)", file, source)
        return file, source

    @property
    def profile_id(self) -> str:
        """Which cluster the journal's entries belong to: two profiles may call different machines alike."""
        return str(self.profile_file.resolve())

    @functools.cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that ``--nodes`` selects, all of the profile's without it."""
        wish = self.options.nodes
        return self.profile.nodes if wish is None else select(wish, self.profile.nodes)

    def asking(self) -> AbstractContextManager[None]:
        """A sign of life while the selected nodes are asked."""
        return self.screen.waiting(f"asking {fold(node.name for node in self.nodes)} …")

    def narrow(self, names: Container[str]) -> None:
        """Only these of the selected nodes; must come before the first use of ``fleet``."""
        self.nodes = tuple(node for node in self.nodes if node.name in names)

    @property
    def fleet(self) -> Fleet:
        """Doors to the selected nodes."""
        if self._fleet is None:
            self._fleet = Fleet(self.nodes, self.profile.connect_timeout_s, self._trust())
        return self._fleet

    @staticmethod
    def python(node: Node) -> str | None:
        """The interpreter of a node's ranks; on this machine our own unless the profile says otherwise."""
        return node.python or (sys.executable if node.local else None)

    def close(self) -> None:
        """Drop all connections."""
        if self._fleet is not None:
            self._fleet.close()

    def _trust(self) -> Trust | None:
        """Trust on first use is asked, so it needs somebody who can answer."""
        if self.options.look.no_input or not sys.stdin.isatty():
            return None
        return lambda node, kind, fingerprint: self.screen.agree(
            f"{node} is new here. Its host key is {kind} {fingerprint}. Trust it?", "--yes"
        )


@contextlib.contextmanager
def open_session(options: Options) -> Iterator[Session]:
    """A session that leaves no connection behind."""
    session = Session(options)
    try:
        yield session
    finally:
        session.close()


def _start_log(screen: Screen) -> Path | None:
    """Everything goes to a file of this call; the screen shows less. Never a reason to fail."""
    file = store.open_log()
    if file is None:
        return None
    handler = logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.raiseExceptions = False  # a log on a full disk must not write tracebacks on the screen
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("paramiko").setLevel(logging.WARNING)
    logging.getLogger(__name__).info("argv %s", _argv(sys.argv))
    if screen.look.verbose:
        screen.say(f"log: {file}")
    return file


def _argv(words: Sequence[str]) -> str:
    return " ".join(words)
