"""Which settings a profile wants, node by node; and where a wish is folk advice, what is true instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maccluster_cli import folk
from maccluster_cli.errors import UsageError, did_you_mean
from maccluster_cli.flows.look import View
from maccluster_cli.linux import tuning as linux
from maccluster_cli.macos import tuning as macos
from maccluster_cli.values import DARWIN, LINUX, Node, Subject

SUBJECTS = (
    Subject(DARWIN, macos.FACTS, macos.combine, macos.SETTINGS),
    Subject(LINUX, linux.FACTS, linux.combine, linux.SETTINGS),
)
BASELINES: Mapping[str, Mapping[str, Any]] = {DARWIN: macos.BASELINE, LINUX: linux.BASELINE}
ON_TOP = "baseline"  # `tune.baseline = true`: the baseline for everything that is not named
REPORTS = {DARWIN: macos.REPORTS, LINUX: linux.REPORTS}


def names() -> list[str]:
    """Every setting there is, on whichever system."""
    return list(dict.fromkeys(setting.name for subject in SUBJECTS for setting in subject.settings))


def wishes(view: View) -> Mapping[str, Any]:
    """What this node should have: what its profile names, or the baseline where that names nothing."""
    named = dict(view.node.tune)
    wants_baseline = named.pop(ON_TOP, not named)
    baseline = BASELINES[str(view.facts.get("os.system"))] if wants_baseline else {}
    return {**baseline, **named}


def check(nodes: Sequence[Node]) -> None:
    """Raise UsageError for a wish that no setting has: a slip, or advice that the web repeats."""
    known = names()
    for node in nodes:
        for name, wish in node.tune.items():
            advice = folk.advice(name, wish)
            if advice and (name not in known or isinstance(wish, str)):  # numbers are judged node by node
                text = f'tune.{name}: people advise: "{advice.claim.rstrip(".")}". {advice.truth}'
                raise UsageError(text.rstrip("."), node=node.name, hint=advice.instead)
            if not advice and name not in {*known, ON_TOP}:
                text = f"tune.{name}: there is no such setting{did_you_mean(name, known)}"
                raise UsageError(text, node=node.name, hint="maccluster tune --list")
