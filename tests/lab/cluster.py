"""The lab as tests use it: bring it up, run things in it, break it, take it down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.lab import build, cleanup, network, profiles, snapshots
from tests.lab.answers import boot_record, render, thunderbolt
from tests.lab.boot import PER_HOST
from tests.lab.network import CONTROLLER
from tests.lab.paths import FACTS, ROOT, Paths
from tests.lab.running import Runner
from tests.lab.snapshots import Kept
from tests.lab.topology import Cable, Host, Request, lay_out

FORGOTTEN = ("sysctl/", "limits/")  # kernel values do not outlive a reboot; power settings do
LATE_STATE = ("sleep_disabled", "prevented")  # files that a fresh host does not have


class Lab(Runner):
    """Several hosts, a controller and the switch between them. A context manager: leaving takes it down."""

    def __init__(self, paths: Paths, request: Request, pids: Mapping[str, int | None]) -> None:
        self.paths = paths
        self.request = request
        hosts, self.cables = lay_out(request)
        self.hosts: dict[str, Host] = {host.name: host for host in hosts}
        self.controller = pids[CONTROLLER]
        for name, host in self.hosts.items():
            host.pid = pids[name]
        self._advertisers: list[subprocess.Popen[str]] = []
        self._advertised: set[tuple[str, str]] = set()

    @classmethod
    def up(cls, count: int, links: str = "mesh", *, prefix: str | None = None, **wishes: Any) -> Self:
        """Bring a lab up. ``wishes`` are the other fields of `Request`: specs, mtu, bridge0, hub, names."""
        paths = Paths(prefix) if prefix else Paths.default()
        request = Request(count, links, **wishes)
        return cls(paths, request, build.up(paths, request))

    @classmethod
    def attach(cls, paths: Paths | None = None) -> Self:
        """Take hold of a lab that another process brought up."""
        paths = paths or Paths.default()
        if not paths.file.exists():
            raise LookupError(f"no lab named {paths.prefix} is up")
        stored = json.loads(paths.file.read_text())
        return cls(paths, Request.read(stored["request"]), stored["pids"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def down(self) -> None:
        cleanup.down(self.paths)
        for process in self._advertisers:
            process.wait()
            if process.stdout:
                process.stdout.close()
        self._advertisers.clear()
        self._advertised.clear()

    # Breaking things

    def cable(self, one: str, other: str) -> Cable:
        """Return the first cable between two hosts."""
        for cable in self.cables:
            if cable.joins(one, other):
                return cable
        raise LookupError(f"no cable between {one} and {other}")

    def kill(self, name: str, *, power: bool = False) -> None:
        """End a host at once. Its kernel still answers its peers, unless the power goes with it."""
        host = self._alive(name)
        if power:
            network.power_off(self.paths, host)
        with suppress(ProcessLookupError):
            os.kill(host.pid or 0, signal.SIGKILL)
        build.wait_for_end(host.pid or 0)
        host.pid = None
        self._save()

    def boot(self, name: str) -> None:
        """Start a killed host again, with the disk that it had; what a reboot forgets is forgotten."""
        host = self.hosts[name]
        if host.pid is not None:
            raise LookupError(f"{name} is on")
        unplugged = [path.name for path in (self.facts(name) / "unplugged").glob("*")]
        network.batch(self.paths, name, list(network.host_lines(host, self.request.mtu, unplugged)))
        for path, text in render(host):
            if path.startswith(FORGOTTEN):
                self.write(name, path, text)
        if host.hardware.is_mac:
            self.write(name, "boots", boot_record() + self.state(name, "boots") + "\n")
        host.pid = build.start(self.paths, [name])[name]
        self._save()
        build.wait_for_banners(self.paths, [host])

    def reboot(self, name: str) -> None:
        """Kill and boot: kernel values and loaded jobs go, the disk stays and its LaunchDaemons run."""
        self.kill(name)
        self.boot(name)

    def cut(self, one: str, other: str, how: str = "down") -> None:
        """Break a cable: `down` pulls it, `drop` makes it swallow packets, `reset` makes it refuse TCP."""
        cable = self.cable(one, other)
        network.cut(self.paths, cable, how)
        if how == "down":
            self.write(cable.a.host, f"unplugged/{cable.a.interface}", "")

    def heal(self, one: str, other: str) -> None:
        cable = self.cable(one, other)
        network.heal(self.paths, cable, [host.name for host in self.hosts.values() if host.pid is not None])
        (self.facts(cable.a.host) / "unplugged" / cable.a.interface).unlink(missing_ok=True)

    def isolate(self, name: str) -> None:
        """Pull a host's network cable at the switch; its Thunderbolt cables stay."""
        network.set_link(self.paths, network.SWITCH, self.hosts[name].name, up=False)

    def rejoin(self, name: str) -> None:
        network.set_link(self.paths, network.SWITCH, self.hosts[name].name, up=True)

    def shape(self, name: str, interface: str, rate: str) -> None:
        network.shape(self.paths, name, interface, rate)

    def loss(self, name: str, interface: str, probability: float) -> None:
        network.lose(self.paths, name, interface, probability)

    # Looking and setting

    def counters(self, name: str, interface: str) -> tuple[int, int]:
        """Bytes received and sent by an interface since it exists; ``name`` may be `ctl`."""
        pid = self.controller if name == CONTROLLER else self._alive(name).pid
        folder = Path(f"/proc/{pid}/root/sys/class/net/{interface}/statistics")
        return int((folder / "rx_bytes").read_text()), int((folder / "tx_bytes").read_text())

    def facts(self, name: str) -> Path:
        """Return the directory from which a host's fake commands answer, as seen from outside."""
        pid = self.hosts[name].pid
        return (self.paths.upper(name) if pid is None else Path(f"/proc/{pid}/root")) / FACTS

    def write(self, name: str, path: str, text: str) -> None:
        target = self.facts(name) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def _state_files(self, name: str, key: str) -> list[Path]:
        folder = self.facts(name)
        if "/" in key or key in LATE_STATE:
            return [folder / key]
        found = [path for path in folder.rglob(key) if path.is_file()]
        if not found:
            raise KeyError(key)
        return found

    def state(self, name: str, key: str) -> str:
        """Return what `set_state` would change; empty when it was never set."""
        path = self._state_files(name, key)[0]
        return path.read_text().rstrip("\n") if path.exists() else ""

    def set_state(self, name: str, key: str, value: object) -> None:
        """Change what the fakes of a host answer: a path below its facts, or the bare name of such a file."""
        for path in self._state_files(name, key):
            path.write_text(f"{value}\n")
        if key == "rdma":
            self._tell_peers(self.hosts[name])

    def forget_state(self, name: str, key: str) -> None:
        """Put a state back to what a fresh host has: no file, or an empty one."""
        for path in self._state_files(name, key):
            if key in LATE_STATE:
                path.unlink(missing_ok=True)
            else:
                path.write_text("\n")

    def _tell_peers(self, host: Host) -> None:
        """A Mac announces on its cables whether its RDMA is on."""
        for cable in host.cables:
            peer = self.hosts[cable.facing(host.name)[1].host]
            for path, text in thunderbolt(peer, self._offers(peer)):
                self.write(peer.name, path, text)

    def _offers(self, host: Host) -> dict[str, tuple[Host, bool]]:
        peers = (self.hosts[cable.facing(host.name)[1].host] for cable in host.cables)
        return {p.name: (p, self._offers_rdma(p)) for p in peers if p.hardware.is_mac}

    def _offers_rdma(self, host: Host) -> bool:
        return host.hardware.speaks_rdma and self.state(host.name, "rdma") == "enabled"

    def snapshot(self, name: str, without: Sequence[str] = ()) -> str:
        """All that a command can change on a host, one line each: its disk and, while it is on, its links,
        loaded jobs and kernel settings. ``without`` leaves out lines by the start of their name."""
        found = list(snapshots.disk(self.paths, name))
        if self.hosts[name].pid is not None:
            root = Path(f"/proc/{self.hosts[name].pid}/root")
            found += [*snapshots.links(root), *snapshots.jobs(root), *self._kernel(name)]
        kept = (line for line in found if not line[0].startswith(tuple(without)))
        return "".join(f"{key}: {value}\n" for key, value in kept)

    def restore(self, name: str, kept: dict[str, Kept]) -> None:
        """Undo by force what tests did to a host: its disk becomes ``kept``, jobs not on it are ended."""
        if self.hosts[name].pid is None:
            self.boot(name)
        root = Path(f"/proc/{self._alive(name).pid}/root")
        for folder in (root / "run/lab/jobs").glob("*"):
            self.exec(name, "launchctl", "bootout", f"system/{folder.name}", check=True)
        snapshots.put_back(self.paths, name, kept, root)
        self.exec(name, "hostname", self.state(name, "names/HostName") or name, check=True)

    def keep(self, name: str) -> dict[str, Kept]:
        """Copy a host's disk for `restore`."""
        return snapshots.keep(self.paths, name)

    def _kernel(self, name: str) -> list[tuple[str, str]]:
        """Settings of a Linux host's network; those of a Mac are files of its fakes."""
        if self.hosts[name].hardware.is_mac:
            return []
        patterns = " ".join(f"/proc/sys/net/{pattern}" for pattern in PER_HOST)
        out = self.exec(name, "sh", "-c", f"grep -s -H '' {patterns}").stdout
        return [("kernel", line) for line in sorted(out.splitlines())]

    def record(self, name: str) -> None:
        """From now on the fakes of a Mac write down each call that would change something."""
        self.write(name, "calls", "")
        (self.facts(name) / "calls").chmod(0o666)

    def calls(self, name: str) -> list[str]:
        """Return what was written down since `record`."""
        return (self.facts(name) / "calls").read_text().splitlines()

    def advertise(self, name: str, service: str = "_ssh._tcp", port: int = 22) -> None:
        """Announce a service by Bonjour from inside a host's network, until the lab goes down."""
        host = self._alive(name)
        if (name, service) in self._advertised:
            return
        script = (sys.executable, "-m", "tests.lab.advertise", host.name, host.lan_ip, service, str(port))
        process = subprocess.Popen(
            ("nsenter", f"--net={self.paths.namespace(name)}", *script),
            env=self.paths.environment(),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._advertisers.append(process)
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{name} does not advertise")
        self._advertised.add((name, service))

    def profile(
        self, path: Path | None = None, nodes: Sequence[str] | None = None, cables: bool = True
    ) -> str:
        """Describe the lab as a profile of the product; with ``path`` also write it there."""
        wanted = [self.hosts[name] for name in nodes or self.hosts]
        text = profiles.render(wanted, self.cables if cables else [])
        if path:
            Path(path).write_text(text)
        return text

    def _save(self) -> None:
        pids = {CONTROLLER: self.controller, **{name: host.pid for name, host in self.hosts.items()}}
        self.paths.file.write_text(json.dumps({"request": asdict(self.request), "pids": pids}))
