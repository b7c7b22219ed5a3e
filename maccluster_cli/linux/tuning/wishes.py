"""What a profile may ask for, checked: a wish that makes no sense is refused in words, never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maccluster_cli.values import Refusal


def yes_or_no(facts: Mapping[str, Any], wish: Any) -> bool:
    """Check a wish that is on or off."""
    del facts
    if isinstance(wish, int) and wish in (0, 1):
        return bool(wish)
    raise Refusal(f"{wish!r} is neither true nor false")


def whole(wish: Any) -> bool:
    """Tell whether a wish is a whole number above zero; true is none."""
    return isinstance(wish, int) and not isinstance(wish, bool) and wish > 0
