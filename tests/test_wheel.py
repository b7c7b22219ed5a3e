"""What is installed is whole: profiles, completions and manual are in the wheel, and the code finds them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_a_wheel_in_a_clean_environment(tmp_path: Path) -> None:
    uv = shutil.which("uv") or pytest.fail("uv runs the tests and builds the wheel")
    quiet = {**os.environ, "UV_NO_PROGRESS": "1", "VIRTUAL_ENV": ""}

    def sh(*argv: str, **env: str) -> str:
        words = (*argv,)
        done = subprocess.run(
            words, capture_output=True, text=True, env={**quiet, **env}, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    sh(uv, "build", "--wheel", "-o", str(tmp_path / "dist"), str(ROOT))
    [wheel] = (tmp_path / "dist").glob("maccluster_cli-*.whl")
    sh(uv, "venv", "-q", "-p", sys.executable, str(tmp_path / "env"))
    sh(uv, "pip", "install", "-q", "-p", str(tmp_path / "env"), str(wheel))
    command = str(tmp_path / "env" / "bin" / "maccluster")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "MACCLUSTER_PROFILE": ""}
    listed = sh(command, "profile", "list", "--plain", **home)
    site = str(tmp_path / "env" / "lib")
    for name in ("local", "mac-mini-x4", "mac-studio-x2", "tiny"):
        assert name in listed
    assert all(line.split("\t")[2].startswith(site) for line in listed.splitlines())
    share = tmp_path / "env" / "share"
    for file in (
        "bash-completion/completions/maccluster",
        "zsh/site-functions/_maccluster",
        "fish/vendor_completions.d/maccluster.fish",
        "man/man1/maccluster.1",
    ):
        assert (share / file).is_file(), file
    assert sh(command, "run", "--", "echo", "here", **home) == "here\n"
