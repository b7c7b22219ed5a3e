"""Recipes: what is trained and how, apart from the machines. TOML in, checked values out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from maccluster_cli.schema import Name, Positive, Seed, Table, checked, text_of

_BYTES = 259


class Model(Table):
    """What is trained: made on the spot, a folder, or an id on the hub."""

    source: str = Field(default="scratch", min_length=1)
    hidden_size: Annotated[int, Field(gt=0, le=65536)] = 64
    num_layers: Annotated[int, Field(gt=0, le=1024)] = 2
    num_heads: Positive = 4
    num_kv_heads: Positive = 2
    intermediate_size: Annotated[int, Field(gt=0, le=2**20)] = 172
    vocab_size: Annotated[int, Field(gt=0, le=2**20)] = 259
    max_position: Positive = 2048

    @model_validator(mode="after")
    def _heads(self) -> Model:
        if self.hidden_size % (2 * self.num_heads) or self.num_heads % self.num_kv_heads:
            raise ValueError("hidden_size must divide by 2 num_heads, and num_heads by num_kv_heads")
        if self.source == "scratch" and self.vocab_size < _BYTES:
            raise ValueError(f"vocab_size must be at least {_BYTES}: the bytes and three special tokens")
        return self


class Data(Table):
    """What it is trained on: the generator ``sums``, or a folder with train.jsonl and valid.jsonl."""

    source: str = Field(default="sums", min_length=1)
    seed: Seed = 0


class Train(Table):
    """How it is trained. ``batch_size`` counts sequences over all ranks together."""

    method: Literal["full", "lora"] = "full"
    strategy: Literal["dp"] = "dp"
    steps: Positive = 100
    batch_size: Positive = 8
    sequence_length: Positive = 128
    optimizer: Literal["adamw"] = "adamw"
    learning_rate: float = Field(default=1e-3, gt=0)
    warmup_steps: int = Field(default=0, ge=0)
    weight_decay: float = Field(default=0.0, ge=0)
    clip_norm: float = Field(default=1.0, gt=0)
    seed: Seed = 0
    max_bad_steps: Positive = 5


class Lora(Table):
    """Low-rank adapters; only read where ``train.method`` is lora."""

    rank: Positive = 8
    scale: float = Field(default=20.0, gt=0)
    layers: int = Field(default=-1, ge=-1)
    targets: list[str] = Field(default=["q_proj", "v_proj"])


class Eval(Table):
    """How many held-out examples the exact-match score counts, before and after."""

    examples: int = Field(default=64, ge=0)


class Recipe(Table):
    """A training run, apart from the machines it runs on."""

    schema_: Literal[1] = Field(alias="schema")
    name: Name
    description: str = ""
    model: Model = Model()
    data: Data = Data()
    train: Train = Train()
    lora: Lora = Lora()
    eval: Eval = Eval()

    @model_validator(mode="after")
    def _fits(self) -> Recipe:
        if self.model.source == "scratch" and self.train.sequence_length > self.model.max_position:
            raise ValueError("train.sequence_length is longer than model.max_position")
        return self

    def for_worker(self) -> dict[str, Any]:
        """The recipe as plain data, the way it travels to the ranks."""
        return self.model_dump(exclude={"schema_", "description"})


def read_recipe(file: Path) -> Recipe:
    """A checked recipe. Raises ProfileError with file, line, key and what was expected."""
    return checked(Recipe, text_of(file, "recipe"), file)
