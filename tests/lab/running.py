"""Running commands in a lab: on its hosts, on its controller, by ssh."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lab.network import CONTROLLER
from tests.lab.paths import MARK, ROOT, Paths
from tests.lab.topology import Host

HOST_ENVIRONMENT = ("PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/var/root")
AGENTS = ("SSH_AUTH_SOCK", "SSH_AGENT_PID")


class Runner:
    """The half of a lab that starts commands; `Lab` is the other half."""

    paths: Paths
    hosts: dict[str, Host]
    controller: int | None

    def _enter(self, where: str, cwd: str | None = None) -> tuple[str, ...]:
        """Words that put a command inside; `env -C` since the working directory belongs to the old mounts."""
        if where == CONTROLLER:
            return ("nsenter", "-t", str(self.controller), "-m", "-n", "env", "-C", cwd or str(Path.cwd()))
        spaces = ("nsenter", "-t", str(self._alive(where).pid), "-m", "-u", "-i", "-n", "-p", "-r")
        return (*spaces, "env", "-i", "-C", cwd or "/", *HOST_ENVIRONMENT)

    def _alive(self, name: str) -> Host:
        host = self.hosts[name]
        if host.pid is None:
            raise LookupError(f"{name} is off")
        return host

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Environment of the controller: a private home, no agent."""
        kept = {k: v for k, v in os.environ.items() if k not in AGENTS and not k.startswith("XDG_")}
        home = self.paths.home
        private = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            MARK: self.paths.prefix,
        }
        return {**kept, **private, **(extra or {})}

    def exec(
        self,
        where: str,
        *argv: str,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root on a host or on `ctl`; output is captured as text unless told else."""
        options = {"capture_output": True, "text": True, "timeout": 60, **options}
        check = options.pop("check", False)
        words = (*self._enter(where, cwd), *argv)
        return subprocess.run(words, env=self.environment(env), check=check, **options)

    def popen(
        self,
        where: str,
        *argv: str,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        **options: Any,
    ) -> subprocess.Popen[str]:
        """Start a command as `exec` does. On `ctl` its pid is the command's own; on a host it is that of a
        parent outside, so killing it leaves the command to the host."""
        options = {"text": True, **options}
        return subprocess.Popen((*self._enter(where, cwd), *argv), env=self.environment(env), **options)

    def ssh(self, host: str, command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a shell line on a host as its user, by ssh from the controller."""
        return self.exec(CONTROLLER, "ssh", host, command, **options)

    def cli(self, *argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the command line under test on the controller."""
        return self.exec(
            CONTROLLER, sys.executable, "-m", "maccluster_cli", *argv, **{"cwd": str(ROOT), **options}
        )
