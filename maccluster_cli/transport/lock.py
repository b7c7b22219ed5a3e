"""A lock on a node: a link that only one controller can make, and that says who, when and what. Pure.

A symbolic link is made together with its text in one step, so a controller that dies never leaves a lock
of which nobody knows the owner. It points nowhere and nothing follows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from maccluster_cli.transport.guard import FOLDER
from maccluster_cli.values import Command, Reply

PATH = "/tmp/maccluster.lock"  # noqa: S108  # one for all users of the node; macOS empties it at boot
HELD = 75  # EX_TEMPFAIL of sysexits: try again later; 73, EX_CANTCREAT, where no lock can be made
REVERTING = 76
_LINE = re.compile(r"([^\t]*)\t([^\t]*)\t(\d{1,9})\t([^\t]*)\t([^\t]*)\t(\d{1,9})", re.ASCII)
_TAKE = (
    '[ ! -e "$3/armed" ] && [ ! -e "$3/reverting" ] || exit 76; '
    '[ ! -d "$1" ] || exit 75; e=$(ln -s "$2\t$PPID" "$1" 2>&1) && exit 0; '
    'readlink "$1" && exit 75; printf "%s\\n" "$e" >&2; exit 73'
)
_GIVE = 'case "$(readlink "$1")" in "$2"*) rm -f "$1" ;; esac'
# A script outlives its dead controller by two seconds at most; a revert that waits will change the node.
_BREAK = (
    '[ ! -e "$4/armed" ] && [ ! -e "$4/reverting" ] || exit 76; '
    'i=0; while kill -0 "$3" 2>/dev/null && [ $i -lt 30 ]; do sleep 0.1; i=$((i+1)); done; '
    '[ "$(readlink "$1")" != "$2" ] || rm -f "$1"'
)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: user, controller, process there, since when, for what; and the shell on the node."""

    user: str
    controller: str
    pid: int
    since: str
    what: str
    shell: int = 0

    def line(self) -> str:
        """What a lock says; the node adds the number of its shell."""
        return "\t".join((self.user, self.controller, str(self.pid), self.since, self.what))


def take(holder: Holder) -> Command:
    """Take the lock; vital, so that nothing happens on a node that somebody else is changing."""
    return Command(("sh", "-c", _TAKE, "sh", PATH, holder.line(), FOLDER), vital=True)


def give(holder: Holder) -> Command:
    """Give it back, if it is still ours: a revert may come after a reboot, and find another's."""
    return Command(("sh", "-c", _GIVE, "sh", PATH, f"{holder.line()}\t"))


def break_(holder: Holder) -> Command:
    """Take it from a holder that is dead, unless it has changed hands; REVERTING where a revert waits."""
    return Command(
        ("sh", "-c", _BREAK, "sh", PATH, f"{holder.line()}\t{holder.shell}", str(holder.shell), FOLDER)
    )


def held_by(reply: Reply) -> Holder | None:
    """Who was faster, out of the reply to ``take``; None where the lock was ours or says nothing readable."""
    found = _LINE.fullmatch(reply.text.rstrip("\n")) if reply.code == HELD else None
    if found is None:
        return None
    user, controller, pid, since, what, shell = found.groups()
    return Holder(user, controller, int(pid), since, what, int(shell))
