"""maccluster discover: three sources that fail apart from each other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from maccluster_cli.profile import read_profile
from tests.flows.conftest import Cli, data
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault

QUIET = ("--bonjour", "0")


def test_facts_of_a_mac(cli: Cli) -> None:
    report = data(cli("discover", "--json", *QUIET))
    assert [node["node"] for node in report["nodes"]] == ["mini1", "mini2", "mini3", "mini4"]
    facts = report["nodes"][0]["facts"]
    assert facts["hw.model"] == "Mac16,11"
    assert facts["hw.name"] == "Mac mini"
    assert facts["hw.chip"] == "Apple M4 Pro"
    assert facts["hw.cores"] == [{"name": "Performance", "count": 10}, {"name": "Efficiency", "count": 4}]
    assert facts["hw.gpu_cores"] == 20
    assert facts["hw.memory_bytes"] == 48 * 2**30
    assert facts["tb.generation"] == 5
    assert facts["power.sleep_min"] == 1
    assert facts["mem.wired_limit_mb"] == 0
    assert facts["os.uptime_s"] > 0
    assert facts["disk.free_bytes"] > 0
    assert facts["worker.mlx"].startswith("0.32.")


def test_cables_of_a_mesh(cli: Cli, lab: Lab) -> None:
    report = data(cli("discover", "--json", *QUIET))
    assert report["shape"] == "mesh"
    found = {frozenset(((c["a"], c["a_interface"]), (c["b"], c["b_interface"]))) for c in report["cables"]}
    real = {frozenset(((c.a.host, c.a.interface), (c.b.host, c.b.interface))) for c in lab.cables}
    assert found == real
    assert {c["rate_bits_s"] for c in report["cables"]} == {80e9}
    assert report["strangers"] == []


def test_identity_is_the_machine_hashed(cli: Cli, lab: Lab) -> None:
    node = data(cli("discover", "--json", "-n", "mini1", *QUIET))["nodes"][0]
    said = lab.ssh("mini1", "system_profiler -json SPHardwareDataType").stdout
    uuid = said.split('"platform_UUID"')[1].split('"')[1]
    assert node["identity"] == hashlib.sha256(uuid.encode()).hexdigest()[:12]
    assert uuid not in cli("discover", "--json", *QUIET).stdout


def test_tables_for_people(cli: Cli) -> None:
    done = cli("discover", *QUIET)
    assert done.returncode == 0
    assert "Mac mini, M4 Pro" in done.stdout
    assert "R1 en2  <- 80 Gb/s ->  mini2:R1 en2  ip 10.78." in done.stdout
    assert done.stderr == "mini[1-4]: sleeps after 1 min without a user, and is gone from the network then\n"


def test_plain_is_one_record_a_node(cli: Cli) -> None:
    rows = [line.split("\t") for line in cli("discover", "--plain", *QUIET).stdout.splitlines()]
    assert [row[0] for row in rows] == ["mini1", "mini2", "mini3", "mini4"]
    assert len({len(row) for row in rows}) == 1


def test_a_node_that_only_its_cable_sees(cli: Cli, fault: Fault) -> None:
    fault.isolate("mini3")
    done = cli("discover", *QUIET)
    assert done.returncode == 4
    assert "3/4 nodes answered" in done.stderr
    assert "missing mini3: no answer in time" in done.stderr
    assert "its cable to mini1:en3, mini2:en3, mini4:en4 is up" in done.stderr
    seen = {n["node"]: n["seen"] for n in data(cli("discover", "--json", *QUIET))["nodes"]}
    assert seen["mini3"] == {"ssh": False, "bonjour": None, "cable": True}


def test_a_pulled_cable_is_gone_from_both_ends(cli: Cli, fault: Fault) -> None:
    fault.cut("mini1", "mini2")
    report = data(cli("discover", "--json", *QUIET))
    assert report["shape"] != "mesh"
    assert not any({c["a"], c["b"]} == {"mini1", "mini2"} for c in report["cables"])


def test_bonjour_sees_what_announces_itself(cli: Cli, lab: Lab) -> None:
    lab.advertise("mini2")
    lab.advertise("mini4")
    report = data(cli("discover", "--json", "-n", "mini[1-2]", "--bonjour", "1.5"))
    assert {n["node"]: n["seen"]["bonjour"] for n in report["nodes"]} == {"mini1": False, "mini2": True}
    assert [s["host"] for s in report["unknown"]] == ["mini4.local"]


def test_a_mac_that_nobody_knows_at_the_end_of_a_cable(cli: Cli, lab: Lab, profile: Path) -> None:
    profile.write_text(lab.profile(nodes=["mini1", "mini2"]))
    report = data(cli("discover", "--json", *QUIET))
    assert {(s["node"], s["interface"]) for s in report["strangers"]} == {
        ("mini1", "en3"),
        ("mini1", "en4"),
        ("mini2", "en3"),
        ("mini2", "en4"),
    }
    assert "unknown Mac at mini1:R2: " in cli("discover", *QUIET).stderr


def test_saving_shows_asks_and_keeps_comments(cli: Cli, profile: Path, tmp_path: Path) -> None:
    profile.write_text(
        "# my desk\n" + profile.read_text().replace("[[cables]]", "[[cables]]  # short one", 1)
    )
    target = tmp_path / "saved.toml"
    target.write_text(profile.read_text())
    refused = cli("discover", "--save", str(target), *QUIET)
    assert refused.returncode == 2
    assert "+uuid_hash = " in refused.stderr
    assert "error: this needs a yes, and nobody is here to give it\n next: add --yes" in refused.stderr
    assert target.read_text() == profile.read_text()
    assert cli("discover", "--save", str(target), "--yes", *QUIET).returncode == 0
    saved = read_profile(target)
    assert all(node.uuid_hash for node in saved.nodes)
    assert {cable.rate_bits_s for cable in saved.cables} == {80e9}
    assert target.read_text().startswith("# my desk\n")
    assert "# short one" in target.read_text()
    again = cli("discover", "-p", str(target), "--save", str(target), *QUIET)
    assert "says all of this already" in again.stderr


def test_saving_writes_the_cables_that_were_found(cli: Cli, lab: Lab, profile: Path, tmp_path: Path) -> None:
    profile.write_text(lab.profile(cables=False))
    target = tmp_path / "new.toml"
    assert cli("discover", "--save", str(target), "--yes", *QUIET).returncode == 0
    saved = {frozenset((c.a_address, c.b_address)) for c in read_profile(target).cables}
    assert saved == {frozenset((c.a.address, c.b.address)) for c in lab.cables}


def test_another_machine_under_an_old_name(cli: Cli, profile: Path) -> None:
    text = profile.read_text().replace("[nodes.mini2]", '[nodes.mini2]\nuuid_hash = "0123456789ab"', 1)
    profile.write_text(text)
    assert "mini2: another machine than the profile says" in cli("discover", *QUIET).stderr


@pytest.mark.parametrize(
    ("spec", "generation", "rdma", "reason"),
    [
        ("mini-m4", 4, "impossible", "Thunderbolt 5"),
        ("mini-m4pro:macos=26.1", 5, "impossible", "26.2"),
        ("mini-m1", 4, "impossible", "Thunderbolt 5"),
    ],
)
def test_rdma_says_why_not(
    lab_factory: Callable[..., Lab], tmp_path: Path, spec: str, generation: int, rdma: str, reason: str
) -> None:
    with lab_factory(2, "pair", specs=(spec,)) as lab:
        lab.profile(tmp_path / "p.toml")
        tmp_path.chmod(0o755)
        done = lab.cli("discover", "--json", "-p", str(tmp_path / "p.toml"), *QUIET)
        facts = data(done)["nodes"][0]["facts"]
    assert facts["tb.generation"] in {generation, 3}
    assert facts["rdma"]["state"] == rdma
    assert reason in facts["rdma"]["reason"]


def test_linux_nodes_are_real_nodes(lab_factory: Callable[..., Lab], tmp_path: Path) -> None:
    with lab_factory(2, "pair", specs=("studio-m3ultra", "linux")) as lab:
        lab.profile(tmp_path / "p.toml")
        tmp_path.chmod(0o755)
        mac, linux = data(lab.cli("discover", "--json", "-p", str(tmp_path / "p.toml"), *QUIET))["nodes"]
    assert mac["facts"]["os.system"] == "Darwin"
    facts = linux["facts"]
    assert facts["os.system"] == "Linux"
    assert facts["hw.memory_bytes"] > 2**30
    assert facts["hw.cores"][0]["count"] >= 1
    assert facts["os.uptime_s"] > 0
    assert any("10.78." in address for i in facts["net.interfaces"] for address in i["addresses"])
