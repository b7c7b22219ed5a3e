r"""Sums from a seed: data that needs no download, with a right answer and a known entropy.

A line is ``104231+104231=208462\n``: six digits from 0 to 4, added to themselves so that nothing is
carried. The first number is uniform over the lines not held out and decides the rest, so a line
carries log(lines) nats: no model that has not seen a line before can predict it in less.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from maccluster_cli.worker.fault import bad_spec
from maccluster_cli.worker.sampler import shuffled

BASE = 5  # digits 0..4: twice a digit is still one digit
DIGITS = 6
LINE_BYTES = 3 * DIGITS + 3
NUMBERS = BASE**DIGITS
HELD_OUT = 256
ENTROPY_FLOOR = math.log(NUMBERS - HELD_OUT) / LINE_BYTES  # nats per byte


@dataclass(frozen=True, slots=True)
class Sums:
    """Rows of whole lines for training, rows for validation, and questions with their answers."""

    train: tuple[str, ...]
    valid: tuple[str, ...]
    questions: tuple[tuple[str, str], ...]  # ("104231+104231=", "208462")
    sha256: str  # of all training rows, one after the other


def line(number: int) -> str:
    """Write the sum of one of the ``NUMBERS`` numbers with itself."""
    digits = [number // BASE**place % BASE for place in reversed(range(DIGITS))]
    once, twice = ("".join(str(digit * times) for digit in digits) for times in (1, 2))
    return f"{once}+{once}={twice}\n"


def generate(seed: int, sequence_length: int) -> Sums:
    """Make the data of a seed; a row holds as many lines as leave room for one token before them."""
    per_row = (sequence_length - 1) // LINE_BYTES
    if not per_row:
        raise bad_spec(f"train.sequence_length must be over {LINE_BYTES} for the sums")
    lines = [line(number) for number in shuffled(NUMBERS, f"sums {seed}")]
    train = _rows(lines[HELD_OUT:], per_row)
    return Sums(
        train=train,
        valid=_rows(lines[:HELD_OUT], per_row),
        questions=tuple(_question(text) for text in lines[:HELD_OUT]),
        sha256=hashlib.sha256("".join(train).encode()).hexdigest(),
    )


def _rows(lines: list[str], per_row: int) -> tuple[str, ...]:
    whole = len(lines) - len(lines) % per_row
    return tuple("".join(lines[start : start + per_row]) for start in range(0, whole, per_row))


def _question(text: str) -> tuple[str, str]:
    question, equals, answer = text.rstrip("\n").partition("=")
    return question + equals, answer
