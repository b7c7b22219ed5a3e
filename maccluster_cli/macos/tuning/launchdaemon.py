"""Kernel values that must come back at boot: one LaunchDaemon each, which runs `sysctl` once and ends.

A daemon is not loaded when it is placed: `launchd` finds it at the next boot, and now the value is set
directly. So neither way needs `bootstrap` or `bootout`, which fail when a job is, or is not, loaded already;
every command here may be repeated, and stopping after any of them leaves either the old file or the new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from maccluster_cli.values import DARWIN, Command, Fact

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

FOLDER = "/Library/LaunchDaemons"
STAGING = "/var/tmp/maccluster-tune"  # noqa: S108  # made anew and private each time; see _STAGE
SYSCTL = "/usr/sbin/sysctl"
WIRED = "io.maccluster.wired-limit"
FILES = "io.maccluster.files-limit"

LIST = Command(("ls", FOLDER), system=DARWIN)
_PATHS = tuple(f"{FOLDER}/{label}.plist" for label in (WIRED, FILES))
OURS = Command(("head", "-n", "60", "--", *_PATHS), system=DARWIN)

# `mkdir` fails when the folder is there, so what is in it is ours; the rename keeps a cut text from sight.
_STAGE = (
    'umask 077; rm -rf "$1" && mkdir "$1" && f=$2 && shift 2 && '
    'printf "%s\\n" "$@" >"$f.part" && mv -f "$f.part" "$f"'
)
_TITLE = re.compile(r"^==> (/\S+) <==$", re.MULTILINE)
_DTD = "http://www.apple.com/DTDs/PropertyList-1.0.dtd"
_COMMAND_MISSING = 127
UNREADABLE = ()


def root(*argv: str) -> Command:
    """One command for root."""
    return Command(argv, sudo=True, system=DARWIN)


def path(label: str) -> str:
    """Where a daemon's file lies."""
    return f"{FOLDER}/{label}.plist"


def staged(label: str) -> str:
    """Where its text is laid first, by the user."""
    return f"{STAGING}/{label}.plist"


def text(label: str, settings: Iterable[str]) -> tuple[str, ...]:
    """The lines of a daemon that gives `sysctl` these settings at boot."""
    words = (SYSCTL, *settings)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "{_DTD}">',
        '<plist version="1.0">',
        "<dict>",
        "    <key>Label</key>",
        f"    <string>{label}</string>",
        "    <key>ProgramArguments</key>",
        "    <array>",
        *(f"        <string>{word}</string>" for word in words),
        "    </array>",
        "    <key>RunAtLoad</key>",
        "    <true/>",
        "</dict>",
        "</plist>",
    )


def install(label: str) -> Command:
    """Copy the staged text beside its place, owned as `launchd` wants it; `.new` is no name it reads."""
    owner = ("-o", "root", "-g", "wheel", "-m", "0644")
    return root("/usr/bin/install", *owner, staged(label), f"{path(label)}.new")


def settle(label: str) -> Command:
    """Put it in its place in one step."""
    return root("/bin/mv", "-f", f"{path(label)}.new", path(label))


def remove(label: str) -> Command:
    """Take it away; what was never there is no error."""
    return root("/bin/rm", "-f", path(label), f"{path(label)}.new")


def persist(label: str, settings: Iterable[str] | None) -> tuple[Command, ...]:
    """Make these settings come back at boot, or no longer: None removes the daemon."""
    if settings is None:
        return (remove(label),)
    lay = ("sh", "-c", _STAGE, "stage", STAGING, staged(label), *text(label, settings))
    return (
        Command(lay, system=DARWIN, vital=True),  # without it `install` might take another one's file
        install(label),
        settle(label),
        Command(("rm", "-r", "-f", STAGING), system=DARWIN),
    )


def labels(reply: Reply) -> tuple[str, ...] | None:
    """Labels of the daemons on disk, by their files' names; Apple's own lie elsewhere."""
    if reply.code != 0:
        return None
    names = (line.strip() for line in reply.text.splitlines())
    return tuple(sorted(name.removesuffix(".plist") for name in names if name.endswith(".plist")))


def contents(reply: Reply) -> dict[str, str] | None:
    """Text by path of our own daemons; those that are not there are left out."""
    if reply.code in (None, _COMMAND_MISSING):
        return None
    told = reply.text
    titles = list(_TITLE.finditer(told))
    ends = [*(title.start() for title in titles), len(told)][1:]
    return {title[1]: told[title.end() : end] for title, end in zip(titles, ends, strict=True)}


def at_boot(parts: Mapping[str, object], label: str, *names: str) -> tuple[int, ...] | None:
    """Values that our daemon sets at boot; None when there is no such daemon, else `UNREADABLE`."""
    known, files = parts.get("daemons"), parts.get("raw.daemons")
    if not isinstance(known, tuple) or not isinstance(files, Mapping):
        return UNREADABLE
    if label not in known:
        return None
    told = str(files.get(path(label), ""))
    found = [re.search(rf"<string>{re.escape(name)}=(\d{{1,9}})</string>", told, re.ASCII) for name in names]
    values = tuple(int(one[1]) for one in found if one)
    return values if len(values) == len(names) else UNREADABLE


FACTS = (
    Fact("daemons", LIST, labels),
    Fact("raw.daemons", OURS, contents),
)
