"""The door to this disk: runs, logs, atomic writes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from maccluster_cli.errors import ClusterError
from maccluster_cli.shelf import state_dir

LOGS_KEPT = 50
SCHEMA = 1


def write_atomically(file: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace ``file`` in one step: a reader, or a crash, sees the old content or the new one."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
                os.fchmod(out.fileno(), mode)
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ClusterError(f"cannot write {file}: {error.strerror}", hint=f"df -h {file.parent}") from error


def dump(value: Mapping[str, Any]) -> bytes:
    """JSON as we store and print it: our schema number first, one trailing newline."""
    return (json.dumps({"schema": SCHEMA, **value}, indent=2, default=str) + "\n").encode()


def new_run_id(name: str) -> str:
    """Sorts by time, tells the recipe, and two started in one second differ."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{name}-{secrets.token_hex(2)}"


def utc_now() -> str:
    """The time of day, for manifests."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def lives(pid: int) -> bool:
    """Whether a process of this machine is there, whoever owns it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Run:
    """The folder of one run on this machine: manifest, events, a log a rank. Private to the user."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.folder = state_dir() / "runs" / run_id
        try:
            self.folder.mkdir(mode=0o700, parents=True)
            self._events = (self.folder / "events.jsonl").open("ab", buffering=0)
        except OSError as error:
            raise ClusterError(
                f"cannot keep this run's files in {self.folder}: {error.strerror}",
                hint="set XDG_STATE_HOME to a folder that can be written",
            ) from error
        self._logs: dict[int, Any] = {}

    @property
    def manifest(self) -> Path:
        """Where ``conclude`` writes."""
        return self.folder / "manifest.json"

    def event(self, line: bytes) -> None:
        """Append one event as it came."""
        self._append(self._events, line + b"\n")

    def log(self, rank: int, data: bytes) -> None:
        """Append what a rank wrote to stderr."""
        with contextlib.suppress(OSError):
            if rank not in self._logs:
                self._logs[rank] = self.log_file(rank).open("ab", buffering=0)
            self._append(self._logs[rank], data)

    def log_file(self, rank: int) -> Path:
        """The log of one rank."""
        return self.folder / f"rank{rank}.log"

    def conclude(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest; called at the start as well, so that a dead controller leaves one."""
        write_atomically(self.manifest, dump(manifest))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close all files."""
        for file in (self._events, *self._logs.values()):
            with contextlib.suppress(OSError):
                file.close()

    @staticmethod
    def _append(file: Any, data: bytes) -> None:
        # a full disk here must not end a training run: its events still reach the screen and the manifest
        with contextlib.suppress(OSError):
            file.write(data)


def open_log() -> Path | None:
    """A log file for this call, oldest ones pruned; None where the disk refuses (nobody fails for a log)."""
    folder = state_dir() / "log"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in sorted(folder.glob("*.log"))[: -LOGS_KEPT + 1]:
            old.unlink(missing_ok=True)
        file = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        file.touch(mode=0o600)
    except OSError:
        return None
    return file


def worker_archive() -> bytes:
    """The worker room as a zip that a node's Python imports from: nodes run the controller's version."""
    package = Path(__file__).parent
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (package / "__init__.py", *sorted((package / "worker").glob("*.py"))):
            archive.writestr(zipfile.ZipInfo(str(file.relative_to(package.parent))), file.read_bytes())
    return out.getvalue()
