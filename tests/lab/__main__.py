"""The lab by hand: python -m tests.lab up 4 --links mesh; python -m tests.lab exec ctl ssh mini1."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.lab import cleanup
from tests.lab.cluster import Lab
from tests.lab.needs import obstacle
from tests.lab.paths import Paths
from tests.lab.topology import SHAPES

Arguments = argparse.Namespace


def _up(a: Arguments) -> int:
    began = time.perf_counter()
    specs = tuple(a.hosts.split(","))
    lab = Lab.up(a.count, a.links, specs=specs, mtu=a.mtu, bridge0=a.bridge0, hub=a.hub)
    took = time.perf_counter() - began
    sys.stdout.write(f"{len(lab.hosts)} hosts and {len(lab.cables)} cables up in {took:.2f} s\n")
    return 0


def _down(_: Arguments) -> int:
    cleanup.down(Paths.default())
    return 0


def _status(_: Arguments) -> int:
    for host in Lab.attach().hosts.values():
        state = f"pid {host.pid}" if host.pid and Path(f"/proc/{host.pid}").exists() else "off"
        links = " ".join(
            f"{c.facing(host.name)[0].interface}:{c.facing(host.name)[1].host}" for c in host.cables
        )
        sys.stdout.write(f"{host.name:<10} {host.lan_ip:<14} {state:<12} {host.hardware.model:<15} {links}\n")
    return 0


def _exec(a: Arguments) -> int:
    return Lab.attach().exec(a.host, *a.command, capture_output=False, timeout=None).returncode


def _profile(a: Arguments) -> int:
    text = Lab.attach().profile(a.path)
    if not a.path:
        sys.stdout.write(text)
    return 0


def _snapshot(a: Arguments) -> int:
    sys.stdout.write(Lab.attach().snapshot(a.host))
    return 0


def _fault(method: str, *names: str) -> Callable[[Arguments], int]:
    def run(a: Arguments) -> int:
        getattr(Lab.attach(), method)(*(getattr(a, name) for name in names))
        return 0

    return run


def _kill(a: Arguments) -> int:
    Lab.attach().kill(a.host, power=a.power)
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    verbs = top.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, run: Callable[[Arguments], int], *arguments: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(name)
        made.set_defaults(run=run)
        for argument in arguments:
            made.add_argument(argument)
        return made

    up = verb("up", _up)
    up.add_argument("count", type=int)
    up.add_argument("--links", choices=SHAPES, default="mesh")
    up.add_argument("--hosts", default="mini-m4pro", metavar="SPEC,...")
    up.add_argument("--mtu", type=int, default=1500)
    up.add_argument("--bridge0", action="store_true")
    up.add_argument("--hub", action="store_true", help="a hub in every cable")
    verb("down", _down)
    verb("status", _status)
    verb("exec", _exec, "host").add_argument("command", nargs=argparse.REMAINDER)
    verb("kill", _kill, "host").add_argument("--power", action="store_true")
    verb("boot", _fault("boot", "host"), "host")
    verb("reboot", _fault("reboot", "host"), "host")
    verb("snapshot", _snapshot, "host")
    cut = verb("cut", _fault("cut", "a", "b", "how"), "a", "b")
    cut.add_argument("--how", choices=("down", "drop", "reset"), default="down")
    verb("heal", _fault("heal", "a", "b"), "a", "b")
    verb("shape", _fault("shape", "host", "interface", "rate"), "host", "interface", "rate")
    loss = verb("loss", _fault("loss", "host", "interface", "probability"), "host", "interface")
    loss.add_argument("probability", type=float)
    verb("isolate", _fault("isolate", "host"), "host")
    verb("rejoin", _fault("rejoin", "host"), "host")
    verb("profile", _profile).add_argument("path", nargs="?", type=Path)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    if reason := obstacle():
        sys.stderr.write(f"{reason}\n")
        return 1
    try:
        return int(arguments.run(arguments))
    except (LookupError, ValueError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
