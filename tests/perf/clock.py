"""Times commands in turns, so that a noisy machine is equally noisy for all of them."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Start = Callable[[], subprocess.Popen[str]]


@dataclass
class Times:
    """Seconds of one command: on the wall, and of processor time in it and its children."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    @property
    def wall(self) -> float:
        return statistics.median(self.wall_s)

    @property
    def cpu(self) -> float:
        return statistics.median(self.cpu_s)


def in_turns(starts: Mapping[str, Start], rounds: int) -> dict[str, Times]:
    """``rounds`` times each command once, after a round that does not count; a failure ends it all."""
    times = {name: Times() for name in starts}
    for number in range(rounds + 1):
        for name, start in starts.items():
            began = time.perf_counter()
            process = start()
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                sys.exit(f"{name} failed with exit code {process.returncode}")
            if number:
                times[name].wall_s.append(wall)
                times[name].cpu_s.append(usage.ru_utime + usage.ru_stime)
    return times


def here(argv: Sequence[str]) -> Start:
    """A command on this machine, silent."""
    return lambda: subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)


def table(times: Mapping[str, Times], against: str) -> None:
    """Medians, spread, and the ratio of each to one of them."""
    base = times[against]
    print(f"{'':26} {'wall s':>8} {'min':>7} {'max':>7} {'cpu s':>8} {'wall ratio':>11} {'cpu ratio':>10}")
    for name, t in times.items():
        ratios = f"{t.wall / base.wall:>11.2f} {t.cpu / base.cpu:>10.2f}"
        print(f"{name:26} {t.wall:>8.3f} {min(t.wall_s):>7.3f} {max(t.wall_s):>7.3f} {t.cpu:>8.3f} {ratios}")
