"""python -m tests.perf startup | fanout [N ...] | discover | tune: ratios of medians of one run."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab.cluster import Lab
from tests.perf import clock, peers

OURS = (sys.executable, "-m", "maccluster_cli")


def startup(rounds: int) -> None:
    """The help page against what Typer alone costs."""
    times = clock.in_turns(
        {
            "python -c pass": clock.here((sys.executable, "-c", "pass")),
            "import typer": clock.here((sys.executable, "-c", "import typer")),
            "maccluster --help": clock.here((*OURS, "--help")),
            "maccluster --version": clock.here((*OURS, "--version")),
            "maccluster run --help": clock.here((*OURS, "run", "--help")),
        },
        rounds,
    )
    clock.table(times, "import typer")


def fanout(counts: Sequence[int], rounds: int) -> None:
    """``true`` on N hosts, cold, whole process, against the peers; and growth with N."""
    walls: dict[int, float] = {}
    for count in counts:
        with _lab(count) as lab, tempfile.TemporaryDirectory() as folder:
            profile = _profile(lab, Path(folder))
            names = list(lab.hosts)
            starts = {"maccluster run": _start(lab, (*OURS, "run", "-p", profile, "--", "true"))}
            for name, argv in peers.commands(lab, names, Path(folder)).items():
                starts[name] = _start(lab, argv, peers.variables(lab))
            print(f"\nrun -- true on {count} hosts, cold")
            times = clock.in_turns(starts, rounds)
            clock.table(times, "maccluster run")
            walls[count] = times["maccluster run"].wall
    if {16, 64} <= set(walls):
        print(f"\n64 hosts against 16: {walls[64] / walls[16]:.2f}")


def discover(rounds: int) -> None:
    """All facts of 16 hosts against one ``true`` on them: one round trip is one round trip."""
    with _lab(16) as lab, tempfile.TemporaryDirectory() as folder:
        profile = _profile(lab, Path(folder))
        starts = {
            "maccluster run -- true": _start(lab, (*OURS, "run", "-p", profile, "--", "true")),
            "maccluster discover": _start(lab, (*OURS, "discover", "-p", profile)),
            "  without Bonjour": _start(lab, (*OURS, "discover", "-p", profile, "--bonjour", "0")),
            "maccluster status": _start(lab, (*OURS, "status", "-p", profile)),
        }
        print("\n16 hosts")
        clock.table(clock.in_turns(starts, rounds), "maccluster run -- true")


def tune(rounds: int) -> None:
    """Looking, and doing it all, on 16 hosts; against one ``true`` there and against a pyinfra deploy."""
    with _lab(16) as lab, tempfile.TemporaryDirectory() as folder:
        profile = _profile(lab, Path(folder))
        deploys = {
            name: peers.deploy(lab, list(lab.hosts), Path(folder), sleep)
            for name, sleep in (("a", 5), ("b", 6))
        }
        starts = {
            "maccluster run -- true": _start(lab, (*OURS, "run", "-p", profile, "--", "true")),
            "tune --dry-run": _start(lab, (*OURS, "tune", "-p", profile, "--dry-run")),
            "tune --yes": _start(lab, (*OURS, "tune", "-p", profile, "--yes")),
            "undo --yes": _start(lab, (*OURS, "undo", "-p", profile, "--yes")),
            "pyinfra deploy": _start(lab, deploys["a"]),
            "pyinfra deploy back": _start(lab, deploys["b"]),
        }
        print("\n16 hosts; every tune has all changes to make, since an undo follows it")
        clock.table(clock.in_turns(starts, rounds), "maccluster run -- true")


def _lab(count: int) -> Lab:
    return Lab.up(count, "none", prefix=f"perf{count}")


def _profile(lab: Lab, folder: Path) -> str:
    folder.chmod(0o755)
    lab.profile(folder / "lab.toml")
    return str(folder / "lab.toml")


def _start(lab: Lab, argv: Sequence[str], env: Mapping[str, str] | None = None) -> clock.Start:
    silent = subprocess.DEVNULL
    return lambda: lab.popen("ctl", *argv, env=env, stdin=silent, stdout=silent, stderr=silent)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.perf", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("startup")
    verbs.add_parser("fanout").add_argument("counts", type=int, nargs="*", default=[4, 16, 64])
    verbs.add_parser("discover")
    verbs.add_parser("tune")
    a = parser.parse_args()
    if a.verb == "fanout":
        fanout(a.counts, a.rounds)
    else:
        {"startup": startup, "discover": discover, "tune": tune}[a.verb](a.rounds)


if __name__ == "__main__":
    main()
