from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

from maccluster_cli.worker import sums
from maccluster_cli.worker.fault import WorkerError


def test_a_line_is_a_sum() -> None:
    for number in (0, 1, 777, sums.NUMBERS - 1):
        once, again, twice = re.split(r"[+=]", sums.line(number).strip())
        assert once == again
        assert int(twice) == 2 * int(once)
        assert len(sums.line(number)) == sums.LINE_BYTES


def test_lines_are_all_different() -> None:
    assert len({sums.line(number) for number in range(sums.NUMBERS)}) == sums.NUMBERS


def test_the_same_on_every_platform() -> None:
    made = sums.generate(seed=1, sequence_length=64)
    assert made.sha256 == "5f066a8a32035f2eb19293489befada8e77d71a11b1864cd05c2801d81407ca2"
    assert made.train[0].count("\n") == 3


def test_another_seed_is_other_data() -> None:
    assert sums.generate(1, 64).sha256 != sums.generate(2, 64).sha256


@pytest.mark.parametrize("seed", range(5))
def test_held_out_questions_are_never_trained_on(seed: int) -> None:
    made = sums.generate(seed, 64)
    trained = set("".join(made.train).splitlines())
    assert len(made.questions) == sums.HELD_OUT
    assert not trained & {f"{question}{answer}" for question, answer in made.questions}


def test_the_floor_is_the_entropy_of_the_lines_in_the_training_rows() -> None:
    lines = "".join(sums.generate(1, 23).train).splitlines(keepends=True)
    share = Fraction(1, len(lines))
    assert len(set(lines)) == len(lines) == sums.NUMBERS - sums.HELD_OUT
    entropy = -len(lines) * float(share) * math.log(share)
    assert entropy / len(lines[0].encode()) == pytest.approx(sums.ENTROPY_FLOOR)


def test_a_row_too_short_for_a_sum_is_refused() -> None:
    with pytest.raises(WorkerError, match="sequence_length"):
        sums.generate(1, sums.LINE_BYTES)
