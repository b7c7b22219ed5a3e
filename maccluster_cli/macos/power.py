"""Whether the Mac would fall asleep, and what feeds it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maccluster_cli.values import DARWIN, Command, Fact

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

PMSET = Command(("pmset", "-g"), system=DARWIN)
PMSET_BATTERY = Command(("pmset", "-g", "batt"), system=DARWIN)

# Keys can hold spaces ("Sleep On Power Button"), so a key is matched from the start of its line.
_SLEEP = re.compile(r"^[ \t]*sleep[ \t]+(\d{1,9})(?:[ \t]+\(.*)?[ \t]*$", re.ASCII | re.MULTILINE)
_DISABLED = re.compile(r"^[ \t]*SleepDisabled[ \t]+([01])[ \t]*$", re.MULTILINE)
_SOURCE = re.compile(r"drawing from '([^'\n]+)'")


def sleep_minutes(reply: Reply) -> int | None:
    """Idle minutes until the system sleeps, 0 for never; "(sleep prevented by ...)" does not change it."""
    found = _SLEEP.search(reply.text)
    return int(found[1]) if found else None


def sleep_disabled(reply: Reply) -> bool | None:
    """Whether sleep is switched off altogether; `pmset` leaves the line out until it was set once."""
    found = _DISABLED.search(reply.text)
    if found:
        return found[1] == "1"
    return False if _SLEEP.search(reply.text) else None


def source(reply: Reply) -> str | None:
    """Name what feeds it: AC Power, Battery Power or UPS Power; a desktop prints only this line."""
    found = _SOURCE.search(reply.text)
    return found[1] if found else None


FACTS = (
    Fact("power.sleep_min", PMSET, sleep_minutes),
    Fact("power.sleep_disabled", PMSET, sleep_disabled),
    Fact("power.source", PMSET_BATTERY, source),
)
