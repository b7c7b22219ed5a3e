"""The script that finds a worker's versions runs in a real shell, over environments made up here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maccluster_cli.pyenv import parse_worker, worker_command
from maccluster_cli.transport import batch
from maccluster_cli.values import Command, Reply

# macOS lets bash, dash or zsh be its sh
SHELLS = ["sh", "dash", "bash --posix", "zsh --emulate sh", "busybox sh"]


def run(python: str, cwd: Path | None = None, **env: str) -> Reply:
    command = worker_command(python)
    done = subprocess.run(
        command.argv, capture_output=True, check=False, cwd=cwd, env={"PATH": "/usr/bin:/bin", **env}
    )
    return Reply(command, done.returncode, done.stdout, done.stderr)


def venv(root: Path, *packages: str, version: str = "version = 3.11.7", folder: str = "python3.11") -> Path:
    """An environment whose Python fails when it is started, so that starting it cannot go unseen."""
    (root / "bin").mkdir(parents=True)
    python = root / "bin" / "python"
    python.write_text("#!/bin/sh\necho started >&2\nexit 9\n")
    python.chmod(0o755)
    (root / "pyvenv.cfg").write_text(f"home = /usr/bin\ninclude-system-site-packages = false\n{version}\n")
    for package in packages:
        (root / "lib" / folder / "site-packages" / f"{package}.dist-info").mkdir(parents=True)
    return python


def versions(python: str | None, mlx: str | None = None, mlx_lm: str | None = None) -> dict[str, str | None]:
    return {"worker.python": python, "worker.mlx": mlx, "worker.mlx_lm": mlx_lm, "worker.error": None}


@pytest.mark.parametrize(
    "version",
    [
        "version = 3.11.7",
        "version_info = 3.11.7",
        "version_info = 3.11.7.final.0",
        "version = 3.11.7\nprompt = x",
    ],
)
def test_a_venv_is_read_without_starting_python(tmp_path: Path, version: str) -> None:
    python = venv(tmp_path / "venv", "mlx-0.32.4", "mlx_lm-0.32.2", "mlx_metal-0.32.4", version=version)
    reply = run(str(python))
    assert reply.err == b""
    assert parse_worker(reply) == versions("3.11.7", "0.32.4", "0.32.2")


def test_paths_may_hold_spaces_and_quotes(tmp_path: Path) -> None:
    python = venv(tmp_path / 'it\'s a "venv" $HOME', "mlx-0.32.4")
    assert parse_worker(run(str(python))) == versions("3.11.7", "0.32.4")


def test_a_missing_package_is_unknown_and_no_error(tmp_path: Path) -> None:
    assert parse_worker(run(str(venv(tmp_path / "venv")))) == versions("3.11.7")


def test_packages_of_another_python_do_not_count(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv", "mlx-0.30.0", folder="python3.10")
    assert parse_worker(run(str(python))) == versions("3.11.7")


def test_a_cfg_without_a_final_newline(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("version = 3.12.1")
    assert parse_worker(run(str(python)))["worker.python"] == "3.12.1"


def test_home_is_the_nodes(tmp_path: Path) -> None:
    venv(tmp_path / "env", "mlx-0.32.4")
    assert parse_worker(run("~/env/bin/python", HOME=str(tmp_path))) == versions("3.11.7", "0.32.4")


def test_a_bare_name_is_found_on_path(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv", "mlx-0.32.4")
    assert parse_worker(run("python", PATH=str(python.parent) + ":/bin:/usr/bin")) == versions(
        "3.11.7", "0.32.4"
    )


@pytest.mark.parametrize(
    ("python", "wanted"),
    [
        ("no-such-python", "no-such-python is not on PATH"),
        ("/no/such place/python", "/no/such place/python does not exist"),
        ("/", "/ cannot be executed"),
        ("./plain", "./plain cannot be executed"),
        ("./gone", "./gone points to a Python that is gone"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, python: str, wanted: str) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "gone").symlink_to(tmp_path / "upgraded away")
    found = parse_worker(run(python, cwd=tmp_path))
    assert found["worker.error"] == wanted
    assert found["worker.python"] is None


def test_outside_a_venv_python_itself_is_asked(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "mlx-9.8.7.dist-info").mkdir(parents=True)
    (site / "mlx_lm-6.5.dist-info").mkdir()
    plain = tmp_path / "bin" / "python"
    plain.parent.mkdir()
    plain.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    plain.chmod(0o755)
    found = parse_worker(run(str(plain), PYTHONPATH=str(site)))
    assert found == versions(".".join(map(str, sys.version_info[:3])), "9.8.7", "6.5")


def test_a_venv_that_borrows_system_packages_is_asked(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("include-system-site-packages = true\nversion = 3.11.7\n")
    assert parse_worker(run(str(python)))["worker.error"] == "started"


def test_a_venv_without_a_version_is_asked(tmp_path: Path) -> None:
    assert parse_worker(run(str(venv(tmp_path / "venv", version=""))))["worker.error"] == "started"


def test_this_environment_is_read_right() -> None:
    found = parse_worker(run(sys.executable))
    assert found["worker.python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["worker.mlx"]


@pytest.mark.parametrize("shell", SHELLS)
def test_any_posix_shell_will_do(tmp_path: Path, shell: str) -> None:
    python = venv(tmp_path / "a venv", "mlx-0.32.4")
    if not shutil.which(shell.partition(" ")[0]):
        pytest.skip(f"no {shell} here")
    argv = (*shell.split(), *worker_command(str(python)).argv[1:])
    done = subprocess.run(argv, capture_output=True, check=True)
    assert parse_worker(Reply(Command(argv), 0, done.stdout)) == versions("3.11.7", "0.32.4")


def test_it_survives_being_quoted_into_a_batch(tmp_path: Path) -> None:
    command = worker_command(str(venv(tmp_path / "it's one", "mlx-0.32.4")))
    done = subprocess.run(("sh", "-c", batch.words(command)), capture_output=True, check=True)
    assert parse_worker(Reply(command, 0, done.stdout)) == versions("3.11.7", "0.32.4")


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_is_content() -> None:
    script = worker_command("python").argv[2]
    done = subprocess.run(
        ("shellcheck", "-s", "sh", "-"), input=script.encode(), capture_output=True, check=False
    )
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (Reply(Command(("sh",)), None), "no answer in time"),
        (Reply(Command(("sh",)), 1), "Python did not say its version"),
        (
            Reply(Command(("sh",)), 1, b"", b"first\nxcode-select: error: No developer tools\n"),
            "xcode-select: error: No developer tools",
        ),
        (Reply(Command(("sh",)), 0, b"python=none\n"), "python=none"),
    ],
)
def test_a_failure_is_quoted(reply: Reply, wanted: str) -> None:
    assert parse_worker(reply)["worker.error"] == wanted


@given(st.binary(), st.binary(), st.none() | st.integers(0, 255))
def test_any_bytes_are_survived(out: bytes, err: bytes, code: int | None) -> None:
    found = parse_worker(Reply(Command(("sh",)), code, out, err))
    assert (found["worker.python"] is None) == (found["worker.error"] is not None)
