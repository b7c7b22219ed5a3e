"""The rank itself: from a spec to a saved model, told as events."""

from __future__ import annotations

import importlib
import os
import platform
import signal
import socket
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

from maccluster_cli.worker import fault
from maccluster_cli.worker.events import Events, claim_stdout
from maccluster_cli.worker.recipe import Spec

if TYPE_CHECKING:
    from maccluster_cli.worker.models import Loaded
    from maccluster_cli.worker.ranks import Ranks
    from maccluster_cli.worker.score import Score
    from maccluster_cli.worker.train import Step

STARTED = time.time()
OLDEST_MLX = (0, 32, 4)  # before, a ring that lost a peer waited for it for ever


def main(spec_path: str) -> NoReturn:
    """Run one rank and leave the process; never returns, since MLX's own teardown can wait for peers."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    events = Events(int(os.environ.get("MLX_RANK", "0")), claim_stdout())
    threading.Thread(target=_lifeline, daemon=True).start()
    try:
        _Run(Spec.load(spec_path), events).all()
        code = fault.OK
    except Exception as error:  # noqa: BLE001  (whatever it is, the controller must read it)
        code = _explain(error, events)
    sys.stderr.flush()
    os._exit(code)


def _lifeline() -> None:
    """Leave as soon as the outer process is gone, even when it was killed."""
    while os.read(0, 4096):
        pass
    os._exit(fault.STOPPED)


def _explain(error: Exception, events: Events) -> int:
    known = fault.classify(error)
    if known is not error:
        traceback.print_exception(error)
    events.error(known)
    return known.code


def _import_mlx() -> Any:
    """Import MLX, switch off what does not pay on a CPU, and refuse a version with known hangs."""
    try:
        import mlx.core as mx
    except ImportError as error:
        raise fault.WorkerError(
            "no_mlx", str(error), hint="install mlx on the node", code=fault.REFUSED
        ) from error
    version = mlx_version()
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) < OLDEST_MLX:
        oldest = ".".join(map(str, OLDEST_MLX))
        message = f"MLX {version} is older than {oldest}"
        raise fault.WorkerError("old_mlx", message, hint=f"install mlx>={oldest}", code=fault.REFUSED)
    if not mx.metal.is_available() and not mx.cuda.is_available():
        mx.disable_compile()  # each fused kernel would call a C++ compiler for seconds
    return mx


def mlx_version() -> str:
    """Return MLX's version, which its type stubs do not know of."""
    return str(vars(importlib.import_module("mlx.core"))["__version__"])


class _Run:
    """One run on one rank; rank 0 tells all of it, the others that they are alive."""

    def __init__(self, spec: Spec, events: Events) -> None:
        self.mx = _import_mlx()
        self.spec, self.recipe, self.events = spec, spec.recipe, events

    def all(self) -> None:
        """Join, load, agree, score, train, score, save, part: the order of a run."""
        from maccluster_cli.worker import data, models
        from maccluster_cli.worker.ranks import Ranks
        from maccluster_cli.worker.save import check_room
        from maccluster_cli.worker.train import Trainer

        ranks = Ranks(self.spec.world_size)
        self.first = ranks.rank == 0
        self.events.rank = ranks.rank
        loaded = models.load(self.recipe)
        self._start(loaded, ranks)
        rows = data.load(self.recipe, loaded)
        self._data(rows)
        self._agree(loaded, rows, ranks)
        if self.first:
            check_room(loaded, self.spec.out_dir)
        before = self._score("before", loaded, rows, ranks)
        steps = [self._step(step) for step in Trainer(loaded, rows, ranks, self.recipe.train).steps()]
        after = self._score("after", loaded, rows, ranks)
        if self.first:
            self._save(loaded)
        ranks.barrier()
        self._done(steps, before, after)

    def _start(self, loaded: Loaded, ranks: Ranks) -> None:
        mx = self.mx
        self.events.emit(
            "start",
            host=socket.gethostname(),
            pid=os.getpid(),
            python=platform.python_version(),
            mlx=mlx_version(),
            device=f"{mx.default_device().type.name} {mx.device_info().get('device_name', '')}".strip(),
            world_size=ranks.size,
            parameters=sum(tensor.size for tensor in loaded.weights().values()),
            trainable=sum(tensor.size for tensor in loaded.trainable().values()),
        )

    def _data(self, rows: Any) -> None:
        if self.first:
            self.events.emit(
                "data",
                sha256=rows.sha256,
                entropy_floor_nats_per_byte=rows.floor,
                examples_train=rows.train.size,
                examples_valid=rows.valid.size,
            )

    def _agree(self, loaded: Loaded, rows: Any, ranks: Ranks) -> None:
        """Make all ranks begin alike: rank 0's trained weights everywhere, then everything compared."""
        from maccluster_cli.worker.arrays import nested
        from maccluster_cli.worker.ranks import fingerprint

        if ranks.size > 1:
            loaded.model.update(nested(ranks.from_first(loaded.trainable())))
            ranks.agree(fingerprint(loaded.weights(), [rows.sha256, repr(self.recipe)]))

    def _score(self, when: str, loaded: Loaded, rows: Any, ranks: Ranks) -> Score | None:
        from maccluster_cli.worker.score import score

        train = self.recipe.train
        got = score(loaded.model, rows, ranks, self.recipe.eval.examples, train.sequence_length)
        if got and self.first:
            self.events.emit("score", when=when, **got._asdict())
        return got

    def _step(self, step: Step) -> Step:
        if self.first:
            self.events.emit("step", **step._asdict())
        else:
            self.events.emit("step", step=step.step, step_s=step.step_s)
        return step

    def _save(self, loaded: Loaded) -> None:
        from maccluster_cli.worker.save import save

        saved = save(loaded, self.spec.out_dir)
        self.events.emit("saved", path=str(saved.path), bytes=saved.bytes, sha256=saved.sha256)

    def _done(self, steps: list[Step], before: Score | None, after: Score | None) -> None:
        losses = [step.loss for step in steps if not step.skipped]
        self.events.emit(
            "done",
            steps=len(steps),
            first_loss=losses[0] if losses else None,
            final_loss=losses[-1] if losses else None,
            score_before=before.exact if before else None,
            score_after=after.exact if after else None,
            tokens=sum(step.tokens for step in steps),
            wall_s=time.time() - STARTED,
            peak_memory_bytes=self.mx.get_peak_memory() or None,
        )
