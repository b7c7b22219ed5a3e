"""What a rank is told to do: the spec file and the recipe in it, checked for shape but without defaults."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from maccluster_cli.worker.bytetok import VOCAB
from maccluster_cli.worker.fault import bad_spec

SCHEMA = 1
SCRATCH = "scratch"
SUMS = "sums"
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class ModelPart:
    """The model. Sizes count for ``source = "scratch"`` only; with a folder they may be absent."""

    source: str  # "scratch", a folder, or a hub id
    hidden_size: int = 0
    num_layers: int = 0
    num_heads: int = 0
    num_kv_heads: int = 0  # divides num_heads
    intermediate_size: int = 0
    vocab_size: int = 0  # at least 259: the bytes and three special tokens
    max_position: int = 0  # longest text in tokens that the saved config promises


@dataclass(frozen=True, slots=True)
class DataPart:
    """The data: "sums", or a folder with train.jsonl and valid.jsonl."""

    source: str
    seed: int  # order of the sums, and which of them are held out


@dataclass(frozen=True, slots=True)
class TrainPart:
    """The training run; sizes are global, whatever the number of ranks."""

    method: str  # "full" or "lora"
    steps: int
    batch_size: int  # rows of one step over ALL ranks; a multiple of the world size
    sequence_length: int  # tokens of a row at most; longer rows are cut
    optimizer: str  # "adamw"
    learning_rate: float  # peak; a linear warm-up leads to it, a cosine from it down to a tenth
    warmup_steps: int
    weight_decay: float  # decoupled, per step times the learning rate
    clip_norm: float  # gradients of a greater global norm are scaled down to it
    seed: int  # weights, LoRA weights, order of the rows
    max_bad_steps: int  # steps in a row without a finite gradient after which the run stops


@dataclass(frozen=True, slots=True)
class LoraPart:
    """Low-rank adapters, read with ``method = "lora"`` only."""

    rank: int
    scale: float  # factor on the adapter's output
    layers: int  # the last so many blocks; -1 is all of them
    targets: tuple[str, ...]  # names or ends of names of linear layers in a block; empty is all of them


@dataclass(frozen=True, slots=True)
class EvalPart:
    """Scoring before and after: so many held-out examples."""

    examples: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts of a recipe, checked against each other."""

    name: str
    model: ModelPart
    data: DataPart
    train: TrainPart
    eval: EvalPart
    lora: LoraPart | None

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Recipe:
        """Read a recipe; raises WorkerError ``bad_spec`` naming the field. Unknown fields are left alone."""
        train = _part(TrainPart, raw, "train")
        recipe = cls(
            name=str(raw.get("name", "")),
            model=_part(ModelPart, raw, "model"),
            data=_part(DataPart, raw, "data"),
            train=train,
            eval=_part(EvalPart, raw, "eval"),
            lora=_part(LoraPart, raw, "lora") if train.method == "lora" else None,
        )
        _check(recipe)
        return recipe


@dataclass(frozen=True, slots=True)
class Spec:
    """One run as the launcher lays it beside each rank."""

    run_id: str
    world_size: int
    backend: str
    out_dir: Path  # exists already; rank 0 saves there
    recipe: Recipe

    @classmethod
    def from_dict(cls, raw: Any) -> Spec:
        """Read a spec; raises WorkerError ``bad_spec`` where the ranks could not work by it."""
        if not isinstance(raw, Mapping) or raw.get("schema") != SCHEMA:
            raise bad_spec(f"not a spec of schema {SCHEMA}")
        if not isinstance(raw.get("recipe"), Mapping):
            raise bad_spec("recipe is missing")
        head = {name: _field(raw, name, kind, "spec") for name, kind in _HEAD.items()}
        spec = cls(recipe=Recipe.from_dict(raw["recipe"]), **(head | {"out_dir": Path(head["out_dir"])}))
        _check_world(spec)
        return spec

    @classmethod
    def load(cls, path: str) -> Spec:
        """Read a spec from a file of JSON."""
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise bad_spec(f"{path}: {error}") from error
        return cls.from_dict(raw)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _real(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in value)


_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "str": _text, "int": _whole, "float": _real, "tuple[str, ...]": _texts,
}  # fmt: skip
_HEAD = {"run_id": "str", "world_size": "int", "backend": "str", "out_dir": "str"}


def _field(raw: Mapping[str, Any], name: str, kind: str, where: str) -> Any:
    """Take one field, or say which is missing or of the wrong kind."""
    try:
        return _KINDS[kind](raw[name])
    except KeyError:
        raise bad_spec(f"{where}.{name} is missing") from None
    except TypeError:
        raise bad_spec(f"{where}.{name} must be {kind}, not {raw[name]!r}") from None


def _part(kind: type[Part], raw: Mapping[str, Any], where: str) -> Part:
    """Build one part from its table; a size that a folder will bring may be absent."""
    table = raw.get(where)
    if not isinstance(table, Mapping):
        raise bad_spec(f"{where} is missing")
    optional = kind is ModelPart and table.get("source") != SCRATCH
    names: dict[str, str] = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    wanted = {n: t for n, t in names.items() if n == "source" or not optional or table.get(n) is not None}
    return kind(**{name: _field(table, name, text, where) for name, text in wanted.items()})


def _check(recipe: Recipe) -> None:
    """Refuse what would fail late, or run and mean something else."""
    train, model = recipe.train, recipe.model
    if train.method not in ("full", "lora") or train.optimizer != "adamw":
        raise bad_spec("train.method must be full or lora, train.optimizer adamw")
    if min(train.steps, train.batch_size, train.sequence_length, train.max_bad_steps) < 1:
        raise bad_spec("train.steps, batch_size, sequence_length and max_bad_steps must be positive")
    if train.clip_norm <= 0 or recipe.eval.examples < 0:
        raise bad_spec("train.clip_norm must be positive, eval.examples not negative")
    if model.source == SCRATCH:
        _check_sizes(model)


def _check_sizes(model: ModelPart) -> None:
    """Refuse sizes from which no llama can be built."""
    if _sizes(model) < 1:
        raise bad_spec("the sizes of a model from scratch must be positive")
    if model.hidden_size % (2 * model.num_heads) or model.num_heads % model.num_kv_heads:
        raise bad_spec("hidden_size must be a multiple of 2 * num_heads, num_heads one of num_kv_heads")
    if model.vocab_size < VOCAB:
        raise bad_spec(f"model.vocab_size must be at least {VOCAB}: the bytes and three special tokens")


def _sizes(model: ModelPart) -> int:
    """Return the smallest of the sizes that a model from scratch needs."""
    sizes = (model.hidden_size, model.num_layers, model.num_heads, model.num_kv_heads)
    return min(*sizes, model.intermediate_size, model.vocab_size, model.max_position)


def _check_world(spec: Spec) -> None:
    """Refuse a world that this worker cannot form."""
    if spec.world_size < 1 or spec.recipe.train.batch_size % spec.world_size:
        raise bad_spec(f"train.batch_size must be a multiple of world_size {spec.world_size}")
    if spec.backend != "ring":
        raise bad_spec(f"backend must be ring, not {spec.backend!r}")
    if not spec.out_dir.is_dir():
        raise bad_spec(f"out_dir {spec.out_dir} is not a folder")
