"""argv to one call, and whatever goes wrong to one sentence and an exit code."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Entry point of the command ``maccluster``."""
    from maccluster_cli.cli.app import app
    from maccluster_cli.errors import FAILED, INTERRUPTED, ClusterError

    for stream in (sys.stdout, sys.stderr):  # a terminal of another encoding is no reason to break
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="maccluster")
    except ClusterError as error:  # before a session stood
        from maccluster_cli.ui.screen import Look, Screen

        Screen(Look()).error(error)
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError as error:  # our own output cannot be written, or a file of ours cannot be read
        sys.stderr.write(
            f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}\n"
        )
        sys.exit(FAILED)
    except Exception as bug:  # noqa: BLE001  # the boundary: no traceback ever reaches the screen
        _report_bug(bug)


def _report_bug(bug: Exception) -> None:
    import logging

    logging.getLogger(__name__).info("bug", exc_info=bug)
    files = [h.baseFilename for h in logging.getLogger().handlers if isinstance(h, logging.FileHandler)]
    sys.stderr.write(f"error: maccluster broke ({type(bug).__name__}); this is a bug of ours\n")
    where = (
        f"please report it with this log: {files[0]}" if files else "please report it, with what you typed"
    )
    sys.stderr.write(f" next: {where}\n")
    sys.exit(70)
