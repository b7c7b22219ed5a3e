"""The few things about arrays that MLX's types leave open, said once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlx.utils import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mlx.core as mx


def number(array: mx.array) -> float:
    """Return the value of an array of one real number."""
    return float(array.item())  # type: ignore[arg-type]


def named(tree: Any) -> dict[str, mx.array]:
    """Flatten a tree of parameters to stored names: ``model.layers.0.mlp.up_proj.weight``."""
    return dict(tree_flatten(tree))


def nested(arrays: Mapping[str, mx.array]) -> Any:
    """Undo ``named``."""
    return tree_unflatten(list(arrays.items()))
