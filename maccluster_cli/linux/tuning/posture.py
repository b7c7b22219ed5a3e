"""What root does here without a password."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maccluster_cli.values import LINUX, Command, Fact

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

SUDO = Command(("sudo", "-n", "-l"), system=LINUX)
_RULE = re.compile(r"^\s*\((?:ALL|root)\b[^)\n]*\)\s+((?:\w+:\s*)*NOPASSWD:(?:\s*\w+:)*.*)$", re.MULTILINE)


def sudo(reply: Reply) -> str | None:
    """Tell "all", "list" (some commands) or "none"; root itself needs nothing."""
    if reply.code is None:
        return None
    rules = [rule.rpartition(":")[2].strip() for rule in _RULE.findall(reply.text)]
    if "ALL" in rules or "User root may run" in reply.text:
        return "all"
    return "list" if rules else "none"


FACTS = (Fact("sudo", SUDO, sudo),)
REPORTS = ("sudo",)
