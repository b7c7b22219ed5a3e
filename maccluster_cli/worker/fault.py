"""Why a rank stops: one error type, and the exit status that the launcher reads."""

from __future__ import annotations

import errno

# as sysexits.h has them, so that none of them is one that the command line itself gives a meaning
OK = 0
FAILED = 1
REFUSED = 78  # wrong world size, bad spec, MLX missing or too old
DIVERGED = 65  # too many steps in a row without a usable gradient
PEER_LOST = 69  # a peer went away, or a collective failed
SAVE_FAILED = 74  # the result could not be written whole
STOPPED = 143  # SIGTERM, SIGINT, or the controller went away


class WorkerError(Exception):
    """A failure with a ``kind`` for programs, a message and a hint for people, and an exit ``code``."""

    def __init__(self, kind: str, message: str, *, hint: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.code = code


def bad_spec(message: str) -> WorkerError:
    """Build the refusal of a spec that cannot be run as written."""
    return WorkerError(
        "bad_spec",
        message,
        hint="mend the recipe: maccluster profile check RECIPE",
        code=REFUSED,
    )


def classify(error: BaseException) -> WorkerError:
    """Name any exception; MLX raises RuntimeError for all of its own and tells them apart by text only."""
    if isinstance(error, WorkerError):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, RuntimeError) and str(error).startswith(("[ring]", "[jaccl]", "[distributed]")):
        return WorkerError("peer_lost", str(error), hint="see what the other ranks said last", code=PEER_LOST)
    if isinstance(error, MemoryError) or "nsufficient Memory" in text or "malloc" in text:
        return WorkerError(
            "out_of_memory", text, hint="lower batch_size or sequence_length, or use method lora"
        )
    return WorkerError("failed", text, hint="")


def save_failed(error: Exception, path: str, free_bytes: int) -> WorkerError:
    """Name a failed save; MLX does not say why it failed, so a nearly full disk (< 1 MiB free) speaks."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or free_bytes < 2**20
    kind, hint = (
        ("disk_full", "free some space, then start again") if full else ("save_failed", "see the message")
    )
    return WorkerError(kind, f"could not save to {path}: {error}", hint=hint, code=SAVE_FAILED)
