"""What a profile may ask for, checked: a wish that makes no sense is refused in words, never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maccluster_cli.values import Refusal


def switch(facts: Mapping[str, Any], wish: Any) -> int:
    """Turn true, false, 1 and 0 into `pmset`'s 1 and 0."""
    del facts
    if isinstance(wish, int) and wish in (0, 1):
        return int(wish)
    raise Refusal(f"{wish!r} is neither true nor false")


def minutes(facts: Mapping[str, Any], wish: Any) -> int:
    """Check idle minutes; 0 is never."""
    del facts
    if not whole(wish) or wish < 0:
        raise Refusal(f"{wish!r} is no number of minutes (0 is never)")
    return int(wish)


def yes_or_no(facts: Mapping[str, Any], wish: Any) -> bool:
    """Check a wish that is on or off."""
    return bool(switch(facts, wish))


def whole(wish: Any) -> bool:
    """Tell whether a wish is a whole number; true and false are not."""
    return isinstance(wish, int) and not isinstance(wish, bool)
