"""A change that may cut a node off, made with the product's own change story; run on the lab's controller.

python -m tests.flows.risky PROFILE SETTING VALUE CONFIRM_WITHIN_S NODE... prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from maccluster_cli.flows import apply, change
from maccluster_cli.profile import read_profile
from maccluster_cli.transport.fleet import Fleet
from maccluster_cli.values import DARWIN, LINUX, Command, Fact, Reply, Setting, Subject


def _number(reply: Reply) -> int | None:
    text = reply.text.strip()
    return int(text) if text.isdecimal() else None


def _is_up(reply: Reply) -> str | None:
    text = reply.text.strip()
    return ("up" if int(text, 16) & 1 else "down") if text.startswith("0x") else None


def _mtu(have: Any, want: Any) -> tuple[Command, ...]:
    del have
    return (Command(("/sbin/ifconfig", "en0", "mtu", str(want)), sudo=True),)


def _state(have: Any, want: Any) -> tuple[Command, ...]:
    del have
    return (Command(("/sbin/ifconfig", "en0", str(want)), sudo=True),)


def _linux_mtu(have: Any, want: Any) -> tuple[Command, ...]:
    del have
    return (Command(("ip", "link", "set", "en0", "mtu", str(want)), sudo=True),)


def _linux_state(have: Any, want: Any) -> tuple[Command, ...]:
    del have
    return (Command(("ip", "link", "set", "en0", str(want)), sudo=True),)


def _subject(system: str) -> Subject:
    mac = system == DARWIN
    facts = (
        Fact("mtu", Command(("cat", "/sys/class/net/en0/mtu"), system=system), _number),
        Fact("link", Command(("cat", "/sys/class/net/en0/flags"), system=system), _is_up),
    )
    settings = (
        Setting("mtu", "a test", _mtu if mac else _linux_mtu, risk="network"),
        Setting("link", "a test", _state if mac else _linux_state, risk="network"),
    )
    return Subject(system, facts, dict, settings)


SUBJECTS = (_subject(DARWIN), _subject(LINUX))


def main() -> None:
    profile = read_profile(Path(sys.argv[1]))
    wish: Mapping[str, Any] = {sys.argv[2]: int(sys.argv[3]) if sys.argv[3].isdecimal() else sys.argv[3]}
    nodes = [node for node in profile.nodes if node.name in sys.argv[5:]]
    fleet = Fleet(nodes, 2.0)
    views = change.read(fleet, SUBJECTS, 10.0)
    todo = change.propose(SUBJECTS, views, lambda _: wish)
    within_s = int(sys.argv[4])
    done = apply.Application(fleet, SUBJECTS, todo, what="risky", confirm_within_s=within_s).run()
    fleet.close()
    states = {name: asdict(state) for name, state in done.entry.nodes.items()}
    print(json.dumps({"code": done.code, "status": done.entry.status, "nodes": states}))


if __name__ == "__main__":
    main()
