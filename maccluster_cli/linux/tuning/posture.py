"""What root does here without a password."""

from __future__ import annotations

from maccluster_cli.sudo import granted
from maccluster_cli.values import LINUX, Command, Fact

SUDO = Command(("sudo", "-n", "-l"), system=LINUX)
FACTS = (Fact("sudo", SUDO, granted),)
REPORTS = ("sudo",)
