"""Sleep on Linux: masked targets cannot be entered, whoever asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maccluster_cli.linux.tuning import wishes
from maccluster_cli.linux.tuning.placing import root
from maccluster_cli.values import LINUX, Command, Fact, Setting

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

SYSTEMCTL = "/usr/bin/systemctl"
TARGETS = ("sleep.target", "suspend.target", "hibernate.target", "hybrid-sleep.target")
STATES = Command(("systemctl", "is-enabled", *TARGETS), system=LINUX)
ABSENT = "absent"
_COMMAND_MISSING = 127


def masked(reply: Reply) -> tuple[str, ...] | str | None:
    """Which targets are masked; `ABSENT` without systemd. The exit code proves nothing."""
    if reply.code == _COMMAND_MISSING:
        return ABSENT
    states = reply.text.split()
    if len(states) != len(TARGETS):
        return None
    return tuple(
        target for target, state in zip(TARGETS, states, strict=True) if state in {"masked", "masked-runtime"}
    )


def joined(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The masked targets, in a fixed order."""
    found = parts.get("raw.sleep")
    return {} if found == ABSENT else {"sleep.targets": found}


def aim(facts: Mapping[str, Any], wish: Any) -> tuple[str, ...]:
    """True masks all of them, false none."""
    return TARGETS if wish == "masked" or wishes.yes_or_no(facts, wish) else ()


def write(have: Any, want: Any) -> tuple[Command, ...]:
    """Mask and unmask, one target a command."""
    if want is None:
        return ()
    before = set(TARGETS) - set(want) if have is None else set(have)
    off = (root(SYSTEMCTL, "mask", target) for target in TARGETS if target in want and target not in before)
    on = (root(SYSTEMCTL, "unmask", target) for target in TARGETS if target in before and target not in want)
    return (*off, *on)


FACTS = (Fact("raw.sleep", STATES, masked),)
SETTINGS = (
    Setting("sleep.targets", "A node that suspends stops all ranks; masked targets cannot.", write, aim),
)
BASELINE: Mapping[str, Any] = {"sleep.targets": True}
