"""Where a model comes from: a seed, or a folder or hub id through mlx-lm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maccluster_cli.worker import bytetok, llama
from maccluster_cli.worker.arrays import named
from maccluster_cli.worker.fault import REFUSED, WorkerError
from maccluster_cli.worker.recipe import SCRATCH

if TYPE_CHECKING:
    import mlx.core as mx

    from maccluster_cli.worker.recipe import ModelPart, Recipe

LARGE = 10**9  # parameters from which activations are computed twice rather than kept


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to train, how text becomes tokens for it, and what its saved folder must say."""

    model: Any
    encode: Callable[[str], list[int]]
    config: dict[str, Any]
    tokenizer: Any = None  # mlx-lm's; None is the byte tokenizer
    adapter: dict[str, Any] | None = None  # adapter_config.json of a LoRA run

    @property
    def is_bytes(self) -> bool:
        """True where a token is a byte, so that loss and entropy per byte can be compared."""
        return self.tokenizer is None or self.encode("0+0") == bytetok.encode("0+0")

    def weights(self) -> dict[str, mx.array]:
        """Return all parameters by their stored names."""
        return named(self.model.parameters())

    def trainable(self) -> dict[str, mx.array]:
        """Return the parameters that training changes."""
        return named(self.model.trainable_parameters())


def load(recipe: Recipe) -> Loaded:
    """Build or read a recipe's model, with its adapters; WorkerError ``no_model`` or ``no_mlx_lm``."""
    ours = recipe.model.source == SCRATCH
    loaded = _scratch(recipe) if ours else _from_folder(recipe.model.source)
    if recipe.lora is None:
        return loaded
    from maccluster_cli.worker import lora

    adapter = lora.attach(loaded.model, recipe.lora, recipe.train.seed, ours=ours)
    adapter["model"] = recipe.model.source
    return Loaded(loaded.model, loaded.encode, loaded.config, loaded.tokenizer, adapter)


def _scratch(recipe: Recipe) -> Loaded:
    model = llama.scratch(recipe.model, recipe.train.seed)
    return Loaded(model, bytetok.encode, _config(recipe.model))


def _config(shape: ModelPart) -> dict[str, Any]:
    """Write a Hugging Face llama config for our llama."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.hidden_size,
        "num_hidden_layers": shape.num_layers,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "intermediate_size": shape.intermediate_size,
        "vocab_size": shape.vocab_size,
        "max_position_embeddings": shape.max_position,
        "rms_norm_eps": llama.NORM_EPS,
        "rope_theta": llama.ROPE_BASE,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "bos_token_id": bytetok.BOS,
        "eos_token_id": bytetok.EOS,
        "pad_token_id": bytetok.PAD,
        "torch_dtype": "float32",
    }


def _from_folder(source: str) -> Loaded:
    """Read a model through mlx-lm, which knows the architectures, quantisation and tokenizers."""
    try:
        mlx_lm: Any = import_module("mlx_lm")  # some seconds, so only where it is needed
    except ImportError as error:
        hint = "install mlx-lm on the node: the extra lm"
        raise WorkerError(
            "no_mlx_lm", f"model {source} needs mlx-lm: {error}", hint=hint, code=REFUSED
        ) from error
    try:
        model, tokenizer, config = mlx_lm.load(source, return_config=True)
    except (OSError, ValueError) as error:
        hint = "a folder with config.json, *.safetensors and a tokenizer, or a hub id"
        raise WorkerError("no_model", f"{source}: {error}", hint=hint, code=REFUSED) from error
    _spare_memory(model)
    return Loaded(model, tokenizer.encode, config, tokenizer)


def _spare_memory(model: Any) -> None:
    """Keep only each block's input in the forward pass of a large model: 67 B at 2048 tokens saves 100 GB."""
    if sum(tensor.size for tensor in named(model.parameters()).values()) >= LARGE:
        trainer: Any = import_module("mlx_lm.tuner.trainer")  # not annotated
        trainer.grad_checkpoint(model.layers[0])
