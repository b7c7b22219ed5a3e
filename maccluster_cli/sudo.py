"""What `sudo -n -l` says, the same program on both systems."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

_RULE = re.compile(r"^[ \t]*\((?:ALL|root)\b[^)\n]*\)[ \t]+((?:[A-Z]+:[ \t]*)*)([^\n]*)$", re.MULTILINE)


def granted(reply: Reply) -> str | None:
    """What root does here without a password: "all", "list" (some commands) or "none".

    Of several rules that fit, sudo takes the last: an ALL that wants a password takes back what stood before.
    """
    if reply.code is None:
        return None
    if "User root may run" in reply.text:
        return "all"
    told = "none"
    for tags, commands in _RULE.findall(reply.text):
        free = "NOPASSWD" in tags
        if commands.strip() == "ALL":
            told = "all" if free else "none"
        elif free and told == "none":
            told = "list"
    return told
