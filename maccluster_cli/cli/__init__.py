"""argv to one call, and whatever goes wrong to one sentence and an exit code."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the command ``maccluster``."""
    from maccluster_cli.cli.app import app
    from maccluster_cli.errors import ClusterError

    try:
        app(prog_name="maccluster")
    except ClusterError as error:
        _report(error)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # `maccluster … | head`: nobody reads on, which is no failure of ours
        sys.stderr.close()
        sys.exit(141)
    except Exception as bug:  # noqa: BLE001  # the boundary: no traceback ever reaches the screen
        _report_bug(bug)


def _report(error: Exception) -> None:
    import logging

    from maccluster_cli.errors import ClusterError
    from maccluster_cli.ui.screen import Look, Screen

    logging.getLogger(__name__).info("failed", exc_info=error)
    if isinstance(error, ClusterError):
        Screen(Look()).error(error)
        sys.exit(error.code)


def _report_bug(bug: Exception) -> None:
    import logging

    logging.getLogger(__name__).info("bug", exc_info=bug)
    files = [h.baseFilename for h in logging.getLogger().handlers if isinstance(h, logging.FileHandler)]
    sys.stderr.write(f"error: maccluster broke ({type(bug).__name__}); this is a bug of ours\n")
    where = f"please report it with this log: {files[0]}" if files else "please report it with -vv's output"
    sys.stderr.write(f" next: {where}\n")
    sys.exit(70)
