"""Errors a user can meet: what happened, on which node, what to type next, which exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

OK = 0
FAILED = 1  # failed on a node, declined, or verification failed
USAGE = 2
PENDING = 3  # changes are pending (only with --check)
UNREACHABLE = 4  # node unreachable or login refused
BUG = 70
INTERRUPTED = 130


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'tiny'?)`` for a slip of the finger, nothing for a word that resembles none."""
    close = difflib.get_close_matches(word, list(known), 1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


class ClusterError(Exception):
    """A failure the user can act on; ``node`` is empty when it concerns no single node."""

    code = FAILED

    def __init__(self, message: str, *, hint: str = "", node: str = "", code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.node = node
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.node}: {self.message}" if self.node else self.message


class UsageError(ClusterError):
    """What was typed, or a file that was named, cannot be right."""

    code = USAGE


class ProfileError(UsageError):
    """A profile or recipe that cannot be read: file, key and what was expected."""


class UnreachableError(ClusterError):
    """No connection, no login, or a host key that must not be trusted."""

    code = UNREACHABLE
