"""The lock on a node, run by a shell: taken once, told of, broken only from the one who was seen."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maccluster_cli.transport import guard, lock
from maccluster_cli.values import Command, Reply

HOLDER = lock.Holder("ann", "desk", 4711, "2026-11-30T17:05:01Z", "tune 20261130-170501-3f9a")
GONE = 999_999_9  # no process has such a number


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where this test's lock and revert lie."""
    return tmp_path


def run(place: Path, command: Command) -> Reply:
    moved = {lock.PATH: str(place / "lock"), guard.FOLDER: str(place / "revert")}
    argv = [moved.get(word, word) for word in command.argv]
    done = subprocess.run(argv, capture_output=True, check=False)
    return Reply(command, done.returncode, done.stdout, done.stderr)


def test_one_takes_it_the_other_is_told(place: Path) -> None:
    assert run(place, lock.take(HOLDER)).code == 0
    second = run(place, lock.take(replace(HOLDER, user="bob")))
    assert second.code == lock.HELD
    assert lock.held_by(second) == replace(HOLDER, shell=os.getpid())
    run(place, lock.give(HOLDER))
    assert run(place, lock.take(HOLDER)).code == 0


def test_given_back_it_is_gone_and_may_be_given_twice(place: Path) -> None:
    for _ in range(2):
        assert run(place, lock.give(HOLDER)).code == 0
    run(place, lock.take(HOLDER))
    run(place, lock.give(HOLDER))
    assert list(place.iterdir()) == []


def test_nobody_gives_back_what_is_anothers(place: Path) -> None:
    run(place, lock.take(replace(HOLDER, user="bob")))
    assert run(place, lock.give(HOLDER)).code == 0
    assert (place / "lock").is_symlink()


@pytest.mark.parametrize("state", ["armed", "reverting"])
def test_nobody_takes_it_while_a_revert_waits(place: Path, state: str) -> None:
    (place / "revert").mkdir()
    (place / "revert" / state).touch()
    assert run(place, lock.take(HOLDER)).code == lock.REVERTING
    assert not (place / "lock").is_symlink()


def lay(place: Path, holder: lock.Holder) -> None:
    (place / "lock").symlink_to(f"{holder.line()}\t{holder.shell}")


def test_broken_from_the_one_who_was_seen(place: Path) -> None:
    dead = replace(HOLDER, shell=GONE)
    lay(place, dead)
    assert run(place, lock.break_(dead)).code == 0
    assert not (place / "lock").is_symlink()


def test_not_broken_when_it_has_changed_hands(place: Path) -> None:
    lay(place, replace(HOLDER, user="bob", shell=GONE))
    run(place, lock.break_(replace(HOLDER, shell=GONE)))
    assert (place / "lock").is_symlink()


def test_a_script_that_still_runs_there_is_waited_for(place: Path) -> None:
    with subprocess.Popen(["sh", "-c", "sleep 0.6; exit 0"]) as old:
        dead = replace(HOLDER, shell=old.pid)
        lay(place, dead)
        words = [str(place / "lock") if w == lock.PATH else w for w in lock.break_(dead).argv]
        with subprocess.Popen(words) as breaking:
            time.sleep(0.3)
            assert breaking.poll() is None
            assert (place / "lock").is_symlink()
            assert old.wait() == 0
            assert breaking.wait() == 0
    assert not (place / "lock").is_symlink()


@pytest.mark.parametrize("mark", ["armed", "reverting"])
def test_not_broken_while_a_revert_waits(place: Path, mark: str) -> None:
    dead = replace(HOLDER, shell=GONE)
    lay(place, dead)
    (place / "revert").mkdir()
    (place / "revert" / mark).touch()
    assert run(place, lock.break_(dead)).code == lock.REVERTING
    assert (place / "lock").is_symlink()


def test_a_folder_in_its_place_is_nobodys(place: Path) -> None:
    (place / "lock").mkdir()
    reply = run(place, lock.take(HOLDER))
    assert (reply.code, lock.held_by(reply)) == (lock.HELD, None)
    assert list((place / "lock").iterdir()) == []


def test_where_no_lock_can_be_made_it_says_why(place: Path) -> None:
    command = lock.take(HOLDER)
    argv = tuple(str(place / "none" / "lock") if w == lock.PATH else w for w in command.argv)
    reply = run(place, replace(command, argv=argv))
    assert reply.code == 73
    assert b"No such file or directory" in reply.err


@given(st.binary(max_size=200), st.sampled_from([None, 0, 1, lock.HELD]))
def test_whatever_a_lock_says_is_read_or_left(said: bytes, code: int | None) -> None:
    holder = lock.held_by(Reply(lock.give(HOLDER), code, said))
    assert holder is None or code == lock.HELD


@given(
    st.builds(
        lock.Holder,
        *[st.text("abc .-_é", max_size=20)] * 2,
        st.integers(0, 4_000_000),
        *[st.text("abc 0:-", max_size=20)] * 2,
        st.integers(0, 4_000_000),
    )
)
def test_what_is_written_is_read(holder: lock.Holder) -> None:
    said = f"{holder.line()}\t{holder.shell}\n".encode()
    assert lock.held_by(Reply(lock.give(HOLDER), lock.HELD, said)) == holder
