"""A result is on disk whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlx.core as mx

from maccluster_cli.worker import bytetok
from maccluster_cli.worker.fault import save_failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maccluster_cli.worker.models import Loaded


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved folder: its place, the size of all its files, and the hash of its weights."""

    path: Path
    bytes: int
    sha256: str


def check_room(loaded: Loaded, out_dir: Path) -> None:
    """Refuse before training what would not fit after it; adapters alone where only they will be written."""
    kept = loaded.weights() if loaded.adapter is None or loaded.tokenizer is None else loaded.trainable()
    need, free = sum(tensor.nbytes for tensor in kept.values()), shutil.disk_usage(out_dir).free
    if need > free:
        error = OSError(28, f"{need} bytes are needed and {free} are free")  # 28: no space left on device
        raise save_failed(error, str(out_dir), 0)


def save(loaded: Loaded, out_dir: Path) -> Saved:
    """Write the model or its adapters under ``out_dir``; WorkerError ``disk_full`` or ``save_failed``."""
    if loaded.adapter is None:
        return _put(out_dir / "model", lambda folder: _write_model(loaded, folder))
    if loaded.tokenizer is None:  # adapters are of no use without the base that was never saved
        _put(out_dir / "base", lambda folder: _write_model(loaded, folder))
    return _put(out_dir / "adapters", lambda folder: _write_adapters(loaded, folder))


def _put(final: Path, write: Any) -> Saved:
    try:
        with whole(final) as folder:
            write(folder)
        return _describe(final)
    except (OSError, RuntimeError) as error:
        raise save_failed(error, str(final), shutil.disk_usage(final.parent).free) from error


@contextmanager
def whole(final: Path) -> Iterator[Path]:
    """Yield a folder beside ``final`` that becomes ``final`` once all is on the disk, or vanishes."""
    partial, old = (final.with_name(f".{final.name}.{word}") for word in ("partial", "old"))
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        for path in [*partial.iterdir(), partial]:
            _sync(path)
        shutil.rmtree(old, ignore_errors=True)
        if final.exists():
            final.rename(old)
        partial.rename(final)
        _sync(final.parent)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_model(loaded: Loaded, folder: Path) -> None:
    if loaded.tokenizer is not None:
        from mlx_lm.utils import save_config, save_model

        save_model(folder, loaded.model)
        save_config(dict(loaded.config), folder / "config.json")
        loaded.tokenizer.save_pretrained(folder)
        return
    _write_tensors(folder / "model.safetensors", _without_adapters(loaded.weights()))
    _write_json(folder / "config.json", loaded.config)
    bytetok.write(folder)


def _without_adapters(weights: Mapping[str, mx.array]) -> dict[str, mx.array]:
    """Give the layers under adapters their stored names back."""
    return {name.replace(".linear.", "."): t for name, t in weights.items() if ".lora_" not in name}


def _write_adapters(loaded: Loaded, folder: Path) -> None:
    _write_tensors(folder / "adapters.safetensors", loaded.trainable())
    _write_json(folder / "adapter_config.json", loaded.adapter)


def _write_tensors(path: Path, tensors: dict[str, mx.array]) -> None:
    mx.save_safetensors(str(path), tensors, metadata={"format": "mlx"})


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _describe(folder: Path) -> Saved:
    """Read back what was written: sizes of all files, one hash over the weights in order of their names."""
    files = sorted(folder.iterdir())
    digest = hashlib.sha256()
    for path in files:
        if path.suffix == ".safetensors":
            _hash_into(digest, path)
    return Saved(folder, sum(path.stat().st_size for path in files), digest.hexdigest())


def _hash_into(digest: Any, path: Path) -> None:
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
