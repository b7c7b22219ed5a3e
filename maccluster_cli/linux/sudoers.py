"""The lines for sudoers under which maccluster sets a Linux node without a password."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maccluster_cli.linux.tuning import clock, files, governor, kernel, placing, sleep
from maccluster_cli.values import Command, Refusal

_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}", re.ASCII)
_SPECIAL = re.compile(r"([\\,:=])")
_PLACES = (kernel.SYSCTL_FILE, kernel.SYSCTL_FILES_FILE, kernel.LIMITS_FILE, kernel.GOVERNOR_FILE)
_STEPS = (placing.install, placing.settle, placing.remove)


def lines(user: str) -> tuple[str, ...]:
    """One rule a command: exact paths and words; of kernel values the name is fixed and the numbers open.

    Numbers are regular expressions, which sudo knows since 1.9.10: its `*` would let further words through.
    What they amount to, honestly: `user` writes the text of files below /etc/sysctl.d and /etc/tmpfiles.d
    that root carries out, so this is root for whoever means harm. The list keeps a slip or a stray script
    from doing harm and says in the log what was done.
    """
    if not _USER.fullmatch(user):
        raise Refusal(f"{user!r} is no user name that a sudoers line could hold")
    return tuple(f"{user} ALL=(root) NOPASSWD: {rule}" for rule in _rules())


def _rules() -> Iterator[str]:
    for verb in ("mask", "unmask"):
        yield from (f"{sleep.SYSTEMCTL} {verb} {target}" for target in sleep.TARGETS)
    for place in _PLACES:
        yield from map(_exact, (step(place) for step in _STEPS))
    for name in (*kernel.BUFFERS, files.CAP):
        numbers = " ".join(["[0-9]+"] * (3 if ".tcp_" in name else 1))
        yield f"{kernel.SYSCTL} ^-q -w {name.replace('.', '[.]')}\\={numbers}$"
    yield f"{governor.TMPFILES} --create {kernel.GOVERNOR_FILE}"
    yield from (f"{clock.TIMEDATECTL} set-ntp {word}" for word in ("true", "false"))


def _exact(command: Command) -> str:
    return _escaped(" ".join(command.argv))


def _escaped(words: str) -> str:
    """Sudoers gives these four characters a meaning inside arguments."""
    return _SPECIAL.sub(r"\\\1", words)
