from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maccluster_cli.errors import UsageError
from maccluster_cli.nodeset import expand, fold, select
from maccluster_cli.values import Node

NODES = tuple(
    Node(name, name, roles=roles)
    for name, roles in (
        ("mini1", ("head",)),
        ("mini2", ("worker",)),
        ("mini3", ("worker",)),
        ("mini4", ("worker",)),
        ("studio-a", ()),
    )
)


def names(expression: str) -> list[str]:
    return [node.name for node in select(expression, NODES)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("mini1", ["mini1"]),
        ("mini[1-4],!mini3", ["mini1", "mini2", "mini4"]),
        ("mini[2,4]", ["mini2", "mini4"]),
        ("@worker", ["mini2", "mini3", "mini4"]),
        ("@worker,!mini[2-3]", ["mini4"]),
        ("!@worker", ["mini1", "studio-a"]),
        ("studio*", ["studio-a"]),
        ("mini4, mini1", ["mini1", "mini4"]),
        ("mini?,!mini1", ["mini2", "mini3", "mini4"]),
    ],
)
def test_selects_in_the_profiles_order(expression: str, expected: list[str]) -> None:
    assert names(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("mini9", "no node is called 'mini9' (did you mean 'mini4'?); this profile has", "profile show"),
        ("mni1", "no node is called 'mni1' (did you mean 'mini1'?)", "profile show"),
        (
            "@wroker",
            "no node has the role 'wroker' (did you mean 'worker'?); there are: head",
            "profile show",
        ),
        ("mini[4-1]", "runs backwards", ""),
        ("mini[1-99999999]", "too long", ""),
        ("mini[a-b]", "cannot read the range", "name[1-4]"),
        ("mini[1-]", "cannot read the range", "name[1-4]"),
        ("", "no node is named", "--nodes takes"),
        ("box*", "no node is called 'box*'", "profile show"),
    ],
)
def test_refuses_with_what_to_type(expression: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        names(expression)
    assert message in str(caught.value)
    assert hint in caught.value.hint
    assert caught.value.code == 2


def test_padding_is_kept() -> None:
    assert expand("rack[08-11]") == ("rack08", "rack09", "rack10", "rack11")
    assert fold(["rack08", "rack09", "rack10"]) == "rack[08-10]"


def test_several_ranges_multiply() -> None:
    assert expand("r[1-2]n[1-2]") == ("r1n1", "r1n2", "r2n1", "r2n2")


def test_folds_for_people() -> None:
    assert fold(["mini1", "mini2", "mini3", "nas", "mini7"]) == "mini[1-3,7],nas"
    assert fold(["mini1"]) == "mini1"
    assert fold([]) == ""


@given(st.lists(st.from_regex(r"[a-z]{1,4}[0-9]{0,3}", fullmatch=True), min_size=1, unique=True))
def test_what_is_folded_selects_the_same_again(hosts: list[str]) -> None:
    nodes = [Node(host, host) for host in hosts]
    assert {node.name for node in select(fold(hosts), nodes)} == set(hosts)
