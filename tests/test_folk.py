"""Folk advice is recognised by what gives it away, and by nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maccluster_cli.folk import Folk, advice, known


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("power.thermallevel", 1, "thermallevel"),
        ("setup", "sudo pmset -a thermallevel 1", "thermallevel"),
        ("link.interface", "thunderbolt0", "thunderbolt0"),
        ("cables.0.thunderbolt1", "10.0.0.1", "thunderbolt0"),
        ("power.mode", "high performance", "high-performance"),
        ("power.mode", "turbo", "high-performance"),
        ("train.cpu_affinity", [0, 1, 2, 3], "core-pinning"),
        ("run.pin_to_p_cores", True, "core-pinning"),
        ("run.command", "taskset -c 0-7 python train.py", "core-pinning"),
        ("env.NCCL_IB_DISABLE", 1, "nccl"),
        ("run.env", "NCCL_DEBUG=INFO", "nccl"),
        ("train.backend", "nccl", "nccl"),
        ("files.limit", [65536, 200000], "maxfiles"),
        ("maxfiles", "65536", "maxfiles"),
        ("setup", "launchctl limit maxfiles 65536 200000", "maxfiles"),
        ("files.limit", 2147483647, "maxfiles-endless"),
        ("env.MLX_METAL_FAST_SYNCH", 1, "fast-synch"),
        ("env.MLX_METAL_FAST_SYNCH", True, "fast-synch"),
        ("setup", "sudo sntp -sS time.apple.com", "step-the-clock"),
        ("devices", "cuda:0,cuda:1", "cuda-devices"),
        ("link.mtu", 9000, "jumbo-frames"),
        ("topology", "star", "thunderbolt-switch"),
        ("setup", ["rdma_ctl enable"], "rdma-over-ssh"),
        ("setup", "sudo ifconfig bridge0 destroy", "bridge-destroy"),
        ("pip.index", "https://example.com/whl/m1_mac", "wheel-index"),
    ],
)
def test_recognised(key: str, value: object, wanted: str) -> None:
    found = advice(key, value)
    assert found is not None
    assert found.id == wanted


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("power.mode", "high"),
        ("power.sleep", 0),
        ("files.limit", 600000),
        ("files.limit", 65536),  # sound on Linux; a Mac refuses it by itself
        ("env.MLX_METAL_FAST_SYNCH", 0),
        ("link.mtu", 1500),
        ("topology", "mesh"),
        ("nodes.mini1.host", "mini1.local"),
        ("clock.step", 0.5),
        ("train.backend", "ring"),
        ("env", {"NCCL_IB_DISABLE": "1"}),
        ("description", None),
        ("cables.0.a", "mini1"),
    ],
)
def test_sound_values_pass(key: str, value: object) -> None:
    assert advice(key, value) is None


def test_every_piece_is_whole() -> None:
    pieces = known()
    assert len({piece.id for piece in pieces}) == len(pieces) >= 12
    for piece in pieces:
        assert piece.claim.endswith(".")
        assert piece.truth.endswith(".")
        assert piece.instead
        assert piece.where
        for pattern in piece.where:
            assert pattern.key or pattern.value
            re.compile(pattern.key)
            re.compile(pattern.value)


@given(st.text(max_size=40), st.recursive(st.none() | st.text() | st.integers() | st.floats(), st.lists))
def test_never_raises(key: str, value: object) -> None:
    assert isinstance(advice(key, value), Folk | None)
