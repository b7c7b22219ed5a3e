"""A plain llama: the smallest model whose saved folder every other tool can load."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mlx.core as mx

# The defining modules: `mlx.nn` re-exports in a way that strict type checking does not follow.
from mlx.nn.layers.base import Module
from mlx.nn.layers.embedding import Embedding
from mlx.nn.layers.linear import Linear
from mlx.nn.layers.normalization import RMSNorm

if TYPE_CHECKING:
    from maccluster_cli.worker.recipe import ModelPart

NORM_EPS = 1e-5
ROPE_BASE = 10_000.0
EMBEDDING_STD = 0.2  # the small sums are learned in fewer steps than from 1.0, whatever the seed


class Attention(Module):
    """Causal attention in which ``num_heads / num_kv_heads`` query heads share one key and value head."""

    def __init__(self, shape: ModelPart) -> None:
        super().__init__()
        self.heads, self.kv_heads = shape.num_heads, shape.num_kv_heads
        self.head_size = shape.hidden_size // shape.num_heads
        self.q_proj = Linear(shape.hidden_size, self.heads * self.head_size, bias=False)
        self.k_proj = Linear(shape.hidden_size, self.kv_heads * self.head_size, bias=False)
        self.v_proj = Linear(shape.hidden_size, self.kv_heads * self.head_size, bias=False)
        self.o_proj = Linear(self.heads * self.head_size, shape.hidden_size, bias=False)

    def _split(self, x: mx.array, heads: int) -> mx.array:
        """(batch, time, heads * size) to (batch, heads, time, size), the order the kernels want."""
        return x.reshape(*x.shape[:2], heads, self.head_size).transpose(0, 2, 1, 3)

    def __call__(self, x: mx.array) -> mx.array:
        """(batch, time, hidden) to the same shape."""
        q = _rotate(self._split(self.q_proj(x), self.heads))
        k = _rotate(self._split(self.k_proj(x), self.kv_heads))
        v = self._split(self.v_proj(x), self.kv_heads)
        mixed = mx.fast.scaled_dot_product_attention(q, k, v, scale=self.head_size**-0.5, mask="causal")
        return self.o_proj(mixed.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1))


def _rotate(x: mx.array) -> mx.array:
    """Rotary positions by halves, as Hugging Face stores q and k; not the interleaved original."""
    return mx.fast.rope(x, x.shape[-1], traditional=False, base=ROPE_BASE, scale=1.0, offset=0)


class Mlp(Module):
    """The gated feed-forward half of a block."""

    def __init__(self, shape: ModelPart) -> None:
        super().__init__()
        self.gate_proj = Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = Linear(shape.intermediate_size, shape.hidden_size, bias=False)

    def __call__(self, x: mx.array) -> mx.array:
        """(batch, time, hidden) to the same shape."""
        gate = self.gate_proj(x)
        return self.down_proj(gate * mx.sigmoid(gate) * self.up_proj(x))


class Block(Module):
    """One layer: attention, then feed-forward, each added to the stream it read from."""

    def __init__(self, shape: ModelPart) -> None:
        super().__init__()
        self.self_attn = Attention(shape)
        self.mlp = Mlp(shape)
        self.input_layernorm = RMSNorm(shape.hidden_size, eps=NORM_EPS)
        self.post_attention_layernorm = RMSNorm(shape.hidden_size, eps=NORM_EPS)

    def __call__(self, x: mx.array) -> mx.array:
        """(batch, time, hidden) to the same shape."""
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Stack(Module):
    """Embedding, blocks and final norm; apart from the head because the stored names say ``model.``."""

    def __init__(self, shape: ModelPart) -> None:
        super().__init__()
        self.embed_tokens = Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = [Block(shape) for _ in range(shape.num_layers)]
        self.norm = RMSNorm(shape.hidden_size, eps=NORM_EPS)

    def __call__(self, tokens: mx.array) -> mx.array:
        """(batch, time) of token numbers to (batch, time, hidden)."""
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        normed: mx.array = self.norm(x)
        return normed


class Llama(Module):
    """The whole model; parameter names are those of a Hugging Face llama state dict."""

    def __init__(self, shape: ModelPart) -> None:
        super().__init__()
        self.model = Stack(shape)
        self.lm_head = Linear(shape.hidden_size, shape.vocab_size, bias=False)

    def __call__(self, tokens: mx.array) -> mx.array:
        """(batch, time) of token numbers to logits (batch, time, vocab)."""
        return self.lm_head(self.model(tokens))

    @property
    def layers(self) -> list[Block]:
        """The blocks, where LoRA looks for them."""
        return self.model.layers


def scratch(shape: ModelPart, seed: int) -> Llama:
    """Build a model from a seed: matrices normal with std 1/sqrt(inputs), norms one, a quiet embedding."""
    mx.random.seed(seed)
    model = Llama(shape)
    model.apply(lambda p: p if p.ndim == 1 else mx.random.normal(p.shape, scale=1 / math.sqrt(p.shape[-1])))
    table = model.model.embed_tokens
    table.weight = EMBEDDING_STD * mx.random.normal(table.weight.shape)
    mx.eval(model.parameters())
    return model
