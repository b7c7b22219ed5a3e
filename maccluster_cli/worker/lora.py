# mypy: disable-error-code="no-untyped-call"
"""Low-rank adapters: ours for our llama, mlx-lm's for models that it loaded; one format on disk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx.utils import tree_unflatten

from maccluster_cli.worker.fault import bad_spec

if TYPE_CHECKING:
    from mlx.nn.layers.linear import Linear

    from maccluster_cli.worker.recipe import LoraPart


class LoraLinear(Module):
    """A frozen linear layer plus ``scale * x A B``; B starts at zero, so that training starts at the base."""

    def __init__(self, linear: Linear, rank: int, scale: float) -> None:
        super().__init__()
        outputs, inputs = linear.weight.shape
        bound = 1 / math.sqrt(inputs)
        self.linear = linear
        self.scale = scale
        self.lora_a = mx.random.uniform(-bound, bound, (inputs, rank))
        self.lora_b = mx.zeros((rank, outputs))

    def __call__(self, x: mx.array) -> mx.array:
        """(..., inputs) to (..., outputs)."""
        return self.linear(x) + self.scale * (x @ self.lora_a) @ self.lora_b


def attach(model: Any, lora: LoraPart, seed: int, *, ours: bool) -> dict[str, Any]:
    """Freeze ``model`` and put adapters on its last blocks; the adapter_config.json that says so."""
    blocks = model.layers if lora.layers < 0 else model.layers[max(0, len(model.layers) - lora.layers) :]
    keys = _matching(blocks, lora.targets)
    parameters = {"rank": lora.rank, "scale": lora.scale, "dropout": 0.0, "keys": keys}
    model.freeze()
    mx.random.seed(seed)
    if ours:
        for block in blocks:
            _adapt(block, keys, lora)
    else:
        from mlx_lm.tuner.utils import linear_to_lora_layers

        linear_to_lora_layers(model, len(blocks), parameters)
    mx.eval(model.parameters())
    return {"fine_tune_type": "lora", "num_layers": len(blocks), "lora_parameters": parameters}


def _matching(blocks: Any, targets: tuple[str, ...]) -> list[str]:
    """Return the full names in a block that end in a target; a target without any is a typing mistake."""
    names = sorted({name for block in blocks for name, layer in block.named_modules() if _is_matrix(layer)})
    if not targets:
        return names
    keys = {target: [n for n in names if f".{n}".endswith(f".{target}")] for target in targets}
    missing = [target for target, found in keys.items() if not found]
    if missing:
        raise bad_spec(f"lora.targets: no layer is called {', '.join(missing)}")
    return sorted({name for found in keys.values() for name in found})


def _is_matrix(layer: Module) -> bool:
    return "weight" in layer and layer.weight.ndim > 1


def _adapt(block: Module, keys: list[str], lora: LoraPart) -> None:
    layers = dict(block.named_modules())
    block.update_modules(tree_unflatten([(k, LoraLinear(layers[k], lora.rank, lora.scale)) for k in keys]))
