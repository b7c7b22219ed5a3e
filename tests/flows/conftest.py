"""What the stories over the lab have in common."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cluster import Lab

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def profile(lab: Lab, tmp_path: Path) -> Path:
    """The lab as a profile file that the controller can read."""
    tmp_path.chmod(0o755)
    file = tmp_path / "lab.toml"
    lab.profile(file)
    return file


@pytest.fixture
def cli(lab: Lab, profile: Path) -> Cli:
    """The command line on the lab's controller, with the lab's profile in force; no colours, 100 columns."""

    def run(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
        env = {
            "MACCLUSTER_PROFILE": str(profile),
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TERM": "dumb",
            **options.pop("env", {}),
        }
        return lab.cli(*argv, env=env, **options)

    return run


def data(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one JSON object on stdout."""
    value: dict[str, Any] = json.loads(done.stdout)
    assert value["schema"] == 1
    return value
