from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maccluster_cli.worker.fault import REFUSED, WorkerError
from maccluster_cli.worker.recipe import Recipe, Spec
from tests.worker.conftest import recipe


def spec(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    whole = {"schema": 1, "run_id": "r", "world_size": 2, "backend": "ring", "out_dir": str(tmp_path)}
    return whole | {"recipe": recipe()} | changes


def test_a_spec_is_read(tmp_path: Path) -> None:
    read = Spec.from_dict(spec(tmp_path))
    assert (read.world_size, read.out_dir) == (2, tmp_path)
    assert read.recipe.train.learning_rate == 5e-3
    assert read.recipe.lora is None


def test_adapters_are_read_with_method_lora_only() -> None:
    read = Recipe.from_dict(recipe(train_method="lora"))
    assert read.lora
    assert read.lora.targets == ("q_proj", "v_proj")


def test_a_folder_brings_its_own_sizes() -> None:
    raw = recipe() | {"model": {"source": "/models/some", "hidden_size": None}}
    assert Recipe.from_dict(raw).model.source == "/models/some"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"train_method": "magic"}, "train.method"),
        ({"train_optimizer": "sgd"}, "adamw"),
        ({"train_steps": 0}, "train.steps"),
        ({"train_steps": "many"}, "train.steps must be int"),
        ({"train_steps": True}, "train.steps must be int"),
        ({"train_learning_rate": "fast"}, "train.learning_rate must be float"),
        ({"train_clip_norm": 0}, "clip_norm"),
        ({"eval_examples": -1}, "eval.examples"),
        ({"model_num_layers": 0}, "sizes"),
        ({"model_hidden_size": 30}, "num_heads"),
        ({"model_num_kv_heads": 3}, "num_kv_heads"),
        ({"model_vocab_size": 256}, "vocab_size"),
        ({"data_source": 1}, "data.source must be str"),
    ],
)
def test_a_recipe_that_cannot_run_names_its_field(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(WorkerError, match=named) as refused:
        Recipe.from_dict(recipe(**changes))
    assert (refused.value.kind, refused.value.code) == ("bad_spec", REFUSED)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"schema": 2}, "schema"),
        ({"world_size": 3}, "multiple of world_size"),
        ({"world_size": 0}, "multiple of world_size"),
        ({"backend": "nccl"}, "backend"),
        ({"out_dir": "/nowhere/at/all"}, "out_dir"),
        ({"recipe": None}, "recipe is missing"),
        ({"recipe": {}}, "train is missing"),
        ({"run_id": None}, "run_id"),
    ],
)
def test_a_spec_that_cannot_run_names_its_field(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(WorkerError, match=named):
        Spec.from_dict(spec(tmp_path, **changes))


@pytest.mark.parametrize("part", ["model", "data", "train", "eval"])
def test_a_missing_part_is_named(part: str) -> None:
    raw = recipe()
    del raw[part]
    with pytest.raises(WorkerError, match=f"{part} is missing"):
        Recipe.from_dict(raw)


def test_a_file_that_is_not_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text("{")
    with pytest.raises(WorkerError, match=r"spec\.json"):
        Spec.load(str(tmp_path / "spec.json"))
