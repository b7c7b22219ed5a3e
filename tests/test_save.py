"""Saving what was found: the file that cannot be read back is never written, the user's own is respected."""

from __future__ import annotations

from pathlib import Path

import pytest

from maccluster_cli.errors import ClusterError, UsageError
from maccluster_cli.flows import save
from maccluster_cli.flows.discover import Report
from maccluster_cli.flows.look import View
from maccluster_cli.profile import read_profile
from maccluster_cli.values import Cable, Node

TEXT = 'schema = 1\nname = "two"\ncables = []   # none yet\n[nodes.a]\nhost = "a"\n[nodes.b]\nhost = "b"\n'
FOUND = Cable("a", "b", "10.0.0.1", "10.0.0.2", "en2", "en3", "1", "2", 40e9)


def report(*names: str, cables: tuple[Cable, ...] = (FOUND,)) -> Report:
    views = tuple(View(Node(name, name), {"id.uuid": f"uuid-{name}"}) for name in names)
    return Report(views, None, None, cables, ())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TEXT)
    return path


def test_an_empty_list_of_cables_takes_tables(file: Path) -> None:
    save.write(save.propose(read_profile(file), report("a", "b"), str(file)))
    [cable] = read_profile(file).cables
    assert (cable.a_address, cable.b_interface, cable.rate_bits_s) == ("10.0.0.1", "en3", 40e9)


def test_rights_and_links_stay(file: Path, tmp_path: Path) -> None:
    file.chmod(0o600)
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    save.write(save.propose(read_profile(file), report("a", "b"), str(link)))
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_profile(file).cables


def test_a_cable_keeps_its_place_and_the_order_of_its_ends(file: Path) -> None:
    file.write_text(TEXT.replace("cables = []   # none yet\n", "") + '[[cables]]\nends = ["b", "a"]\n')
    save.write(save.propose(read_profile(file), report("a", "b"), str(file)))
    [cable] = read_profile(file).cables
    assert (cable.a, cable.b, cable.a_interface, cable.b_address) == ("b", "a", "en3", "10.0.0.1")


def test_two_cables_between_two_nodes_are_two(file: Path) -> None:
    second = Cable("a", "b", "10.0.1.1", "10.0.1.2", "en4", "en5", "3", "4", 40e9)
    both = report("a", "b", cables=(FOUND, second))
    save.write(save.propose(read_profile(file), both, str(file)))
    assert {c.a_interface for c in read_profile(file).cables} == {"en2", "en4"}
    assert not save.propose(read_profile(file), both, str(file)).changed


def test_nodes_that_the_target_lacks_are_left_out(file: Path) -> None:
    save.write(save.propose(read_profile(file), report("a", "b", "c"), str(file)))
    assert [node.name for node in read_profile(file).nodes] == ["a", "b"]


def test_what_changed_meanwhile_is_not_overwritten(file: Path) -> None:
    proposal = save.propose(read_profile(file), report("a", "b"), str(file))
    file.write_text(TEXT + "# mine\n")
    with pytest.raises(ClusterError, match="changed meanwhile"):
        save.write(proposal)
    assert file.read_text() == TEXT + "# mine\n"


def test_a_new_file_takes_its_own_name(file: Path, tmp_path: Path) -> None:
    proposal = save.propose(read_profile(file), report("a", "b"), str(tmp_path / "desk.toml"))
    save.write(proposal)
    assert read_profile(tmp_path / "desk.toml").name == "desk"


def test_an_empty_target_is_no_target(file: Path) -> None:
    with pytest.raises(UsageError):
        save.propose(read_profile(file), report("a"), " ")
