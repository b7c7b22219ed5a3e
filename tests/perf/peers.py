"""The peers, in an environment of their own, asked for the same: run ``true`` on these hosts, cold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.lab.cluster import Lab

PACKAGES = ("ClusterShell==1.10.1", "ansible-core==2.19.14", "pyinfra==3.10.0")


def environment() -> Path:
    """A venv with the peers that are Python programs; made once, kept in the user's cache."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "maccluster-perf"
    if not (home / "bin" / "pyinfra").exists():
        subprocess.run(["uv", "venv", "-q", "--clear", "-p", sys.executable, str(home)], check=True)
        subprocess.run(["uv", "pip", "install", "-q", "-p", str(home), *PACKAGES], check=True)
    return home


def commands(lab: Lab, names: Sequence[str], folder: Path) -> dict[str, tuple[str, ...]]:
    """Peer to command line. All of them verify host keys and use the lab's ssh_config."""
    bin_, config = environment() / "bin", lab.paths.home / ".ssh" / "config"
    hosts, count = ",".join(names), str(len(names))
    inventory = _inventory(lab, names, folder)
    found: dict[str, tuple[str, ...]] = {
        "clush": (str(bin_ / "clush"), "-S", "-f", count, "-w", hosts, "-o", f"-F {config}", "true"),
        "ansible -m raw": (
            str(bin_ / "ansible"), "all", "-i", f"{hosts},", "-f", count, "-m", "raw", "-a", "true",
        ),
        "pyinfra exec": (str(bin_ / "pyinfra"), "-y", "--parallel", count, inventory, "exec", "--", "true"),
    }  # fmt: skip
    if pdsh := shutil.which("pdsh"):
        found = {"pdsh": (pdsh, "-S", "-R", "ssh", "-l", "mac", "-f", count, "-w", hosts, "true"), **found}
    return found


def deploy(lab: Lab, names: Sequence[str], folder: Path, sleep: int) -> tuple[str, ...]:
    """The same settings as a pyinfra deploy, which runs each and reads nothing before or after."""
    plist = "/Library/LaunchDaemons/io.example.wired.plist"
    lines = [
        "from io import StringIO",
        "from pyinfra.operations import files, server",
        *(
            f"server.shell(name={key!r}, commands=['sudo -n /usr/bin/pmset -c {key} {value}'])"
            for key, value in (
                ("sleep", sleep),
                ("disksleep", sleep),
                ("autorestart", 1),
                ("powernap", sleep % 2),
            )
        ),
        "server.shell(name='wired', commands=['sudo -n /usr/sbin/sysctl iogpu.wired_limit_mb=40960'])",
        f"files.put(name='boot', src=StringIO('<plist/>\\n'), dest='/tmp/wired{sleep}.plist', mode='644')",
        f"place = 'sudo -n /usr/bin/install -m 0644 /tmp/wired{sleep}.plist {plist}'",
        "server.shell(name='place', commands=[place])",
    ]
    file = folder / f"deploy{sleep}.py"
    file.write_text("\n".join(lines) + "\n")
    return (
        str(environment() / "bin" / "pyinfra"),
        "-y",
        "--parallel",
        str(len(names)),
        _inventory(lab, names, folder),
        str(file),
    )


def variables(lab: Lab) -> dict[str, str]:
    """What the peers read from the environment instead of from flags."""
    config = lab.paths.home / ".ssh" / "config"
    return {
        "PDSH_SSH_ARGS_APPEND": f"-F {config}",
        "ANSIBLE_SSH_ARGS": f"-F {config} -o ControlMaster=no",
        "ANSIBLE_REMOTE_USER": "mac",
        "ANSIBLE_NOCOWS": "1",
        "LC_ALL": "C.UTF-8",
    }


def _inventory(lab: Lab, names: Sequence[str], folder: Path) -> str:
    ssh = lab.paths.home / ".ssh"
    data = {
        "ssh_user": "mac",
        "ssh_key": str(ssh / "id_ed25519"),
        "ssh_known_hosts_file": str(ssh / "known_hosts"),
        "ssh_allow_agent": False,
        "ssh_look_for_keys": False,
    }
    hosts = [(name, {"ssh_hostname": lab.hosts[name].lan_ip, **data}) for name in names]
    file = folder / f"inventory{len(names)}.py"
    file.write_text(f"hosts = {hosts!r}\n")
    return str(file)
