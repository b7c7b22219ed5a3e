from __future__ import annotations

from pathlib import Path

import pytest

from maccluster_cli import shelf
from maccluster_cli.errors import ProfileError
from maccluster_cli.profile import amend, read_profile
from maccluster_cli.recipe import read_recipe
from maccluster_cli.tomlplace import line_of
from maccluster_cli.values import Change, Plan

GOOD = """\
schema = 1
name = "desk"

[defaults]
user = "ada"
python = "/opt/env/bin/python"   # same everywhere

[nodes.north]
host = "north.local"
roles = ["head"]
[nodes.east]
host = "192.0.2.12"
user = "ben"
port = 2222

[[cables]]
ends = ["north", "east"]
addresses = ["198.51.100.1", "198.51.100.2"]
rate_gbit_s = 80.0
"""


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "desk.toml"
    path.write_text(text)
    return path


def test_defaults_fill_in_what_a_node_leaves_out(tmp_path: Path) -> None:
    profile = read_profile(file(tmp_path, GOOD))
    north, east = profile.nodes
    assert (north.user, north.port, north.python, north.roles) == (
        "ada",
        None,
        "/opt/env/bin/python",
        ("head",),
    )
    assert (east.user, east.port, east.python) == ("ben", 2222, "/opt/env/bin/python")
    assert profile.cables[0].b_address == "198.51.100.2"
    assert profile.cables[0].rate_bits_s == 80e9


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('user = "ben"', 'usr = "ben"', "desk.toml:13: nodes.east.usr: unknown key (did you mean 'user'?)"),
        (
            "port = 2222",
            'port = "2222"',
            "desk.toml:14: nodes.east.port: input should be a valid integer, not '2222'",
        ),
        (
            "port = 2222",
            "port = 70000",
            "desk.toml:14: nodes.east.port: input should be less than 65536, not 70000",
        ),
        ("schema = 1", "schema = 2", "desk.toml:1: schema: input should be 1, not 2"),
        ('name = "desk"', "", "desk.toml: 'name' is missing"),
        (
            'name = "desk"',
            'name = "my desk"',
            "desk.toml:2: name: letters, digits, dot, dash and underscore only",
        ),
        ("[defaults]", "[default]", "desk.toml:4: default: unknown key (did you mean 'defaults'?)"),
        ('"east"]', '"west"]', "a cable ends at 'west', which is no node of this profile"),
        ('host = "north.local"', "", "desk.toml:8: nodes.north: needs host"),
        ("rate_gbit_s = 80.0", "rate = 80", "desk.toml:19: cables.0.rate: unknown key"),
        ('user = "ada"', "user = ada", "desk.toml: not valid TOML: Invalid value (at line 5, column 8)"),
    ],
)
def test_says_where_and_what_was_expected(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ProfileError) as caught:
        read_profile(file(tmp_path, GOOD.replace(old, new)))
    assert said in str(caught.value).replace(f"{tmp_path}/", "")
    assert caught.value.code == 2


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ProfileError) as caught:
        read_profile(file(tmp_path, GOOD.replace("port", "prt").replace("roles", "rols")))
    assert len(str(caught.value).splitlines()) == 2


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="No such file"):
        read_profile(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ProfileError, match="not UTF-8"):
        read_profile(tmp_path / "bad.toml")


def test_every_shipped_file_is_right() -> None:
    assert {"local", "mac-mini-x4", "mac-studio-x2"} <= set(shelf.profiles())
    assert "tiny" in shelf.recipes()
    for path in shelf.profiles().values():
        assert read_profile(path).nodes
    for path in shelf.recipes().values():
        assert read_recipe(path).train.steps > 0


def test_a_local_node_among_several_is_reached_over_ssh(tmp_path: Path) -> None:
    text = 'schema = 1\nname = "x"\n[nodes.here]\nlocal = true\n[nodes.east]\nhost = "east"\n'
    here, _ = read_profile(file(tmp_path, text)).nodes
    assert (here.local, here.host) == (False, "localhost")


def test_amending_keeps_comments_and_order(tmp_path: Path) -> None:
    todo = Plan(
        (
            Change("north", "uuid_hash", None, "0123456789ab"),
            Change("cable 0", "interfaces", None, ["en2", "en5"]),
            Change("cable 1", "ends", None, ["east", "north"]),
        )
    )
    text = amend(GOOD, todo)
    assert "# same everywhere" in text
    assert [line for line in GOOD.splitlines() if line not in text.splitlines()] == []
    again = read_profile(file(tmp_path, text))
    assert again.nodes[0].uuid_hash == "0123456789ab"
    assert (again.cables[0].a_interface, again.cables[0].b_interface) == ("en2", "en5")
    assert (again.cables[1].a, again.cables[1].b) == ("east", "north")


def test_recipes_know_what_a_model_needs(tmp_path: Path) -> None:
    path = file(tmp_path, 'schema = 1\nname = "r"\n[model]\nhidden_size = 60\nnum_heads = 7\n')
    with pytest.raises(ProfileError, match="hidden_size must divide by 2 num_heads"):
        read_recipe(path)


def test_lines_of_keys_in_arrays_of_tables() -> None:
    text = '[[cables]]\nends = 1\n[[cables]]\n"ends" = 2\n[a.b]\nc.d = 3\n'
    assert line_of(text, ("cables", 1, "ends")) == 4
    assert line_of(text, ("a", "b", "c", "d")) == 6
    assert line_of(text, ("cables", 1, "missing")) == 3
    assert line_of(text, ("nowhere",)) is None
