from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from maccluster_cli.worker import models, save
from maccluster_cli.worker.data import load as load_data
from maccluster_cli.worker.fault import WorkerError
from maccluster_cli.worker.ranks import Ranks
from maccluster_cli.worker.recipe import Recipe
from maccluster_cli.worker.train import Trainer
from tests.worker.conftest import Launch, recipe


def lora_recipe(**changes: Any) -> dict[str, Any]:
    return recipe(**{"train_method": "lora", **changes})


def trained(raw: dict[str, Any]) -> tuple[models.Loaded, Mapping[str, mx.array]]:
    """A model after its steps, and its weights before them."""
    read = Recipe.from_dict(raw)
    loaded = models.load(read)
    before = {name: mx.array(tensor) for name, tensor in loaded.weights().items()}
    list(Trainer(loaded, load_data(read, loaded), Ranks(1), read.train).steps())
    return loaded, before


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A folder as a run from scratch leaves it."""
    place = tmp_path / "base"
    place.mkdir()
    return str(save.save(models.load(Recipe.from_dict(recipe())), place).path)


def test_only_adapters_are_trained() -> None:
    loaded, before = trained(lora_recipe())
    after = loaded.weights()
    changed = {name for name in after if not mx.array_equal(after[name], before[name]).item()}
    assert changed == set(loaded.trainable())
    assert changed == {
        f"model.layers.{layer}.self_attn.{name}.lora_{part}"
        for layer in (0, 1)
        for name in ("q_proj", "v_proj")
        for part in "ab"
    }


def test_adapters_begin_as_nothing() -> None:
    tokens = mx.array([[256, 49, 50]])
    plain, adapted = (models.load(Recipe.from_dict(raw)).model(tokens) for raw in (recipe(), lora_recipe()))
    assert mx.array_equal(plain, adapted).item()


def test_the_last_layers_and_all_targets() -> None:
    loaded = models.load(Recipe.from_dict(lora_recipe(lora_layers=1, lora_targets=[])))
    assert len(loaded.trainable()) == 2 * 7
    assert all(name.startswith("model.layers.1.") for name in loaded.trainable())


def test_a_target_that_is_no_layer_is_refused() -> None:
    with pytest.raises(WorkerError, match="w_proj"):
        models.load(Recipe.from_dict(lora_recipe(lora_targets=["q_proj", "w_proj"])))


def test_lora_from_scratch_saves_the_base_too(tmp_path: Path) -> None:
    mlx_lm: Any = pytest.importorskip("mlx_lm")
    loaded, _ = trained(lora_recipe())
    save.save(loaded, tmp_path)
    model, _ = mlx_lm.load(str(tmp_path / "base"), adapter_path=str(tmp_path / "adapters"))
    tokens = mx.array([[256, 49, 50]])
    assert mx.allclose(model(tokens), loaded.model(tokens), atol=1e-5).item()


def test_lora_on_a_folder_with_two_ranks(launch: Launch, base: str) -> None:
    mlx_lm: Any = pytest.importorskip("mlx_lm")
    raw = lora_recipe(train_steps=20, train_learning_rate=2e-2, model_source=base, lora_targets=[])
    world = launch(raw, ranks=2)
    assert world.finish() == [0, 0]
    start = world.first.one("start")
    assert 0 < start["trainable"] < start["parameters"] / 2
    assert world.first.one("data")["entropy_floor_nats_per_byte"]
    losses = [step["loss"] for step in world.first.all("step")]
    assert sum(losses[-3:]) < 0.9 * sum(losses[:3])
    folder = world.out / "adapters"
    assert {path.name for path in folder.iterdir()} == {"adapter_config.json", "adapters.safetensors"}
    assert json.loads((folder / "adapter_config.json").read_text())["fine_tune_type"] == "lora"
    mlx_lm.load(base, adapter_path=str(folder))


def test_full_training_of_a_folder_saves_a_whole_model(launch: Launch, base: str) -> None:
    mlx_lm: Any = pytest.importorskip("mlx_lm")
    world = launch(recipe(train_steps=2, model_source=base))
    assert world.finish() == [0]
    assert world.first.one("start")["trainable"] == world.first.one("start")["parameters"]
    mlx_lm.load(str(world.out / "model"))


@pytest.mark.parametrize(
    "row",
    [
        {"text": "1+1=2"},
        {"prompt": "1+1=", "completion": "2"},
        {"messages": [{"role": "user", "content": "1+1="}, {"role": "assistant", "content": "2"}]},
    ],
)
def test_formats_of_jsonl(base: str, tmp_path: Path, row: dict[str, Any]) -> None:
    for name in ("train", "valid"):
        (tmp_path / f"{name}.jsonl").write_text(f"{json.dumps(row)}\n" * 4)
    read = Recipe.from_dict(lora_recipe(model_source=base, data_source=str(tmp_path)))
    loaded = models.load(read)
    data = load_data(read, loaded)
    assert (data.train.size, data.valid.size) == (4, 4)
    assert bytes(token for token in data.train.read(3).tokens if token < 256).startswith(b"1+1=")


def test_a_missing_folder_is_refused(launch: Launch) -> None:
    world = launch(lora_recipe(model_source="/nowhere/model"))
    assert world.finish() == [78]
    assert world.first.one("error")["kind"] == "no_model"


def test_missing_data_is_refused(launch: Launch) -> None:
    world = launch(recipe(data_source="/nowhere/data"))
    assert world.finish() == [78]
    assert world.first.one("error")["kind"] == "bad_data"
    assert "train.jsonl" in world.first.one("error")["message"]
