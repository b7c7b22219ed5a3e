"""Sleep and power as `pmset` keeps them for the mains: a notebook on battery is left as it is.

`pmset` accepts keys that a Mac does not have and then shows them nowhere, so a setting exists where
`-g custom` prints it, and a change is believed when it is printed. Its exit codes say little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maccluster_cli.macos.tuning import wishes
from maccluster_cli.macos.tuning.launchdaemon import root
from maccluster_cli.values import DARWIN, Command, Fact, Refusal, Setting

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

PMSET = "/usr/bin/pmset"
CUSTOM = Command(("pmset", "-g", "custom"), system=DARWIN)
CAPABILITIES = Command(("pmset", "-g", "cap"), system=DARWIN)
MODES = ("auto", "low", "high")  # as `powermode` numbers them

MINUTES = {
    "sleep": "a Mac that falls asleep stops all ranks, and a new mini does after one minute",
    "disksleep": "a disk that has to spin up again holds a checkpoint for seconds",
    "displaysleep": "a screen that nobody looks at may be dark; 0 keeps it on",
}
SWITCHES = {
    "standby": "standby is a deeper sleep, from which a Mac wakes late or, without a keyboard, not at all",
    "womp": "lets a packet wake a Mac that sleeps after all",
    "autorestart": "after a power cut the node comes back without a hand on its button",
    "powernap": "wakes a sleeping Mac for mail and backups, at times of its own choice",
    "tcpkeepalive": "keeps connections alive while the Mac sleeps",
}
KEYS = (*MINUTES, *SWITCHES)
_HEADING = re.compile(r"^(\S[^\n]*?):[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"^[ \t]+(\S[^\n]*?)[ \t]+(\d{1,9})(?:[ \t]+\([^\n]*)?[ \t]*$", re.MULTILINE | re.ASCII)
_TOKEN = re.compile(r"^[ \t]+(\w+)[ \t]*$", re.MULTILINE | re.ASCII)
_MAINS = "AC Power"


def mains(reply: Reply) -> dict[str, int] | None:
    """Numbers by key from the section of the mains; a key can hold spaces, and texts are passed over."""
    pieces = _HEADING.split(reply.text)
    sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if _MAINS not in sections:
        return None
    return {key: int(number) for key, number in _LINE.findall(sections[_MAINS])} or None


def capabilities(reply: Reply) -> tuple[str, ...] | None:
    """What this Mac's `pmset` offers, as exact words; the heading follows the source in use."""
    return tuple(_TOKEN.findall(reply.text)) or None if "Capabilities for" in reply.text else None


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """One value a setting; a key that the mains' section lacks is nothing this Mac has."""
    shown, offered = parts.get("raw.mains"), parts.get("raw.capabilities")
    report = {"power.modes": _modes(shown, offered), "power.low_power": _saves(shown)}
    if shown is None:
        return report | dict.fromkeys(setting.name for setting in SETTINGS)
    found = {f"power.{key}": shown[key] for key in KEYS if key in shown}
    mode = _mode(shown, offered)
    return report | found | ({"power.mode": mode} if mode else {})


def _mode_key(shown: Mapping[str, int]) -> str | None:
    return next((key for key in ("powermode", "lowpowermode") if key in shown), None)


def _mode(shown: Mapping[str, int], offered: tuple[str, ...] | None) -> str | None:
    key = _mode_key(shown)
    if key is None or (offered is not None and not {"lowpowermode", "highpowermode"} & set(offered)):
        return None
    return f"{key} {shown[key]}"


def _modes(shown: Mapping[str, int] | None, offered: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if shown is None and offered is None:
        return None
    high = "highpowermode" in offered if offered is not None else "powermode" in (shown or ())
    return MODES if high else MODES[:2]


def _saves(shown: Mapping[str, int] | None) -> bool | None:
    key = _mode_key(shown) if shown else None
    return shown[key] == MODES.index("low") if shown and key else None


def aim_mode(facts: Mapping[str, Any], wish: Any) -> str:
    """The mode in `pmset`'s words for this Mac: those with High Power Mode have a key of their own."""
    if wish not in MODES:
        raise Refusal(f"{wish!r} is no power mode; there are {', '.join(MODES)}")
    modes = facts.get("power.modes") or MODES[:2]
    if wish not in modes:
        raise Refusal(
            "this Mac has no High Power Mode (`pmset -g cap` does not list highpowermode). MacBook "
            "Pro with a Max chip have it, and M4 Pro models, but no Mac Studio: there is nothing to switch on"
        )
    key = "powermode" if wish == "high" else str(facts.get("power.mode") or "lowpowermode 0").split()[0]
    return f"{key} {MODES.index(wish)}"


def write_mode(have: Any, want: Any) -> tuple[Command, ...]:
    """Set the mode for the mains; the value is `pmset`'s key and number."""
    del have
    return (root(PMSET, "-c", *str(want).split()),) if want is not None else ()


def _setting(key: str, why: str) -> Setting:
    def write(have: Any, want: Any) -> tuple[Command, ...]:
        del have
        return (root(PMSET, "-c", key, str(int(want))),) if want is not None else ()

    aim = wishes.minutes if key in MINUTES else wishes.switch
    return Setting(f"power.{key}", f"{why}.", write, aim)


FACTS = (
    Fact("raw.mains", CUSTOM, mains),
    Fact("raw.capabilities", CAPABILITIES, capabilities),
)
SETTINGS = (
    *(_setting(key, why) for key, why in (MINUTES | SWITCHES).items()),
    Setting(
        "power.mode",
        "Low Power Mode slows the slowest rank, and with it all; High Power Mode lets fans run earlier.",
        write_mode,
        aim_mode,
    ),
)
BASELINE: Mapping[str, Any] = {
    "power.sleep": 0,
    "power.disksleep": 0,
    "power.standby": 0,
    "power.womp": 1,
    "power.autorestart": 1,
    "power.powernap": 0,
    "power.tcpkeepalive": 1,
    "power.mode": "auto",
}
REPORTS = ("power.modes", "power.low_power")
