from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from maccluster_cli.worker import bytetok, models, save
from maccluster_cli.worker.fault import WorkerError
from maccluster_cli.worker.recipe import Recipe
from tests.worker.conftest import Launch, recipe

TOKENS = mx.array([bytetok.encode("10+10=")])


@pytest.fixture
def loaded() -> models.Loaded:
    return models.load(Recipe.from_dict(recipe()))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB: less than the small model needs."""
    if os.geteuid():
        pytest.skip("mounting needs root")
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_mlx_lm_loads_a_saved_folder_and_computes_the_same(loaded: models.Loaded, tmp_path: Path) -> None:
    mlx_lm: Any = pytest.importorskip("mlx_lm")
    path = save.save(loaded, tmp_path).path
    model, tokenizer = mlx_lm.load(str(path))
    assert mx.allclose(model(TOKENS), loaded.model(TOKENS), atol=1e-5).item()
    for text in ("10+10=20\n", "é €\x00\t<"):
        assert tokenizer.encode(text) == bytetok.encode(text)
        assert tokenizer.decode(bytetok.encode(text)[1:]) == text


def test_a_saved_folder_has_hugging_face_names(loaded: models.Loaded, tmp_path: Path) -> None:
    saved = save.save(loaded, tmp_path)
    weights = mx.load(str(saved.path / "model.safetensors"))
    assert isinstance(weights, dict)
    assert {
        "model.embed_tokens.weight",
        "model.layers.0.self_attn.q_proj.weight",
        "model.layers.1.mlp.down_proj.weight",
        "model.layers.1.post_attention_layernorm.weight",
        "model.norm.weight",
        "lm_head.weight",
    } <= set(weights)
    assert saved.sha256 == hashlib.sha256((saved.path / "model.safetensors").read_bytes()).hexdigest()
    assert saved.bytes == sum(path.stat().st_size for path in saved.path.iterdir())


def test_the_saved_event_is_true(launch: Launch) -> None:
    world = launch(recipe(train_steps=1), ranks=2)
    assert world.finish() == [0, 0]
    saved = world.first.one("saved")
    assert Path(saved["path"]) == world.out / "model"
    weights = (world.out / "model" / "model.safetensors").read_bytes()
    assert saved["sha256"] == hashlib.sha256(weights).hexdigest()
    assert [path.name for path in world.out.iterdir()] == ["model"]


def test_a_second_result_takes_the_place_of_the_first(loaded: models.Loaded, tmp_path: Path) -> None:
    first = save.save(loaded, tmp_path)
    loaded.model.lm_head.weight = loaded.model.lm_head.weight * 2
    second = save.save(loaded, tmp_path)
    assert first.path == second.path
    assert first.sha256 != second.sha256
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_full_disk_is_refused_before_training(launch: Launch, small_disk: Path) -> None:
    world = launch(recipe(train_steps=1), out_dir=small_disk)
    assert world.finish() == [74]
    assert world.first.one("error")["kind"] == "disk_full"
    assert not world.first.all("step")
    assert not list(small_disk.iterdir())


def test_a_disk_that_fills_while_saving_keeps_nothing_half_written(
    loaded: models.Loaded, small_disk: Path
) -> None:
    with pytest.raises(WorkerError) as failed:
        save.save(loaded, small_disk)
    assert (failed.value.kind, failed.value.code) == ("disk_full", 74)
    assert not list(small_disk.iterdir())


def test_a_failed_save_keeps_the_previous_result(tmp_path: Path) -> None:
    def put(text: str, *, fail: bool) -> None:
        with save.whole(tmp_path / "model") as folder:
            (folder / "weights").write_text(text)
            if fail:
                raise OSError("no space")

    put("old", fail=False)
    with pytest.raises(OSError, match="no space"):
        put("new", fail=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model" / "weights").read_text() == "old"


def test_left_overs_of_a_killed_save_are_swept(loaded: models.Loaded, tmp_path: Path) -> None:
    (tmp_path / ".model.partial").mkdir()
    (tmp_path / ".model.partial" / "model.safetensors").write_text("half")
    save.save(loaded, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
