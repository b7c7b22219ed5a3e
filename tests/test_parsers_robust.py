"""Parsers answer "unknown" to odd input; they never raise, whatever a node prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maccluster_cli import linux, macos, topology
from maccluster_cli.macos import hardware, rdma
from maccluster_cli.values import CoreLevel, Interface, Port, Rdma, Reply
from tests.test_recordings import RECORDINGS, ROOMS, printed, told_for

CASES = [json.loads(Path(path).read_text()) for path in RECORDINGS]
TEXTS = {
    system: sorted(
        {printed(told) for case in CASES if case["system"] == system for told in case["replies"].values()}
    )
    for system in ROOMS
}
TYPES: dict[str, Any] = {
    "hw.cores": tuple,
    "hw.gpu_cores": int,
    "hw.memory_bytes": int,
    "os.uptime_s": float,
    "os.load_1m": float,
    "net.interfaces": tuple,
    "tb.ports": tuple,
    "tb.generation": int,
    "rdma": Rdma,
    "power.sleep_min": int,
    "power.sleep_disabled": bool,
    "mem.free_bytes": int,
    "mem.swap_used_bytes": int,
    "mem.wired_limit_mb": int,
    "disk.free_bytes": int,
}
MEMBERS = {"hw.cores": CoreLevel, "net.interfaces": Interface, "tb.ports": Port}


def read(system: str, out: bytes, err: bytes = b"", code: int | None = 0) -> dict[str, Any]:
    """Give every parser of a room the same bytes: most of them see what was never meant for them."""
    room: Any = ROOMS[system]
    found: dict[str, Any] = room.combine(
        {fact.name: fact.parse(Reply(fact.command, code, out, err)) for fact in room.FACTS}
    )
    for name, value in found.items():
        if value is None:
            continue
        assert isinstance(value, TYPES.get(name, str)), name
        assert all(isinstance(one, MEMBERS[name]) for one in value) if name in MEMBERS else True
    topology.cables({"a": found, "b": found})
    topology.strangers({"a": found})
    return found


systems = st.sampled_from(sorted(ROOMS))
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
KEYS = [
    "SPThunderboltDataType", "SPHardwareDataType", "SPDisplaysDataType", "_items", "_name", "ifname",
    "receptacle_1_tag", "receptacle_id_key", "current_speed_key", "services_title", "protocol_id_key",
    "domain_uuid_key", "number_processors", "physical_memory", "sppci_cores",
    "addr_info", "family", "local", "prefixlen", "master",
]  # fmt: skip
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)


@given(systems, st.binary(max_size=400), st.binary(max_size=40), st.none() | st.integers(0, 255))
def test_random_bytes(system: str, out: bytes, err: bytes, code: int | None) -> None:
    read(system, out, err, code)


@given(systems, trees)
def test_random_json(system: str, tree: Any) -> None:
    read(system, json.dumps(tree).encode())


@given(systems, st.dictionaries(st.sampled_from(KEYS[:3]), st.lists(trees, max_size=4), min_size=1))
def test_random_reports(system: str, report: dict[str, Any]) -> None:
    read(system, json.dumps(report).encode())


@settings(max_examples=300)
@given(st.data(), systems)
def test_real_shapes_cut_and_spliced(data: st.DataObject, system: str) -> None:
    first = data.draw(st.sampled_from(TEXTS[system]))
    second = data.draw(st.sampled_from(TEXTS[system]))
    start = data.draw(st.integers(0, len(first)))
    end = data.draw(st.integers(0, len(second)))
    read(system, (first[:start] + data.draw(st.text(max_size=3)) + second[end:]).encode())


@settings(max_examples=300)
@given(st.data(), systems)
def test_real_shapes_with_lines_lost_and_digits_changed(data: st.DataObject, system: str) -> None:
    lines = data.draw(st.sampled_from(TEXTS[system])).splitlines()
    kept = [line for line in lines if data.draw(st.integers(0, 9)) > 0] if len(lines) < 40 else lines[::2]
    old, new = (
        data.draw(st.sampled_from("0123456789:.")),
        data.draw(st.sampled_from(["", "-", "9" * 30, "\0", "٣"])),
    )
    read(system, "\n".join(kept).replace(old, new).encode())


@pytest.mark.parametrize("system", ROOMS)
@pytest.mark.parametrize(
    "out",
    [
        b'{"SPThunderboltDataType":[' + b'{"_items":[' * 3000,
        b"[" * 100_000,
        b'{"SPThunderboltDataType":[' + b'{"_items":[' * 400 + b"]}" * 400 + b"]}",
        b"\n".join(b" " * depth + b"Thunderbolt/USB4:" for depth in range(2000)),
        b"hw.memsize: " + b"9" * 5000,
        b"en0: flags=8863<UP> mtu " + b"9" * 5000,
        b"\xff\xfe\x00" * 1000,
        "hw.memsize: ١٢٣\nsleep ٣\n".encode(),
        b"'" * 50_000 + b"\n" * 1000,
        b"x" * 200_000,
    ],
)
def test_hostile_input(system: str, out: bytes) -> None:
    found = read(system, out)
    assert found["hw.memory_bytes"] is None
    assert found["power.sleep_min"] is None


@pytest.mark.parametrize("case", CASES, ids=[path.stem for path in RECORDINGS])
def test_the_exit_code_changes_nothing(case: dict[str, Any]) -> None:
    room: Any = ROOMS[case["system"]]

    def values(code: int | None) -> dict[str, Any]:
        outs = {fact.name: printed(told_for(fact, case["replies"]) or "").encode() for fact in room.FACTS}
        found: dict[str, Any] = room.combine(
            {fact.name: fact.parse(Reply(fact.command, code, outs[fact.name])) for fact in room.FACTS}
        )
        return found

    assert values(0) == values(1) == values(None)


@given(
    st.builds(
        rdma.Signs,
        generation=st.none() | st.integers(1, 6),
        version=st.none() | st.sampled_from(["15.5", "26.1", "26.2", "26.2.1", "27", "27.0.1", "odd"]),
        enabled=st.none() | st.booleans(),
        states=st.none()
        | st.dictionaries(
            st.sampled_from(["rdma_en1", "rdma_en2", "rdma_en3"]),
            st.none() | st.sampled_from(["PORT_ACTIVE", "PORT_DOWN", "PORT_INIT"]),
        ),
        ports=st.none() | st.just(()) | st.just((Port("1", None, "en2"),)),
        studio=st.booleans(),
    )
)
def test_rdma_verdicts_keep_their_order(signs: rdma.Signs) -> None:
    found = rdma.verdict(signs)
    assert found.state in {"active", "ready", "off", "impossible", "unknown"}
    assert found.reason
    if signs.ports == () or (signs.generation or 5) < 5 or signs.version in {"15.5", "26.1"}:
        assert found.state == "impossible"
        assert "Recovery" not in found.reason
    elif signs.enabled is False:
        assert found.state == "off"
    elif found.state == "active":
        assert "PORT_ACTIVE" in (signs.states or {}).values()


@given(
    st.text(max_size=20) | st.from_regex(r"proc \d{1,2}(:\d{1,2}){0,4}", fullmatch=True), st.text(max_size=6)
)
def test_core_counts_add_up_or_are_unknown(told: str, version: str) -> None:
    for release in (version, "15.5", "26.3", "27.0", None):
        found = hardware.cores_from_text(told, release)
        if found is not None and told.startswith("proc "):
            assert sum(level.count for level in found) == int(told.removeprefix("proc ").split(":")[0])
            assert all(level.count > 0 for level in found)


@pytest.mark.parametrize("room", [macos, linux], ids=["macos", "linux"])
def test_combine_survives_any_part_that_is_missing(room: Any) -> None:
    for fact in room.FACTS:
        assert set(room.combine({fact.name: None})) >= set(room.NAMES)
