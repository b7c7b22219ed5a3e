"""A lock on a node: a folder that only one controller can make, with who, when and what inside. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from maccluster_cli.values import Command, Reply

PATH = "/tmp/maccluster.lock"  # noqa: S108  # one for all users of the node; macOS empties it at boot
HELD = 75  # EX_TEMPFAIL of sysexits: try again later
_TAKE = 'mkdir "$1" 2>/dev/null || { cat "$1/who" 2>/dev/null; exit 75; }; printf "%s\\n" "$2" >"$1/who"'


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, in five fields: user, controller, process there, since when, for what."""

    user: str
    controller: str
    pid: int
    since: str
    what: str

    def line(self) -> str:
        """The one line that stands in the lock."""
        return "\t".join((self.user, self.controller, str(self.pid), self.since, self.what))


def take(holder: Holder) -> Command:
    """Take the lock; vital, so that nothing happens on a node that somebody else is changing."""
    return Command(("sh", "-c", _TAKE, "sh", PATH, holder.line()), vital=True)


def give() -> Command:
    """Give it back."""
    return Command(("rm", "-rf", PATH))


def held_by(reply: Reply) -> Holder | None:
    """Who was faster, out of the reply to ``take``; None where the lock was ours or says nothing readable."""
    fields = reply.text.strip().split("\t")
    if reply.code != HELD or len(fields) != 5 or not fields[2].isdecimal():  # noqa: PLR2004
        return None
    return Holder(fields[0], fields[1], int(fields[2]), fields[3], fields[4])
