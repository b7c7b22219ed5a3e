"""The way back over the lab: byte for byte, node by node, twice, and past what stands in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import golden
from tests.flows.conftest import data
from tests.flows.floor import Floor, holds
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

HOSTS = {
    "old": "mini-m1:macos=14.6.1",
    "pro": "mini-m4pro:mem=64",
    "ultra": "studio-m3ultra:macos=27.0",
    "penguin": "linux",
}
WISHES = """\
baseline = true
power.displaysleep = 5
power.mode = "low"
files.limit = 1048576
clock.network_time = false
"""


@pytest.fixture(scope="module")
def hosts(lab_factory: Callable[..., Lab]) -> Lab:
    """Macs of three releases and a Linux host."""
    return lab_factory(len(HOSTS), "none", specs=tuple(HOSTS.values()), names=tuple(HOSTS))


@pytest.fixture
def breaking(hosts: Lab) -> Iterator[Fault]:
    with ExitStack() as repairs:
        yield Fault(hosts, repairs)


@pytest.fixture
def floor(hosts: Lab, breaking: Fault, tmp_path: Path) -> Floor:
    breaking.change(*hosts.hosts)
    return Floor(hosts, tmp_path)


def tune(floor: Floor, *more: str) -> str:
    """Tune; the id of the change."""
    done = floor.cli("tune", "--yes", "--json", *more)
    assert done.returncode == 0, done.stderr
    return str(data(done)["journal"])


def test_all_comes_back_byte_for_byte(floor: Floor) -> None:
    floor.wish(WISHES)
    before = floor.snapshots()
    change = tune(floor)
    after = floor.snapshots()
    assert all(after[name] != before[name] for name in HOSTS)
    looked = floor.cli("undo", "--dry-run")
    assert looked.returncode == 0
    assert floor.cli("undo", "--check").returncode == 3
    assert floor.snapshots() == after
    done = floor.cli("undo", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert floor.snapshots() == before
    first, second = floor.journal()
    assert (first["id"], second["undoes"], data(done)["journal"]) == (change, change, second["id"])
    redone = floor.cli("undo", second["id"], "--yes")
    assert redone.returncode == 0, redone.stderr
    assert floor.snapshots() == after
    assert floor.cli("tune", "--check").returncode == 0
    again = floor.cli("undo", "--yes")
    assert f"undo of tune {change}" in again.stderr  # redone, so it is in force again
    assert floor.snapshots() == before
    assert floor.cli("undo", "--yes").returncode == 1


def test_the_list(floor: Floor) -> None:
    empty = floor.cli("undo", "--list", "--plain")
    assert (empty.returncode, empty.stdout) == (0, "")
    one = tune(floor, "-n", "old,pro")
    floor.wish("power.displaysleep = 7", node="pro")
    two = tune(floor, "-n", "pro")
    assert floor.cli("undo", "--yes").returncode == 0
    three = floor.journal()[-1]["id"]
    table = floor.cli("undo", "--list")
    golden.holds("change/list.txt", golden.plainly(table.stdout))
    records = [line.split("\t") for line in floor.cli("undo", "--list", "--plain").stdout.splitlines()]
    assert [(cells[0], *cells[2:]) for cells in records] == [
        (three, f"undo of {two}", "done", "pro", "1"),
        (two, "tune", "undone", "pro", "1"),
        (one, "tune", "done", "old,pro", "9"),
    ]
    told = data(floor.cli("undo", "--list", "--json"))["entries"]
    assert [(each["id"], each["undone"]) for each in told] == [(three, []), (two, ["pro"]), (one, [])]
    assert floor.cli("undo", "--yes").returncode == 0
    assert floor.journal()[-1]["undoes"] == one


def test_node_by_node(floor: Floor) -> None:
    before = floor.snapshots(["old", "pro"])
    change = tune(floor, "-n", "old,pro")
    part = floor.cli("undo", "--yes", "-n", "old")
    assert part.returncode == 0
    assert "warning: left out, since not chosen or not in this profile: pro" in part.stderr
    assert f"{change}\t" in floor.cli("undo", "--list", "--plain").stdout
    assert "\tdone, undone on old\t" in floor.cli("undo", "--list", "--plain").stdout
    rest = floor.cli("undo", "--yes")
    assert rest.returncode == 0
    assert "undo of tune" in rest.stderr
    assert floor.snapshots(["old", "pro"]) == before


def test_a_node_that_cannot_be_reached_keeps_its_way_back(floor: Floor, breaking: Fault) -> None:
    before = floor.snapshots(["old", "pro"])
    tune(floor, "-n", "old,pro")
    breaking.isolate("old")
    part = floor.cli("undo", "--yes")
    assert part.returncode == 4
    assert "old: not reached, and not changed" in part.stderr
    floor.lab.rejoin("old")
    assert floor.cli("undo", "--yes").returncode == 0
    assert floor.snapshots(["old", "pro"]) == before


def test_no_such_change(floor: Floor) -> None:
    nothing = floor.cli("undo")
    assert nothing.returncode == 1
    holds("undo-nothing", nothing)
    change = tune(floor, "-n", "pro")
    floor.wish("power.displaysleep = 7", node="pro")
    tune(floor, "-n", "pro")
    unknown = floor.cli("undo", "19990101-000000-0000")
    assert unknown.returncode == 2
    assert "'19990101-000000-0000' is no change in the journal" in unknown.stderr
    several = floor.cli("undo", change[:6])
    assert several.returncode == 2
    assert f"error: '{change[:6]}' fits several changes\n next: maccluster undo --list\n" == several.stderr
    assert floor.cli("undo", change, "--dry-run").returncode == 0


def test_a_step_of_the_clock_stays(floor: Floor, breaking: Fault) -> None:
    breaking.set_state("pro", "sntp/offset", "+7.250000")
    floor.wish("clock.step = 0.5\npower.sleep = 0")
    tune(floor, "-n", "pro")
    done = floor.cli("undo", "--yes")
    assert done.returncode == 0
    holds("undo-clock", done)
    assert floor.lab.state("pro", "sntp/offset") == "+0.000000"
    assert floor.cli("undo").returncode == 1


def test_another_machine_of_that_name_is_left_alone(floor: Floor) -> None:
    tune(floor, "-n", "old,pro")
    text = floor.profile.read_text()
    floor.profile.write_text(text.replace('host = "old"', 'host = "ultra"'))
    before = floor.snapshots(["ultra", "old"])
    done = floor.cli("undo", "--yes")
    assert done.returncode == 1
    holds("undo-other-machine", done)
    assert floor.snapshots(["ultra", "old"]) == before
    state = floor.journal()[-1]["nodes"]["old"]
    assert (state["status"], "another machine now" in state["error"]) == ("refused", True)
    floor.profile.write_text(text)
    assert floor.cli("undo", floor.journal()[0]["id"], "--yes").returncode == 0


def test_only_what_differs_by_now_is_put_back(floor: Floor) -> None:
    before = floor.snapshots(["pro"])
    change = tune(floor, "-n", "pro")
    floor.lab.exec("pro", "pmset", "-c", "sleep", "1", "powernap", "1", check=True)
    floor.lab.record("pro")
    done = floor.cli("undo", change, "--yes")
    assert done.returncode == 0
    assert floor.lab.calls("pro") == [
        "sysctl iogpu.wired_limit_mb=0",
        "pmset -c autorestart 0",
        "pmset -c disksleep 10",
    ]
    assert floor.snapshots(["pro"]) == before


def test_what_came_back_by_itself_counts_as_undone(floor: Floor) -> None:
    floor.wish("power.sleep = 0")
    tune(floor, "-n", "pro")
    floor.lab.exec("pro", "pmset", "-c", "sleep", "1", check=True)
    done = floor.cli("undo")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "nothing to change")
    assert floor.cli("undo").returncode == 1


def test_a_profile_of_other_nodes(floor: Floor) -> None:
    change = tune(floor, "-n", "pro")
    floor.profile.write_text(floor.profile.read_text().replace("[nodes.pro]", "[nodes.other]"))
    assert floor.cli("undo").returncode == 1
    named = floor.cli("undo", change)
    assert named.returncode == 2
    assert "none of the nodes of" in named.stderr
    assert "warning" not in named.stderr


def test_without_a_yes_nothing_is_put_back(floor: Floor) -> None:
    tune(floor, "-n", "pro")
    after = floor.snapshots(["pro"])
    done = floor.cli("undo")
    assert (done.returncode, done.stdout) == (2, "")
    assert " next: add --yes, or --dry-run to look\n" in done.stderr
    assert floor.snapshots(["pro"]) == after
    assert len(floor.journal()) == 1
