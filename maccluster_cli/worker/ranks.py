"""All ranks as one: the only place that talks to peers.

Reductions run on the CPU stream, over values that are computed already. On a Mac a reduction inside
the GPU's graph can deadlock, or be killed by the GPU's watchdog after some five seconds when a peer is
slow: https://github.com/ml-explore/mlx/issues/4475.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import mlx.core as mx

from maccluster_cli.worker.fault import PEER_LOST, REFUSED, WorkerError

BUCKET_FLOATS = 4 * 2**20  # 16 MiB: few messages, and no second copy of a large model's gradients
JOIN_S = 120  # connecting gives up after about 30 s by itself, waiting to be connected to never does
HEAD_START_S = 0.25
SAMPLE = 16  # values from each end of a tensor that speak for it

Named = Mapping[str, mx.array]


class Ranks:
    """The group of ranks; with one rank each operation is the identity and nothing is sent."""

    def __init__(self, world_size: int) -> None:
        self.group = _join(world_size) if world_size > 1 else None
        self.rank = self.group.rank() if self.group else 0
        self.size = world_size

    def total(self, values: Named) -> dict[str, mx.array]:
        """Sum tensors over all ranks, in float32 and few messages; shapes kept, bits equal everywhere."""
        if self.group is None:
            return dict(values)
        mx.eval(*values.values())
        summed: dict[str, mx.array] = {}
        with mx.stream(mx.cpu):
            for bucket in _buckets(values):
                flat = mx.concatenate([tensor.reshape(-1).astype(mx.float32) for tensor in bucket.values()])
                mx.eval(flat)
                whole = mx.distributed.all_sum(flat, group=self.group, stream=mx.cpu)
                mx.eval(whole)
                summed |= _cut(whole, bucket)
            mx.eval(*summed.values())
        return summed

    def sums(self, *numbers: float) -> list[float]:
        """Sum plain numbers over all ranks; exact for whole numbers below 2^24."""
        total = self.total({"numbers": mx.array(numbers, dtype=mx.float32)})["numbers"].tolist()
        assert isinstance(total, list)  # noqa: S101
        return [float(number) for number in total]  # type: ignore[arg-type]

    def from_first(self, values: Named) -> dict[str, mx.array]:
        """Give every rank rank 0's tensors, kinds kept: a sum in which the others add nothing."""
        mine = values if self.rank == 0 else {name: mx.zeros_like(v) for name, v in values.items()}
        return {name: v.astype(values[name].dtype) for name, v in self.total(mine).items()}

    def agree(self, fingerprint: bytes) -> None:
        """Refuse to train where a rank has other weights, data or recipe: it would only look fine."""
        if self.group is None:
            return
        mine = mx.array(list(fingerprint), dtype=mx.int32)
        low = mx.distributed.all_min(mine, group=self.group, stream=mx.cpu)
        mx.eval(low)
        high = mx.distributed.all_max(mine, group=self.group, stream=mx.cpu)
        mx.eval(high)
        if low.tolist() != high.tolist():
            message = "the ranks do not have the same weights, data or recipe"
            hint = "give every node the same files and the same versions"
            raise WorkerError("ranks_differ", message, hint=hint, code=REFUSED)

    def barrier(self) -> None:
        """Wait for all ranks, so that none leaves while another still needs it."""
        self.sums(1.0)


def _join(world_size: int) -> Any:
    """Connect to the peers. Python cannot run meanwhile, so the kernel's alarm bounds it.

    The last rank connects first and, refused, tries again only a second later; the others listen first.
    """
    if os.environ.get("MLX_RANK") == str(world_size - 1):
        time.sleep(HEAD_START_S)
    signal.alarm(JOIN_S)
    try:
        group = mx.distributed.init(strict=True, backend="ring")
    except RuntimeError as error:
        lost = "connect" in str(error) or "accept" in str(error)
        kind, code = ("peer_lost", PEER_LOST) if lost else ("world_size", REFUSED)
        raise WorkerError(
            kind, str(error), hint="did every rank start, with its hostfile?", code=code
        ) from error
    finally:
        signal.alarm(0)
    if group.size() != world_size:
        message = f"the run has {world_size} ranks, the hostfile {group.size()}"
        raise WorkerError("world_size", message, hint="start the run again from the controller", code=REFUSED)
    return group


def _buckets(values: Named) -> Iterator[dict[str, mx.array]]:
    """Group tensors, in order, into messages of at least ``BUCKET_FLOATS``, so that small ones share one."""
    bucket: dict[str, mx.array] = {}
    for name, tensor in values.items():
        bucket[name] = tensor
        if sum(t.size for t in bucket.values()) >= BUCKET_FLOATS:
            yield bucket
            bucket = {}
    if bucket:
        yield bucket


def _cut(flat: mx.array, bucket: Named) -> dict[str, mx.array]:
    """Undo the joining of a bucket."""
    parts, start = {}, 0
    for name, tensor in bucket.items():
        parts[name] = flat[start : start + tensor.size].reshape(tensor.shape)
        start += tensor.size
    return parts


def fingerprint(values: Named, facts: Sequence[str]) -> bytes:
    """Hash ``facts``, names, shapes and a few values of each tensor; all of 67 B would take minutes."""
    digest = hashlib.sha256("\n".join(facts).encode())
    ends = []
    for name, tensor in values.items():
        digest.update(f"{name} {tensor.shape} {tensor.dtype}".encode())
        flat = tensor.reshape(-1)
        ends += [flat[:SAMPLE].astype(mx.float32), flat[-SAMPLE:].astype(mx.float32)]
    digest.update(bytes(memoryview(mx.concatenate(ends))))  # type: ignore[arg-type]
    return digest.digest()
