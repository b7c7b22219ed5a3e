"""Rows of tokens from the sums or from a folder of jsonl, and batches of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import mlx.core as mx

from maccluster_cli.worker import sums
from maccluster_cli.worker.fault import REFUSED, WorkerError
from maccluster_cli.worker.recipe import SUMS, Recipe

if TYPE_CHECKING:
    from maccluster_cli.worker.models import Loaded

WIDTH_STEP = 16  # widths are rounded up, so that the allocator meets few shapes


class Row(NamedTuple):
    """One example: its tokens, and the first one that counts in the loss (1 at least)."""

    tokens: Sequence[int]
    counted_from: int = 1


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that are tokenised when they are read."""

    size: int
    read: Callable[[int], Row]


@dataclass(frozen=True, slots=True)
class Data:
    """All that a run reads; ``questions`` is empty and ``floor`` None where the data has no such thing."""

    train: Rows
    valid: Rows
    questions: tuple[tuple[list[int], list[int]], ...]
    floor: float | None  # nats per byte
    sha256: str


class Batch(NamedTuple):
    """Token numbers in, token numbers wanted, 1.0 where they count: each (rows, width)."""

    inputs: mx.array
    targets: mx.array
    mask: mx.array


def load(recipe: Recipe, loaded: Loaded) -> Data:
    """Make or read the data of a recipe; raises WorkerError ``bad_data`` with the file's name."""
    if recipe.data.source == SUMS:
        return _from_sums(sums.generate(recipe.data.seed, recipe.train.sequence_length), loaded, recipe)
    folder = Path(recipe.data.source).expanduser()
    train, valid = (_read(folder / name) for name in ("train.jsonl", "valid.jsonl"))
    digest = hashlib.sha256(json.dumps(train, sort_keys=True).encode()).hexdigest()
    return Data(_from_records(train, loaded), _from_records(valid, loaded), (), None, digest)


def _from_sums(made: sums.Sums, loaded: Loaded, recipe: Recipe) -> Data:
    """Tokenise sums; their floor holds for bytes, so it is None under another tokenizer."""
    questions = []
    for question, answer in made.questions[: recipe.eval.examples]:
        tokens = loaded.encode(question)
        questions.append((tokens, loaded.encode(question + answer)[len(tokens) :]))
    return Data(
        train=Rows(len(made.train), lambda index: Row(loaded.encode(made.train[index]))),
        valid=Rows(len(made.valid), lambda index: Row(loaded.encode(made.valid[index]))),
        questions=tuple(questions),
        floor=sums.ENTROPY_FLOOR if loaded.is_bytes else None,
        sha256=made.sha256,
    )


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        hint = "every node needs the folder under the same path; data.source must be absolute"
        raise WorkerError("bad_data", f"{path}: {error}", hint=hint, code=REFUSED) from error
    records = [_record(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not records:
        raise _bad_data(f"{path} is empty")
    return records


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    """One record, refused here and not in the middle of the training."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise _bad_data(f"{path}:{number}: {error}") from error
    forms = ({"text"}, {"prompt", "completion"}, {"messages"})
    if not isinstance(record, dict) or not any(form <= set(record) for form in forms):
        raise _bad_data(f"{path}:{number}: no text, no prompt with its completion, no messages")
    return record


def _bad_data(message: str) -> WorkerError:
    hint = 'one JSON object a line: {"text"}, {"prompt", "completion"} or {"messages"}'
    return WorkerError("bad_data", message, hint=hint, code=REFUSED)


def _from_records(records: list[dict[str, Any]], loaded: Loaded) -> Rows:
    """Let mlx-lm read its formats where it loaded the model; a model from scratch knows plain text only."""
    if loaded.tokenizer is None:
        return Rows(len(records), lambda index: Row(loaded.encode(_plain(records[index]))))
    from mlx_lm.tuner.datasets import create_dataset

    dataset: Any = create_dataset(records, loaded.tokenizer, None)

    def read(index: int) -> Row:
        tokens, offset = dataset.process(dataset[index])
        return Row(tokens, max(1, offset))

    return Rows(len(records), read)


def _plain(record: dict[str, Any]) -> str:
    if "messages" in record:
        raise _bad_data("a model from scratch knows no chat; give it text")
    return str(record["text"]) if "text" in record else f"{record['prompt']}{record['completion']}"


def batch(rows: Rows, indices: Sequence[int], longest: int) -> Batch:
    """Cut rows to ``longest`` tokens and lay them in one rectangle, padded where they are shorter."""
    taken = [rows.read(index) for index in indices]
    width = max([2, *(min(len(row.tokens), longest) for row in taken)]) - 1
    width = -(-width // WIDTH_STEP) * WIDTH_STEP
    inputs, targets, mask = zip(*(_lay(row, longest, width) for row in taken), strict=True)
    return Batch(mx.array(inputs), mx.array(targets), mx.array(mask))


def _lay(row: Row, longest: int, width: int) -> tuple[list[int], list[int], list[float]]:
    """Shift one row against itself; padding is token 0, which the mask keeps out of the loss."""
    tokens = list(row.tokens[:longest])
    padding = [0] * (width - len(tokens) + 1)
    counts = [float(position >= row.counted_from) for position in range(1, len(tokens))]
    return tokens[:-1] + padding, tokens[1:] + padding, counts + [0.0] * len(padding)
