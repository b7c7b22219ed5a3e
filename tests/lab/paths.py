"""Where a lab keeps its things. Everything lies on one tmpfs, so that unmounting it forgets the lab."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = Path("/run/maccluster-lab")
DEFAULT_PREFIX = "lab"
FACTS = "var/db/lab"  # on a host: what its fake commands answer from
MARK = "MACCLUSTER_LAB_CHILD"  # in the environment of every process a lab starts


@dataclass(frozen=True, slots=True)
class Paths:
    """The state directory of one lab; two labs with different prefixes share nothing."""

    prefix: str

    @classmethod
    def default(cls) -> Paths:
        return cls(os.environ.get("MACCLUSTER_LAB_PREFIX", DEFAULT_PREFIX))

    @property
    def state(self) -> Path:
        return HOME / self.prefix

    @property
    def file(self) -> Path:
        return self.state / "state.json"

    @property
    def home(self) -> Path:
        """HOME of the command line under test."""
        return self.state / "ctl" / "home"

    @property
    def key(self) -> Path:
        return self.home / ".ssh" / "id_ed25519"

    def namespace(self, name: str) -> Path:
        return self.state / "ns" / name

    def layer(self, name: str) -> Path:
        return self.state / "layers" / name

    def upper(self, host: str) -> Path:
        """What a host has written: its disk, which outlives its power."""
        return self.state / "hosts" / host / "upper"

    def environment(self) -> dict[str, str]:
        """Environment of the lab's own helpers; `down` finds them by the mark."""
        return {**os.environ, MARK: self.prefix}


def python_trees() -> tuple[Path, ...]:
    """Directories that a host must be able to read to run the caller's Python."""
    return tuple(dict.fromkeys((ROOT, Path(sys.prefix), Path(sys.base_prefix))))
