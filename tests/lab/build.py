"""Builds a lab: state directory, keys, layers, namespaces, links, hosts; in this order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from tests.lab import answers, cleanup, kernel, layers, network
from tests.lab.network import CONTROLLER, LOOPED, SWITCH
from tests.lab.paths import FACTS, ROOT, Paths
from tests.lab.topology import Host, Request, lay_out

KEYGEN = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "")
END_LIMIT_S = 10.0


def helper(paths: Paths, verb: str, words: Iterable[str]) -> subprocess.Popen[str]:
    """Start the process that may fork and change namespaces."""
    argv = (sys.executable, "-m", "tests.lab.boot", verb, paths.prefix, *words)
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, cwd=ROOT, env=paths.environment(), text=True, stdout=pipe, stderr=pipe)


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate()
    if process.returncode:
        raise RuntimeError(f"lab: {err.strip() or process.returncode}")
    return out


def start(paths: Paths, names: Iterable[str]) -> dict[str, int]:
    pids: dict[str, int] = json.loads(finish(helper(paths, "start", names)))
    return pids


def wait_for_banners(paths: Paths, hosts: Iterable[Host]) -> None:
    finish(helper(paths, "wait", [host.lan_ip for host in hosts]))


def wait_for_end(pid: int) -> None:
    """A killed PID 1 is gone only when the kernel has ended all processes of its namespace.

    It is a zombie from then on, for as long as the machine's own PID 1 takes to notice.
    """
    end = time.monotonic() + END_LIMIT_S
    while _runs(pid) and time.monotonic() < end:
        time.sleep(0.002)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _make_keys(paths: Paths, hosts: Iterable[Host]) -> None:
    """One key for the user and one for each host; all at once, they cost some milliseconds each."""
    paths.key.parent.mkdir(parents=True, mode=0o700)
    jobs = [(*KEYGEN, "-C", "lab", "-f", str(paths.key))]
    for host in hosts:
        folder = paths.upper(host.name) / "etc/ssh"
        folder.mkdir(parents=True, exist_ok=True)
        jobs.append((*KEYGEN, "-C", host.name, "-f", str(folder / "ssh_host_ed25519_key")))
    running = [subprocess.Popen(job, env=paths.environment()) for job in jobs]
    if any(process.wait() for process in running):
        raise RuntimeError("ssh-keygen failed")


def _known_host(paths: Paths, host: Host) -> str:
    key = (paths.upper(host.name) / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2]
    cables = [cable.facing(host.name)[0].address for cable in host.cables]
    names = dict.fromkeys((host.name, f"{host.name}.local", host.lan_ip, *cables))
    return f"{','.join(names)} {' '.join(key)}\n"


def _ssh_config(paths: Paths, hosts: Iterable[Host]) -> str:
    names = " ".join(host.name for host in hosts)
    return f"""\
Host {names} *.local 10.77.* 10.78.* 169.254.*
  User {layers.USER}
  IdentityFile {paths.key}
  IdentitiesOnly yes
  UserKnownHostsFile {paths.home}/.ssh/known_hosts
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 10
  KexAlgorithms curve25519-sha256
"""


def _equip_controller(paths: Paths, hosts: list[Host]) -> None:
    ssh = paths.home / ".ssh"
    (ssh / "config").write_text(_ssh_config(paths, hosts))
    (ssh / "known_hosts").write_text("".join(_known_host(paths, host) for host in hosts))
    (paths.state / "ctl/hosts").write_text(layers.hosts_file(hosts))
    (paths.state / "ctl/resolv.conf").write_text("nameserver 127.0.0.1\n")


def _write_answers(paths: Paths, host: Host, hosts: Mapping[str, Host]) -> None:
    peers = (hosts[cable.facing(host.name)[1].host] for cable in host.cables)
    offers = {p.name: (p, p.hardware.speaks_rdma and p.hardware.rdma) for p in peers if p.hardware.is_mac}
    folder = paths.upper(host.name) / FACTS
    made = set()
    for path, text in (*answers.render(host), *answers.thunderbolt(host, offers)):
        target = folder / path
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        target.write_text(text)


def _prepare(paths: Paths, hosts: list[Host]) -> None:
    """Everything on disk, while the namespaces are being made."""
    for host in hosts:
        layers.write_upper(paths, host)
    _make_keys(paths, hosts)
    layers.build(paths, hosts, paths.key.with_suffix(".pub").read_text())
    _equip_controller(paths, hosts)
    by_name = {host.name: host for host in hosts}
    for host in hosts:
        if host.hardware.is_mac:
            _write_answers(paths, host, by_name)


def _open_state(paths: Paths) -> None:
    if os.path.ismount(paths.state):
        raise RuntimeError(f"a lab named {paths.prefix} is up, or half up; take it down first")
    paths.state.mkdir(parents=True, exist_ok=True)
    kernel.mount("lab", paths.state, "tmpfs", 0, "mode=755")
    kernel.mount(None, paths.state, None, kernel.PRIVATE)
    (paths.state / "ns").mkdir()


def _assemble(paths: Paths, request: Request) -> dict[str, int]:
    hosts, cables = lay_out(request)
    names = [host.name for host in hosts]
    namespaces = helper(paths, "namespaces", (SWITCH, CONTROLLER, *names))
    _prepare(paths, hosts)
    finish(namespaces)
    looped = request.links in LOOPED and request.count > 2
    network.build(paths, hosts, cables, request.mtu, looped=looped)
    pids = start(paths, (CONTROLLER, *names))
    paths.file.write_text(json.dumps({"request": asdict(request), "pids": pids}))
    wait_for_banners(paths, hosts)
    return pids


def up(paths: Paths, request: Request) -> dict[str, int]:
    """Build a lab and return the pids of its hosts and controller; on failure leave nothing behind."""
    lay_out(request)  # refuse a wrong request before anything exists
    _open_state(paths)
    try:
        return _assemble(paths, request)
    except BaseException:
        cleanup.down(paths)
        raise
