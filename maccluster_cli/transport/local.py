"""This machine as a node: the same scripts, in a process group of their own."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
import weakref
from typing import IO

from maccluster_cli.transport.base import Sink
from maccluster_cli.values import Node

_CHUNK = 1 << 16


class LocalStream:
    """A script running here. Its session is new, so a Ctrl-C at the terminal reaches only us."""

    def __init__(self, script: str, stdin: bytes) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._unsent = memoryview(stdin)
        self._is_done = False

    def pump(self, out: Sink, err: Sink, deadline_s: float | None = None) -> int | None:
        """Feed stdin and pass on output until both streams end; the exit code, or None past the deadline."""
        with selectors.DefaultSelector() as ready:
            self._watch(ready, out, err)
            while ready.get_map():
                left = None if deadline_s is None else deadline_s - time.monotonic()
                if left is not None and left <= 0:
                    return None
                for key, _ in ready.select(left):
                    key.data(ready)
        return self._ended(deadline_s)

    def close(self) -> None:
        """End stdin, then make sure of the whole group: nothing of a script we gave up on runs on."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        if not self._is_done:  # what a script that ended left running is its own business
            self._group(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
            self._group(signal.SIGKILL)
            self._process.wait()

    def abort(self) -> None:
        """End the group from another thread; the pump sees its streams end."""
        if self._process.poll() is None:
            self._group(signal.SIGTERM)

    def _group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _watch(self, ready: selectors.DefaultSelector, out: Sink, err: Sink) -> None:
        def reader(pipe: IO[bytes], sink: Sink) -> None:
            def read(ready: selectors.BaseSelector) -> None:
                data = os.read(pipe.fileno(), _CHUNK)
                sink(data) if data else ready.unregister(pipe)

            ready.register(pipe, selectors.EVENT_READ, read)

        for pipe, sink in ((self._process.stdout, out), (self._process.stderr, err)):
            if pipe:
                reader(pipe, sink)
        if self._unsent and self._process.stdin:
            os.set_blocking(self._process.stdin.fileno(), False)
            ready.register(self._process.stdin, selectors.EVENT_WRITE, self._send)

    def _send(self, ready: selectors.BaseSelector) -> None:
        pipe = self._process.stdin
        if not pipe:
            return
        try:
            self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_CHUNK]) :]
        except BrokenPipeError:  # it ended without reading; its exit code tells
            self._unsent = memoryview(b"")
        if not self._unsent:
            ready.unregister(pipe)

    def _ended(self, deadline_s: float | None) -> int | None:
        left = None if deadline_s is None else max(0.1, deadline_s - time.monotonic())
        try:
            code = self._process.wait(left)
        except subprocess.TimeoutExpired:
            return None
        self._is_done = True
        return code if code >= 0 else 128 - code


class LocalTransport:
    """A door that leads nowhere but here."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._is_closed = False
        self._streams: weakref.WeakSet[LocalStream] = weakref.WeakSet()

    def open(self, script: str, stdin: bytes = b"") -> LocalStream:
        """Start a script in a session of its own."""
        stream = LocalStream(script, stdin)
        self._streams.add(stream)
        if self._is_closed:
            stream.abort()
        return stream

    def address(self) -> str:
        """Loopback."""
        return "127.0.0.1"

    def close(self) -> None:
        """End what still runs, as a dropped connection would."""
        self._is_closed = True
        for stream in list(self._streams):
            stream.abort()
