"""How good a model is on what it has never seen: exact answers, or the loss where there are no questions."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import mlx.core as mx

from maccluster_cli.worker.arrays import number
from maccluster_cli.worker.data import batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maccluster_cli.worker.data import Batch, Data
    from maccluster_cli.worker.ranks import Ranks

    Model = Callable[[mx.array], mx.array]
    Question = tuple[list[int], list[int]]

ROWS = 8  # validation rows in one forward pass


class Score(NamedTuple):
    """Answers right of answers asked, or the loss in nats per token; None is what the data cannot give."""

    exact: int | None
    of: int | None
    loss: float | None


def score(model: Model, data: Data, ranks: Ranks, examples: int, longest: int) -> Score | None:
    """Score a model on ``examples`` held-out examples, shared among the ranks; None when none are wanted."""
    if not examples:
        return None
    if data.questions:
        right = exact(model, data.questions[ranks.rank :: ranks.size])
        return Score(int(ranks.sums(right)[0]), len(data.questions), None)
    mine = range(min(examples, data.valid.size))[ranks.rank :: ranks.size]
    parts = [mine[start : start + ROWS] for start in range(0, len(mine), ROWS)]
    losses = [token_loss(model, batch(data.valid, part, longest)) for part in parts]
    loss, count = ranks.sums(sum(loss for loss, _ in losses), sum(count for _, count in losses))
    return Score(None, None, loss / max(1.0, count))


def token_loss(model: Model, part: Batch) -> tuple[float, float]:
    """Return the sum of token losses of a batch in nats, and the number of tokens in it."""
    loss, count = summed_loss(model, part)
    return number(loss), number(count)


def summed_loss(model: Model, part: Batch) -> tuple[mx.array, mx.array]:
    """Sum, not mean, the losses of the tokens that count: only sums add up over ranks of unequal rows."""
    logits = model(part.inputs).astype(mx.float32)
    picked = mx.take_along_axis(logits, part.targets[..., None], axis=-1).squeeze(-1)
    losses = mx.logsumexp(logits, axis=-1) - picked
    return (losses * part.mask).sum(), part.mask.sum()


def exact(model: Model, questions: Sequence[Question]) -> int:
    """Count the questions whose greedy answer is right in every token; equal lengths share a batch."""
    ordered = sorted(questions, key=_lengths)
    groups = [list(group) for _, group in groupby(ordered, key=_lengths)]
    return sum(_exact_of_equal_length(model, group) for group in groups)


def _lengths(question: Question) -> tuple[int, int]:
    return len(question[0]), len(question[1])


def _exact_of_equal_length(model: Model, questions: Sequence[Question]) -> int:
    """Read each prefix anew instead of caching keys: the answers are a few tokens long."""
    tokens = mx.array([question for question, _ in questions])
    answers = mx.array([answer for _, answer in questions])
    for _ in range(answers.shape[1]):
        following = mx.argmax(model(tokens)[:, -1:, :], axis=-1)
        tokens = mx.concatenate([tokens, following.astype(tokens.dtype)], axis=1)
    return int(number((tokens[:, -answers.shape[1] :] == answers).all(axis=1).sum()))
