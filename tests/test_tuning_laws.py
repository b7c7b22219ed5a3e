"""Laws of all settings, over the models of a node: what is written is read back, there and back again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maccluster_cli.macos.tuning import power
from maccluster_cli.plan import plan
from maccluster_cli.values import Refusal
from tests.test_tuning_models import VALUES, Mac, Model, setting, whole

law = settings(max_examples=25, deadline=None)  # each of them runs for each setting
CASES = [(kind, name) for kind, names in VALUES.items() for name in names]
by_name = pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda part: getattr(part, "__name__", part))
WISHES: dict[str, st.SearchStrategy[Any]] = {
    "power.mode": st.sampled_from(["auto", "low", "high"]),
    "memory.wired_limit": st.sampled_from(["auto", "default"]) | st.integers(0, 600_000),
    "files.limit": st.integers(1, 1 << 21) | st.tuples(whole, whole),
    "clock.step": st.floats(0.1, 10),
    "sleep.targets": st.booleans() | st.just("masked"),
    "net.buffers": st.integers(1, 1 << 31),
    "cpu.governor": st.sampled_from(["performance", "schedutil", "ondemand", "powersave"]),
    "names.consistent": st.booleans(),
    **{f"power.{key}": st.integers(0, 600) for key in power.MINUTES},
}


def brought_to(kind: type[Model], name: str, value: Any) -> Model:
    model = kind()
    model.run(*setting(kind, name).write(model.read()[name], value))
    assert model.read()[name] == value
    return model


@by_name
@law
@given(data=st.data())
def test_there_and_back_again(kind: type[Model], name: str, data: st.DataObject) -> None:
    a, b = (data.draw(VALUES[kind][name]) for _ in "ab")
    write = setting(kind, name).write
    model = brought_to(kind, name, a)
    before = copy.deepcopy(model)
    model.run(*write(a, b))
    assert model.read()[name] == b
    model.run(*write(b, a))
    assert model.read() == before.read()
    assert model == before


@by_name
@law
@given(data=st.data())
def test_other_settings_stay(kind: type[Model], name: str, data: st.DataObject) -> None:
    a, b = (data.draw(VALUES[kind][name]) for _ in "ab")
    model = brought_to(kind, name, a)
    before = model.read()
    model.run(*setting(kind, name).write(a, b))
    others = [one for one in kind.room.SETTINGS if one.name != name]
    assert not plan(others, {"n": before}, {"n": {one.name: model.read()[one.name] for one in others}})


@by_name
@law
@given(data=st.data())
def test_stopped_anywhere_it_goes_on_from_there(kind: type[Model], name: str, data: st.DataObject) -> None:
    a, b = (data.draw(VALUES[kind][name]) for _ in "ab")
    write = setting(kind, name).write
    commands = write(a, b)
    assert commands == write(a, b)
    for count in range(len(commands) + 1):
        model = brought_to(kind, name, a)
        model.run(*commands[:count])
        now = model.read()[name]
        assert now is not None
        model.run(*write(now, b))
        assert model.read()[name] == b


@by_name
@law
@given(data=st.data())
def test_to_write_twice_is_to_write_once(kind: type[Model], name: str, data: st.DataObject) -> None:
    a, b = (data.draw(VALUES[kind][name]) for _ in "ab")
    model = brought_to(kind, name, a)
    commands = setting(kind, name).write(a, b)
    model.run(*commands)
    once = copy.deepcopy(model)
    model.run(*commands)
    assert model == once


@by_name
@law
@given(data=st.data())
def test_what_is_not_known_is_written_whole_and_nothing_is_made_unknown(
    kind: type[Model], name: str, data: st.DataObject
) -> None:
    a, b = (data.draw(VALUES[kind][name]) for _ in "ab")
    model = brought_to(kind, name, a)
    write = setting(kind, name).write
    assert write(a, None) == ()
    model.run(*write(None, b))
    assert model.read()[name] == b


@by_name
@law
@given(data=st.data())
def test_a_wish_that_came_true_asks_for_nothing_more(
    kind: type[Model], name: str, data: st.DataObject
) -> None:
    one = setting(kind, name)
    model = brought_to(kind, name, data.draw(VALUES[kind][name]))
    if data.draw(st.booleans()):
        model = Mac(high=True) if kind is Mac and name == "power.mode" else kind()
    wish = data.draw(WISHES.get(name, st.booleans()))
    facts = model.read()
    with suppress(Refusal):
        want = one.aim(facts, wish)
        assert want == one.aim(facts, wish)
        model.run(*one.write(facts[name], want))
        after = model.read()
        assert after[name] == want
        assert one.aim(after, wish) == want


@by_name
@law
@given(data=st.data())
def test_a_wish_survives_a_stop(kind: type[Model], name: str, data: st.DataObject) -> None:
    """Stopped after any command, a wish leads to the same end: half done is not taken for done."""
    one, model = setting(kind, name), kind()
    wish = data.draw(WISHES.get(name, st.booleans()))
    facts = model.read()
    try:
        want = one.aim(facts, wish)
    except Refusal:
        return
    commands = one.write(facts[name], want)
    model.run(*commands[: data.draw(st.integers(0, len(commands)))])
    facts = model.read()
    model.run(*one.write(facts[name], one.aim(facts, wish)))
    assert model.read()[name] == want


@law
@given(st.floats(-50, 50), st.floats(0.1, 20))
def test_a_clock_is_stepped_once(offset: float, wish: float) -> None:
    one, model = setting(Mac, "clock.step"), Mac(offset=offset)
    facts = model.read()
    want = one.aim(facts, wish)
    assert bool(plan([one], {"n": facts}, {"n": {one.name: want}})) == (abs(facts["clock.offset_s"]) > wish)
    model.run(*one.write(facts[one.name], want))
    after = model.read()
    assert one.aim(after, wish) == after[one.name] == want
    assert not one.reversible
    assert one.write(want, facts[one.name]) == ()


@pytest.mark.parametrize("kind", VALUES)
@law
@given(data=st.data())
def test_odd_wishes_are_refused_in_words_or_granted(kind: type[Model], data: st.DataObject) -> None:
    odd = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    wish = data.draw(odd | st.lists(odd, max_size=3) | st.dictionaries(st.text(max_size=3), odd, max_size=2))
    facts: Mapping[str, Any] = data.draw(st.sampled_from([kind().read(), {}, {"node.name": None}]))
    texts = []
    for one in kind.room.SETTINGS:
        try:
            one.aim(facts, wish)
        except Refusal as refusal:
            texts.append(str(refusal))
    assert all(len(text) > 10 for text in texts)
