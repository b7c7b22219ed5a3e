"""pytest fixtures: a lab for the session, a maker of other labs, faults that undo themselves."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.lab import cleanup
from tests.lab.cluster import Lab
from tests.lab.needs import obstacle
from tests.lab.paths import Paths

REQUIRE = "MACCLUSTER_REQUIRE_LAB"
FIXTURES = {"lab", "lab_factory", "fault"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses a lab carries its mark."""
    for item in items:
        if FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.lab)


@pytest.fixture(scope="session")
def lab_factory() -> Iterator[Callable[..., Lab]]:
    """Make labs: the arguments are those of `Lab.up`. All end with the session, if not earlier."""
    if reason := obstacle():
        (pytest.fail if os.environ.get(REQUIRE) == "1" else pytest.skip)(reason)
    cleanup.sweep()
    numbers = itertools.count()
    with ExitStack() as labs:

        def make(count: int, links: str = "mesh", **wishes: Any) -> Lab:
            prefix = f"{cleanup.TEST_PREFIX}{os.getpid()}-{next(numbers)}"
            cleanup.down(Paths(prefix))
            return labs.enter_context(Lab.up(count, links, prefix=prefix, **wishes))

        yield make


@pytest.fixture(scope="session")
def lab(lab_factory: Callable[..., Lab]) -> Lab:
    """Four Mac minis, each cabled to each other. Leave it as it was: break it through `fault`."""
    return lab_factory(4, "mesh")


class Fault:
    """Breaks things in a lab and mends them after the test, last one first."""

    def __init__(self, lab: Lab, repairs: ExitStack) -> None:
        self._lab = lab
        self._repairs = repairs

    def cut(self, one: str, other: str, how: str = "down") -> None:
        self._repairs.callback(self._lab.heal, one, other)
        self._lab.cut(one, other, how)

    def kill(self, name: str, *, power: bool = False) -> None:
        self._repairs.callback(self._revive, name)
        self._lab.kill(name, power=power)

    def _revive(self, name: str) -> None:
        if self._lab.hosts[name].pid is None:
            self._lab.boot(name)

    def isolate(self, name: str) -> None:
        self._repairs.callback(self._lab.rejoin, name)
        self._lab.isolate(name)

    def shape(self, name: str, interface: str, rate: str) -> None:
        self._repairs.callback(self._lab.shape, name, interface, "off")
        self._lab.shape(name, interface, rate)

    def loss(self, name: str, interface: str, probability: float) -> None:
        self._repairs.callback(self._lab.loss, name, interface, 0)
        self._lab.loss(name, interface, probability)

    def change(self, *names: str) -> None:
        """These hosts may be changed at will, by the commands of the test: all comes back after it."""
        for name in names:
            self._repairs.callback(self._lab.restore, name, self._lab.keep(name))

    def set_state(self, name: str, key: str, value: object) -> None:
        self._repairs.callback(self._restore, name, key, self._lab.state(name, key))
        self._lab.set_state(name, key, value)

    def _restore(self, name: str, key: str, value: str) -> None:
        """A state that never was is taken away again, for a fake may go by its presence."""
        if value:
            self._lab.set_state(name, key, value)
        else:
            self._lab.forget_state(name, key)


@pytest.fixture
def fault(lab: Lab) -> Iterator[Fault]:
    with ExitStack() as repairs:
        yield Fault(lab, repairs)
