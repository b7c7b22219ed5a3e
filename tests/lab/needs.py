"""Whether a lab can be built on this machine."""

from __future__ import annotations

import os
import shutil
import sys

TOOLS = ("ip", "nsenter", "iptables", "tc", "ssh", "ssh-keygen", "/usr/sbin/sshd", "sudo", "zsh", "ping")


def obstacle() -> str:
    """Why no lab can be built here; empty when one can."""
    if sys.platform != "linux":
        return "the lab needs Linux network namespaces"
    if os.geteuid() != 0:
        return "the lab needs root"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    return f"the lab needs {', '.join(missing)}" if missing else ""
