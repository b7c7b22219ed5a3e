"""Hosts to tune: a lab with a profile, a journal of the test's own, and the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import golden
from tests.lab.cluster import Lab
from tests.lab.paths import ROOT

LOCK = "/tmp/maccluster.lock"


class Floor:
    """What a test of the change story needs at hand."""

    root = str(ROOT)

    def __init__(self, lab: Lab, folder: Path) -> None:
        folder.chmod(0o755)
        self.lab = lab
        self.profile = folder / "floor.toml"
        self.state = folder / "state"
        text = lab.profile(self.profile)
        self.profile.write_text(text.replace("connect_timeout_s = 5", "connect_timeout_s = 2"))

    @property
    def env(self) -> dict[str, str]:
        return {
            "MACCLUSTER_PROFILE": str(self.profile),
            "XDG_STATE_HOME": str(self.state),
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TERM": "dumb",
        }

    def cli(self, *argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the command line; nobody sits at its stdin."""
        return self.lab.cli(*argv, env=self.env, **{"stdin": subprocess.DEVNULL, **options})

    def start(self, *argv: str) -> subprocess.Popen[str]:
        """Start the command line and do not wait."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return self.lab.popen("ctl", *self.words(*argv), env=self.env, cwd=self.root, **options)

    def words(self, *argv: str, module: str = "maccluster_cli") -> tuple[str, ...]:
        return (sys.executable, "-m", module, *argv)

    def wish(self, text: str, node: str = "") -> None:
        """Add lines to what the profile wants of all nodes, or of one."""
        table = f"nodes.{node}.tune" if node else "defaults.tune"
        self.profile.write_text(f"{self.profile.read_text()}\n[{table}]\n{text}\n")

    def journal(self) -> list[dict[str, Any]]:
        """All entries, oldest first; raises where one cannot be read."""
        files = sorted((self.state / "maccluster" / "journal").glob("*.json"))
        return [json.loads(file.read_text()) for file in files]

    def snapshots(self, names: Sequence[str] | None = None) -> dict[str, str]:
        return {name: self.lab.snapshot(name) for name in names or self.lab.hosts}

    def locks(self, names: Sequence[str] | None = None) -> list[str]:
        """Hosts that are locked."""
        hosts = names or self.lab.hosts
        return [name for name in hosts if self.lab.exec(name, "test", "-L", LOCK).returncode == 0]

    def slow(self, name: str, command: str, seconds: float, words: str = "*") -> None:
        """Let a command of a host take its time where its words fit."""
        script = (
            f'f=$(command -v {command}) && mv "$f" "$f.real" && cat >"$f" <<END && chmod 755 "$f"\n'
            f'#!/bin/sh\ncase " \\$* " in {words}) sleep {seconds} ;; esac\nexec "$f.real" "\\$@"\nEND'
        )
        self.lab.exec(name, "sh", "-c", script, check=True)


def holds(name: str, done: subprocess.CompletedProcess[str]) -> None:
    """Compare what people saw with a golden file of changes."""
    golden.holds(f"change/{name}.txt", golden.plainly(done.stderr))
