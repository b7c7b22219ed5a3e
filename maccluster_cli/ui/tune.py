"""The settings there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maccluster_cli.ui.screen import Screen
from maccluster_cli.values import Subject


def listing(screen: Screen, subjects: Sequence[Subject], baselines: Mapping[str, Mapping[str, Any]]) -> None:
    """Name, system, baseline and reason of every setting."""
    found = [(s, subject.system) for subject in subjects for s in subject.settings]
    if screen.look.json:
        screen.data(
            {
                "settings": [
                    {
                        "name": s.name,
                        "system": system,
                        "baseline": baselines[system].get(s.name),
                        "why": s.why,
                    }
                    for s, system in found
                ]
            }
        )
        return
    rows = [(s.name, system, str(baselines[system].get(s.name, "-")), s.why) for s, system in found]
    screen.table(("setting", "system", "baseline", "why"), rows)
