"""Many commands as one POSIX script, and their replies back out of its two streams. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from maccluster_cli.values import Command, Reply

# The controller holds the script's stdin open. When it goes away, or gives up waiting, stdin ends and the
# whole process group with it: nothing a lost controller started runs on, also what ignores a polite signal. A
# script that comes to its own end takes the lifeline with it; one that the lifeline ends leaves it its work.
# fd 3 keeps stdin out of reach of the commands themselves, which read nothing.
_LIFELINE = (
    "exec 3<&0 </dev/null",
    "(trap '' TERM; read -r _ <&3; kill -TERM 0; sleep 2; kill -KILL 0) >/dev/null 2>&1 & _life=$!",
    '_bye() { [ -z "$_life" ] || kill -KILL "$_life" 2>/dev/null; [ -z "$_in" ] || rm -f "$_in"; }',
    "trap _bye EXIT; trap '_life=; exit 143' TERM",
)
_ALONE = ("trap '' HUP PIPE", "exec 3</dev/null </dev/null")


def quote(word: str) -> str:
    """One word for any login shell: sh, zsh, bash and fish read this the same way."""
    if re.fullmatch(r"[A-Za-z0-9_@%+:,./-]+", word):
        return word
    # fish gives a backslash inside single quotes a meaning, sh does not; inside double quotes both agree
    return "'" + word.replace("'", "'\"'\"'").replace("\\", "'\"\\\\\"'") + "'"


def words(command: Command) -> str:
    """The command line of one command, sudo included (never asking for a password)."""
    argv = ("sudo", "-n", "--", *command.argv) if command.sudo else command.argv
    return " ".join(quote(word) for word in argv)


def shell(script: str) -> str:
    """The line for a login shell, whichever it is, that runs ``script`` in sh without a process between."""
    return f"exec /bin/sh -c {quote(script)}"


def script(commands: Sequence[Command], mark: str, *, tied: bool = True) -> str:
    """One script for all commands; ``mark`` must be unguessable, since it frames what they print.

    A ``tied`` script ends with its controller. One that is not goes on to its end, as a change must that cuts
    the very connection it came by.
    """
    frame = f'printf \'\\n{mark} %s %s\\n\' "$1" "$2"'
    start = ("_in=", *_LIFELINE) if tied else _ALONE
    lines = [*start, f"_done() {{ {frame}; {frame} >&2; }}"]
    if any(command.system for command in commands):
        lines.append("_os=$(uname -s)")
    lines += [_framed(command, index) for index, command in enumerate(commands)]
    return "\n".join(lines)


def _framed(command: Command, index: int) -> str:
    body = f"{words(command)} 3<&-; _done {index} $?"
    if command.vital:
        body = f"{words(command)} 3<&-; _rc=$?; _done {index} $_rc; [ $_rc = 0 ] || exit 0"
    if not command.system:
        return body
    return f'if [ "$_os" = {quote(command.system)} ]; then {body}; else _done {index} -; fi'


def alone(line: str) -> str:
    """One shell line with the lifeline around it; the script's exit code is the line's."""
    return "\n".join(("_in=", *_LIFELINE, f"{{ {line}\n}} 3<&-"))


def with_payload(line: str, size: int) -> str:
    """``line`` (using "$_in") with the first ``size`` bytes of stdin laid in that private file."""
    return "\n".join(
        (
            '_in=$(mktemp "${TMPDIR:-/tmp}/maccluster.XXXXXX") || exit 73',
            f'head -c {size} >"$_in" && chmod 700 "$_in" || {{ rm -f "$_in"; exit 73; }}',
            *_LIFELINE,
            f"{{ {line}\n}} 3<&-",
        )
    )


def replies(commands: Sequence[Command], mark: str, out: bytes, err: bytes) -> list[Reply | None]:
    """One reply a command; None for a command of another system, code None for one that never finished."""
    outs, out_rest = _frames(out, mark)
    errs, err_rest = _frames(err, mark)
    answers: list[Reply | None] = []
    for index, command in enumerate(commands):
        if index in outs:
            code, text = outs[index]
            said = errs.get(index, (code, b""))[1]
            answers.append(None if code == b"-" else Reply(command, int(code), text, said))
        elif index == len(outs):  # frames come in order: this one was running when the stream ended
            answers.append(Reply(command, None, out_rest, err_rest))
        else:
            answers.append(Reply(command, None))
    return answers


def _frames(stream: bytes, mark: str) -> tuple[dict[int, tuple[bytes, bytes]], bytes]:
    frame = re.compile(rb"\n" + re.escape(mark.encode()) + rb" (\d+) (\d+|-)\n")
    parts: dict[int, tuple[bytes, bytes]] = {}
    start = 0
    for found in frame.finditer(stream):
        parts[int(found[1])] = (found[2], stream[start : found.start()])
        start = found.end()
    return parts, stream[start:]


def env_words(env: Iterable[tuple[str, str]]) -> str:
    """``export`` lines for a script."""
    return "\n".join(f"export {name}={quote(value)}" for name, value in env)
