"""Many commands in one script and their replies back out: run for real in the shells that users have."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maccluster_cli.transport import batch
from maccluster_cli.transport.base import ask
from maccluster_cli.transport.local import LocalTransport
from maccluster_cli.values import Command, Node

SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish") if shutil.which(shell)]
HERE = LocalTransport(Node("here", "", local=True))


def said(*commands: Command) -> list[tuple[int | None, bytes, bytes] | None]:
    return [None if r is None else (r.code, r.out, r.err) for r in ask(HERE, commands)]


def test_each_command_answers_for_itself() -> None:
    assert said(
        Command(("printf", "a\\n\\n")),
        Command(("sh", "-c", "printf x >&2; exit 7")),
        Command(("printf", "%s", "no newline")),
        Command(("true",)),
    ) == [(0, b"a\n\n", b""), (7, b"", b"x"), (0, b"no newline", b""), (0, b"", b"")]


def test_bytes_come_through_unchanged() -> None:
    [(code, out, _)] = [
        r for r in said(Command(("sh", "-c", "head -c 300000 /dev/zero; printf '\\377\\n'"))) if r
    ]
    assert code == 0
    assert out == bytes(300000) + b"\xff\n"


def test_commands_of_another_system_do_not_run() -> None:
    here = subprocess.run(["uname", "-s"], capture_output=True, text=True, check=True).stdout.strip()
    assert said(Command(("echo", "x"), system="Plan9"), Command(("echo", "y"), system=here)) == [
        None,
        (0, b"y\n", b""),
    ]


def test_a_command_that_hangs_is_named_and_ended() -> None:
    started = time.monotonic()
    marker = "61.7315"
    replies = said(
        Command(("echo", "before"), timeout_s=1),
        Command(("sleep", marker), timeout_s=1),
        Command(("echo", "after"), timeout_s=1),
    )
    assert replies == [(0, b"before\n", b""), (None, b"", b""), (None, b"", b"")]
    assert time.monotonic() - started < 10
    running = subprocess.run(["pgrep", "-f", f"sleep {marker}"], check=False, capture_output=True)
    assert running.returncode == 1, "the hung command must not outlive its controller"


def test_commands_read_nothing_from_the_lifeline() -> None:
    assert said(Command(("cat",)), Command(("echo", "z"))) == [(0, b"", b""), (0, b"z\n", b"")]


def test_output_that_looks_like_a_frame_is_only_output() -> None:
    assert said(Command(("printf", "\\n_deadbeef 0 0\\n"))) == [(0, b"\n_deadbeef 0 0\n", b"")]


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=25, deadline=None)
@given(
    words=st.lists(
        st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), min_size=1, max_size=4
    )
)
def test_quoted_words_survive_every_login_shell(shell: str, words: list[str]) -> None:
    line = batch.shell(" ".join(["printf", "'%s\\0'", *map(batch.quote, words)]))
    done = subprocess.run([shell, "-c", line], capture_output=True, check=True)
    assert done.stdout == b"".join(word.encode() + b"\0" for word in words)


def test_sudo_never_asks() -> None:
    assert batch.words(Command(("pmset", "-a", "sleep", "0"), sudo=True)) == "sudo -n -- pmset -a sleep 0"


def test_scripts_pass_shellcheck() -> None:
    if not shutil.which("shellcheck"):
        pytest.fail("shellcheck is part of the test machine's packages")
    commands = (Command(("ls", "it's")), Command(("uname",), system="Linux"), Command(("id",), sudo=True))
    scripts = (batch.script(commands, "_x"), batch.with_payload('"$_in" a', 3), batch.alone("ps | head"))
    for script in scripts:  # SC2015: the last branch is meant to run when either of the first two fails
        done = subprocess.run(
            ["shellcheck", "-s", "sh", "-e", "SC2015", "-"],
            input=script,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_a_payload_is_a_private_file_that_goes_away() -> None:
    body = b'#!/bin/sh\nls -l "$0" | cut -c1-10; echo "$0 $1"\n'
    out, err = bytearray(), bytearray()
    stream = HERE.open(batch.with_payload('"$_in" arg', len(body)), body)
    code = stream.pump(out.extend, err.extend)
    stream.close()
    mode, where = out.decode().splitlines()
    assert (code, mode, where.split()[1], bytes(err)) == (0, "-rwx------", "arg", b"")
    assert not Path(where.split()[0]).exists()


def test_nothing_runs_after_a_vital_command_that_failed() -> None:
    vital = Command(("sh", "-c", "echo no; exit 9"), vital=True)
    assert said(Command(("echo", "a")), vital, Command(("echo", "b"))) == [
        (0, b"a\n", b""),
        (9, b"no\n", b""),
        (None, b"", b""),
    ]
    fine = Command(("echo", "yes"), vital=True)
    assert said(fine, Command(("echo", "b"))) == [(0, b"yes\n", b""), (0, b"b\n", b"")]


def test_an_untied_script_goes_on_without_its_controller(tmp_path: Path) -> None:
    commands = (
        Command(("sleep", "0.5")),
        Command(("echo", "still here")),
        Command(("touch", str(tmp_path / "done"))),
    )
    process = subprocess.Popen(
        ["sh", "-c", batch.script(commands, "_x", tied=False)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream
        stream.close()  # the controller is gone, before the first command ended
    process.wait(10)
    assert (tmp_path / "done").exists()
