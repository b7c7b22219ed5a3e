"""The clock: kept right by macOS itself, and stepped once where it is far off.

A step cannot be taken back: nobody knows the wrong time any more.
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

SERVER = "time.apple.com"
SYSTEMSETUP = "/usr/sbin/systemsetup"
IN_TIME = "in time"
IN_TIME_S = 0.1  # finer than a look over the Internet can tell

# Without root it says so on standard output, with exit status 0; without sudo there is no output.
NETWORK_TIME = Command((SYSTEMSETUP, "-getusingnetworktime"), sudo=True, system=DARWIN)
# Options differ between the two programs of this name, so the shell keeps the time: four seconds at most.
_LOOK = (
    'sntp "$1" & p=$!; (sleep 4; kill $p) >/dev/null 2>&1 & q=$!; wait $p; r=$?; kill $q 2>/dev/null; exit $r'
)
SNTP = Command(("sh", "-c", _LOOK, "sntp", SERVER), system=DARWIN)

_STATE = re.compile(r"^Network Time: (On|Off)\s*$", re.MULTILINE)
_OFFSET = re.compile(r"(?:^|\s)([+-]\d{1,9}\.\d{1,9}) \+/- ", re.ASCII)


def network_time(reply: Reply) -> bool | None:
    """Whether macOS keeps the clock by itself."""
    found = _STATE.search(reply.text)
    return found[1] == "On" if found else None


def offset(reply: Reply) -> float | None:
    """Seconds that this Mac is behind the server; the older program puts a time stamp first."""
    found = _OFFSET.search(reply.text)
    return float(found[1]) if found else None


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The offset is only reported: no two looks agree, so the setting says "in time" or how far off."""
    off = parts.get("clock.offset_s")
    step = None if off is None else IN_TIME if abs(off) <= IN_TIME_S else f"off by {off:+.1f} s"
    return {"clock.network_time": parts.get("clock.network_time"), "clock.offset_s": off, "clock.step": step}


def aim_step(facts: Mapping[str, Any], wish: Any) -> str:
    """Step only a clock that is further off than wished; one that is not stays what it is."""
    if isinstance(wish, bool) or not isinstance(wish, int | float) or not wish >= IN_TIME_S:
        raise Refusal(f"{wish!r} is no offset in seconds; less than {IN_TIME_S} cannot be told from here")
    off = facts.get("clock.offset_s")
    if off is None:
        raise Refusal(f"how far the clock is off is not known: {SERVER} did not answer")
    return str(facts.get("clock.step") or IN_TIME) if abs(off) <= wish else IN_TIME


def write_step(have: Any, want: Any) -> tuple[Command, ...]:
    """Set the clock at once, whatever the offset."""
    step = want == IN_TIME and have != IN_TIME
    return (Command(("/usr/bin/sntp", "-sS", SERVER), sudo=True, system=DARWIN),) if step else ()


def write_network_time(have: Any, want: Any) -> tuple[Command, ...]:
    """Switch it on or off."""
    del have
    return (root(SYSTEMSETUP, "-setusingnetworktime", "on" if want else "off"),) if want is not None else ()


FACTS = (
    Fact("clock.network_time", NETWORK_TIME, network_time),
    Fact("clock.offset_s", SNTP, offset),
)
SETTINGS = (
    Setting(
        "clock.network_time",
        "Logs and checkpoints of all nodes can be laid side by side.",
        write_network_time,
        wishes.yes_or_no,
    ),
    Setting(
        "clock.step",
        "A clock that is far off is put right at once instead of being drawn near for hours.",
        write_step,
        aim_step,
        reversible=False,
    ),
)
BASELINE: Mapping[str, Any] = {"clock.network_time": True, "clock.step": 0.5}
REPORTS = ("clock.offset_s",)
