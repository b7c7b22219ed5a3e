"""Files of ours below /etc: laid by the user, copied by root beside their place, moved there in one step."""

from __future__ import annotations

from collections.abc import Iterable

from maccluster_cli.values import LINUX, Command

STAGING = "/var/tmp/maccluster-tune"  # noqa: S108  # made anew and private each time; see _STAGE
HEAD = "# written by maccluster tune; it takes it away again"

# `mkdir` fails when the folder is there, so what is in it is ours; the rename keeps a cut text from sight.
_STAGE = (
    'umask 077; rm -rf "$1" && mkdir "$1" && f=$2 && shift 2 && '
    'printf "%s\\n" "$@" >"$f.part" && mv -f "$f.part" "$f"'
)


def root(*argv: str) -> Command:
    """One command for root."""
    return Command(argv, sudo=True, system=LINUX)


def staged(path: str) -> str:
    """Where a file's text is laid first, by the user."""
    return f"{STAGING}/{path.strip('/').replace('/', '-')}"


def install(path: str) -> Command:
    """Copy the staged text beside its place; no reader of these folders takes a name that ends in `.new`."""
    owner = ("-o", "root", "-g", "root", "-m", "0644")
    return root("/usr/bin/install", *owner, staged(path), f"{path}.new")


def settle(path: str) -> Command:
    """Put it in its place in one step."""
    return root("/usr/bin/mv", "-f", f"{path}.new", path)


def remove(path: str) -> Command:
    """Take it away; what was never there is no error."""
    return root("/usr/bin/rm", "-f", path, f"{path}.new")


def put(path: str, lines: Iterable[str] | None) -> tuple[Command, ...]:
    """Give a file these lines, or take it away (None); safe to repeat and to stop after any command."""
    if lines is None:
        return (remove(path),)
    lay = ("sh", "-c", _STAGE, "stage", STAGING, staged(path), HEAD, *lines)
    return (
        Command(lay, system=LINUX, vital=True),  # without it `install` might take another one's file
        install(path),
        settle(path),
        Command(("rm", "-r", "-f", STAGING), system=LINUX),
    )
