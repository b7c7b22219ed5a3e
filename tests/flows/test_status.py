"""maccluster status: one line a node."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from tests.flows.conftest import Cli, data
from tests.lab.cluster import Lab
from tests.lab.fixtures import Fault


def test_one_line_a_node(cli: Cli) -> None:
    done = cli("status", "--plain")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows] == [[f"mini{i}", "up"] for i in range(1, 5)]
    assert "of 48 GiB" in rows[0][3]
    assert done.returncode == 0


def test_a_node_that_is_gone(cli: Cli, fault: Fault) -> None:
    fault.isolate("mini2")
    done = cli("status")
    assert done.returncode == 4
    assert "mini2" in done.stdout
    assert "unreachable" in done.stdout
    assert "error: mini2: no answer in time" in done.stderr


def test_json_holds_unknowns_as_null(cli: Cli) -> None:
    nodes = data(cli("status", "--json"))["nodes"]
    assert {node["state"] for node in nodes} == {"up"}
    assert nodes[0]["facts"]["os.load_1m"] is not None
    assert nodes[0]["jobs"] == []


def test_watching_ends_with_ctrl_c(lab: Lab, profile: Path, tmp_path: Path) -> None:
    out = (tmp_path / "out").open("w")
    argv = ("-m", "maccluster_cli", "status", "-p", str(profile), "--plain", "--watch", "--every", "0.5")
    process = lab.popen("ctl", sys.executable, *argv, stdout=out)
    end = time.monotonic() + 30
    while (tmp_path / "out").read_text().count("mini1\tup") < 2 and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    out.close()
    assert (tmp_path / "out").read_text().count("mini1\tup") >= 2
