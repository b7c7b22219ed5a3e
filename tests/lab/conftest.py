"""A second lab for the tests of the lab itself: hosts that differ in what `tune` would meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

SHOP = {
    "mini": "mini-m4",
    "pro": "mini-m4pro:ups",
    "book": "mbp-m5max:macos=27.0",
    "old": "mini-m1:macos=14.6.1",
    "mule": "mini-m4:stubborn=womp+iogpu.wired_limit_mb:nopasswd=list",
    "linux": "linux",
}


@pytest.fixture(scope="session")
def shop(lab_factory: Callable[..., Lab]) -> Lab:
    """Six hosts without a cable."""
    return lab_factory(len(SHOP), "none", specs=tuple(SHOP.values()), names=tuple(SHOP))


@pytest.fixture
def shop_fault(shop: Lab) -> Iterator[Fault]:
    with ExitStack() as repairs:
        yield Fault(shop, repairs)
