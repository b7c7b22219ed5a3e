"""The models a lab host can be, and the SPEC that picks one: ``mini-m4pro:mem=64:macos=26.6``.

``nopasswd=list`` lets sudo run only what `layers.ALLOWED` names, ``stubborn=womp+sleep`` makes settings that
are accepted and not taken, ``ups`` adds a third source of power. `Lab.set_state` changes ``stubborn`` later.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

LINUX = "linux"
RDMA_SINCE = (26, 2)
LEVELS = {"S": "Super", "P": "Performance", "E": "Efficiency"}
BUILDS = {"14.6.1": "23G93", "15.5": "24F74", "26.6.2": "25G83", "27.0": "26A428"}

Levels = tuple[tuple[str, int], ...]
Ports = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Hardware:
    """One machine. ``levels`` fastest kind first; ``ports`` pair a receptacle with its interface."""

    model: str
    machine: str
    identifier: str
    chip: str
    soc: str
    levels: Levels
    gpu_cores: int
    memory_gb: int
    ports: Ports
    thunderbolt: int
    macos: str = "26.6.2"
    build: str = ""
    laptop: bool = False
    high_power: bool = False
    nopasswd: str = "all"
    rdma: bool = True
    hub: bool = False
    dock: bool = False
    ups: bool = False
    stubborn: tuple[str, ...] = ()

    @property
    def is_mac(self) -> bool:
        return self.model != LINUX

    @property
    def version(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.macos.split("."))

    @property
    def darwin(self) -> str:
        """Kernel release; Apple counts the system's year from 26 on, the kernel only its generation."""
        major, minor = (*self.version, 0)[:2]
        return f"{major - 1 if major >= 26 else major + 9}.{minor}.0"

    @property
    def build_name(self) -> str:
        """The build, or one of the right shape: kernel generation, letter of the minor release, number."""
        generation, minor = self.darwin.split(".")[:2]
        return self.build or BUILDS.get(self.macos, f"{generation}{chr(65 + int(minor))}70")

    @property
    def has_rdma_tools(self) -> bool:
        return self.is_mac and self.version >= RDMA_SINCE

    @property
    def speaks_rdma(self) -> bool:
        """Whether devices appear at all: the flag may be on while Thunderbolt 4 has nothing to show."""
        return self.has_rdma_tools and self.thunderbolt >= 5

    @property
    def cores(self) -> int:
        return sum(count for _, count in self.levels)

    def count(self, level: str) -> int:
        return dict(self.levels).get(level, 0)


def _in_order(count: int, first: int = 2) -> Ports:
    return tuple((n + 1, f"en{n + first}") for n in range(count))


P, E, S = "Performance", "Efficiency", "Super"
# Device numbers do not follow receptacles everywhere: the laptop and the Ultra prove that to a parser.
_CROSSED_3 = ((1, "en1"), (2, "en6"), (3, "en2"))
_CROSSED_6 = ((1, "en2"), (2, "en3"), (3, "en5"), (4, "en4"), (5, "en6"), (6, "en7"))
_GAP_4 = ((1, "en2"), (2, "en3"), (4, "en4"), (5, "en5"))

MODELS = {
    hardware.model: hardware
    for hardware in (
        Hardware(
            *("mini-m1", "Mac mini", "Macmini9,1", "Apple M1", "T8103"),
            *(((P, 4), (E, 4)), 8, 16, _in_order(2), 3),
        ),
        Hardware(
            *("mini-m4", "Mac mini", "Mac16,10", "Apple M4", "T8132"),
            *(((P, 4), (E, 6)), 10, 24, _in_order(3), 4),
        ),
        Hardware(
            *("mini-m4pro", "Mac mini", "Mac16,11", "Apple M4 Pro", "T6040"),
            *(((P, 10), (E, 4)), 20, 48, _in_order(3), 5),
            high_power=True,
        ),
        Hardware(
            *("studio-m2ultra", "Mac Studio", "Mac14,14", "Apple M2 Ultra", "T6022"),
            *(((P, 16), (E, 8)), 60, 64, _in_order(6), 4),
        ),
        Hardware(
            *("studio-m4max", "Mac Studio", "Mac16,9", "Apple M4 Max", "T6041"),
            *(((P, 12), (E, 4)), 40, 128, _in_order(4), 5),
        ),
        Hardware(
            *("studio-m3ultra", "Mac Studio", "Mac15,14", "Apple M3 Ultra", "T6032"),
            *(((P, 24), (E, 8)), 80, 256, _CROSSED_6, 5),
        ),
        Hardware(
            *("mbp-m5max", "MacBook Pro", "Mac17,6", "Apple M5 Max", "T6050"),
            *(((S, 6), (P, 12)), 40, 128, _CROSSED_3, 5),
            laptop=True,
            high_power=True,
        ),
        # Invented: no public capture of such a machine exists. It is here for its three kinds of core and the
        # receptacle number that is missing.
        Hardware(
            *("studio-m6", "Mac Studio", "Mac99,1", "Apple M6 Max", "T6060"),
            *(((S, 4), (P, 8), (E, 4)), 48, 192, _GAP_4, 5),
            macos="27.0",
        ),
        Hardware(
            *(LINUX, "Linux", "", "", ""),
            *(((P, 2),), 0, 16, _in_order(6), 0),
            macos="0",
        ),
    )
}


def _levels(text: str) -> Levels:
    found = re.findall(r"(\d+)([SPE])", text)
    if not found or "+".join(a + b for a, b in found) != text:
        raise ValueError(f"cpu={text}: write it as 4S+8P+4E, fastest kind first")
    return tuple((LEVELS[letter], int(count)) for count, letter in found)


def _one_of(*words: str) -> Callable[[str], bool]:
    """Read a switch: the first word is yes, the second no."""
    return lambda text: (True, False)[words.index(text)]


def _word(*words: str) -> Callable[[str], str]:
    return lambda text: words[words.index(text)]


# Option of a SPEC: the field it sets and how its text is read. A bare `hub` or `dock` reads as an empty text.
OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "mem": ("memory_gb", int),
    "macos": ("macos", str),
    "build": ("build", str),
    "gpu": ("gpu_cores", int),
    "cpu": ("levels", _levels),
    "nopasswd": ("nopasswd", _word("all", "none", "list")),
    "rdma": ("rdma", _one_of("on", "off")),
    "hub": ("hub", _one_of("")),
    "dock": ("dock", _one_of("")),
    "ups": ("ups", _one_of("")),
    "stubborn": ("stubborn", lambda text: tuple(text.split("+"))),
}


def _change(hardware: Hardware, option: str) -> Hardware:
    key, _, value = option.partition("=")
    try:
        field, read = OPTIONS[key]
        return replace(hardware, **{field: read(value)})
    except (KeyError, ValueError) as error:
        raise ValueError(f"{option}: not an option of a host ({error})") from error


def parse(spec: str) -> Hardware:
    """Read a SPEC: a model, then ``:option`` as often as wanted."""
    model, *options = spec.split(":")
    if model not in MODELS:
        raise ValueError(f"{model}: no such model; known are {', '.join(MODELS)}")
    hardware = MODELS[model]
    for option in options:
        hardware = _change(hardware, option)
    return hardware
