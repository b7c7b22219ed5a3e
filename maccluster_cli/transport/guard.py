"""A timed revert on a node, armed before a change that may cut it off. Pure.

It must outlive the SSH session. On a Mac only a root LaunchDaemon does that for sure (a child of a session
that ended may lose its rights on the network). It survives a reboot too, and reverts after it. On Linux it is
a process in a session of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from maccluster_cli.transport import batch
from maccluster_cli.values import DARWIN, LINUX, Command

LABEL = "io.maccluster.revert"
FOLDER = "/var/tmp/maccluster-revert"  # noqa: S108  # the node's own, kept over a reboot
_STOP = Command(("/bin/launchctl", "bootout", f"system/{LABEL}"), sudo=True, system=DARWIN)
_PLIST = f"/Library/LaunchDaemons/{LABEL}.plist"


def arm(back: Sequence[Command], seconds: int, system: str) -> tuple[Command, ...]:
    """Commands that make the node run ``back`` by itself in ``seconds``, unless ``disarm`` comes first.

    ``back`` ends with whatever gives the node free again, since nobody else may be there to do it.
    """
    text = _revert(back, seconds, system)
    lay = 'umask 077; rm -rf "$1"; mkdir "$1" && printf "%s\\n" "$2" >"$1/revert.sh" && : >"$1/armed"'
    stage = Command(("sh", "-c", lay, "sh", FOLDER, text), system=system, vital=True)
    if system == LINUX:
        go = 'setsid sh "$1/revert.sh" </dev/null >"$1/log" 2>&1 &'
        return (stage, Command(("sh", "-c", go, "sh", FOLDER), system=LINUX, vital=True))
    plist = Command(
        ("sh", "-c", 'printf "%s" "$2" >"$1/job.plist"', "sh", FOLDER, _plist()), system=DARWIN, vital=True
    )
    owner = ("-o", "root", "-g", "wheel", "-m", "0644")
    install = Command(
        ("/usr/bin/install", *owner, f"{FOLDER}/job.plist", _PLIST), sudo=True, system=DARWIN, vital=True
    )
    start = Command(("/bin/launchctl", "bootstrap", "system", _PLIST), sudo=True, system=DARWIN, vital=True)
    return (
        stage,
        plist,
        _STOP,
        install,
        start,
    )  # an earlier job of that name would keep this one from loading


def disarm(system: str) -> tuple[Command, ...]:
    """Commands that confirm: the revert that waits finds nothing to do, and leaves nothing behind.

    The first fails where the revert has begun: then it is too late to confirm.
    """
    stand_down = Command(("rm", f"{FOLDER}/armed"), system=system, vital=True)
    return (stand_down, *clear(system))


def clear(system: str) -> tuple[Command, ...]:
    """Commands that take a guard away for good; the next user of the node finds its place free."""
    gone = Command(("rm", "-rf", FOLDER), system=system)
    if system == LINUX:
        return (gone,)
    remove = Command(("/bin/rm", "-f", _PLIST), sudo=True, system=DARWIN)
    return (_STOP, remove, gone)


def rules() -> tuple[str, ...]:
    """What sudo must allow for it on a Mac, word for word."""
    return tuple(dict.fromkeys(" ".join(c.argv) for c in (*arm((), 1, DARWIN), *disarm(DARWIN)) if c.sudo))


def _revert(back: Sequence[Command], seconds: int, system: str) -> str:
    done = f"/bin/rm -f {_PLIST}; /bin/launchctl bootout system/{LABEL}" if system == DARWIN else ":"
    lines = [batch.words(command) for command in back]
    # polls, so that a confirmation also ends the wait; the arithmetic is the shell's own
    wait = f"i=0; while [ $i -lt {seconds} ]; do [ -e {FOLDER}/armed ] || exit 0; sleep 1; i=$((i+1)); done"
    begin = f"{wait}; mv {FOLDER}/armed {FOLDER}/reverting || exit 0"
    return "\n".join(
        (
            f"[ -e {FOLDER}/reverting ] || {{ {begin}; }}",  # a power cut in the middle: it begins again
            *lines,
            f"mv {FOLDER}/reverting {FOLDER}/reverted",
            done,
        )
    )


def _plist() -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
        f'<plist version="1.0"><dict><key>Label</key><string>{LABEL}</string>'
        f"<key>ProgramArguments</key><array><string>/bin/sh</string><string>{FOLDER}/revert.sh</string></array>"
        "<key>RunAtLoad</key><true/></dict></plist>\n"
    )
