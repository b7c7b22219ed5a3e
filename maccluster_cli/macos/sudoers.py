"""The lines for sudoers under which maccluster sets a Mac without a password."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maccluster_cli.macos.tuning import clock, files, launchdaemon, memory, names, power
from maccluster_cli.values import Command, Refusal

_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}", re.ASCII)
_SPECIAL = re.compile(r"([\\,:=])")
_MINUTES, _MEGABYTES, _COUNT = 5, 8, 8  # digits; patterns of one digit each match nothing but digits


def lines(user: str) -> tuple[str, ...]:
    """One rule a command: exact paths, exact words, and digits where a number goes.

    What they amount to, honestly: `user` may place LaunchDaemons whose text he writes, which `launchd` runs
    as root at boot; with the lines of the timed revert, which `doctor` adds, at once. So this is root. The
    list keeps a slip or a stray script from doing harm and says in the log what was done; it does not hold
    back someone who means harm. Names match anything, since a Mac's old name may be any text.
    """
    if not _USER.fullmatch(user):
        raise Refusal(f"{user!r} is no user name that a sudoers line could hold")
    return tuple(f"{user} ALL=(root) NOPASSWD: {rule}" for rule in _rules())


def _rules() -> Iterator[str]:
    for key in power.MINUTES:
        yield from _numbered(f"{power.PMSET} -c {key} ", _MINUTES)
    for key in power.SWITCHES:
        yield f"{power.PMSET} -c {key} [01]"
    yield from (f"{power.PMSET} -c lowpowermode [01]", f"{power.PMSET} -c powermode [012]")
    yield from _numbered(f"{launchdaemon.SYSCTL} {memory.NAME}=", _MEGABYTES)
    for name in (files.TOTAL, files.EACH):
        yield from _numbered(f"{launchdaemon.SYSCTL} {name}=", _COUNT)
    for label in (launchdaemon.WIRED, launchdaemon.FILES):
        yield from map(_exact, (step(label) for step in _STEPS))
    for kind in names.KINDS:
        yield f"{names.SCUTIL} --set {kind} *"
    yield from (f"{clock.SYSTEMSETUP} -setusingnetworktime {word}" for word in ("on", "off"))
    yield from (_exact(clock.NETWORK_TIME), f"/usr/bin/sntp -sS {clock.SERVER}")


_STEPS = (launchdaemon.install, launchdaemon.settle, launchdaemon.remove)


def _digits(most: int) -> Iterator[str]:
    return ("[0-9]" * count for count in range(1, most + 1))


def _numbered(start: str, most: int) -> Iterator[str]:
    return (_escaped(f"{start}{digits}") for digits in _digits(most))


def _exact(command: Command) -> str:
    return _escaped(" ".join(command.argv))


def _escaped(words: str) -> str:
    """Sudoers gives these four characters a meaning inside arguments."""
    return _SPECIAL.sub(r"\\\1", words)
