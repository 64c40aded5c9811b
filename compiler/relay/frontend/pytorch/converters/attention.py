"""Transformer attention."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul as product
from compiler.relay.frontend.pytorch.converters.matmul import linear
from compiler.relay.frontend.pytorch.dtypes import cast
from compiler.relay.frontend.pytorch.registry import converter
from compiler.relay.frontend.pytorch.tensors import (
    constant,
    dtype_of,
    extents,
    ops,
    rank_of,
    reshape,
    scalar,
    static_shape,
    transpose,
)
from compiler.relay.frontend.pytorch.values import Ints
from compiler.relay.frontend.shared.activations import gelu
from compiler.relay.frontend.shared.errors import ConversionError


@converter("scaled_dot_product_attention")
def attention(query: RelayExpr, key: RelayExpr, value: RelayExpr, attn_mask: RelayExpr | None = None,
              dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
              enable_gqa: bool = False) -> RelayExpr:  # fmt: skip
    """Return softmax(q kᵀ / √d + mask) v."""
    if dropout_p:
        raise ConversionError("attention with dropout draws random numbers; put the model into eval mode")
    if enable_gqa:
        axis = rank_of(query) - 3
        times = static_shape(query)[axis] // static_shape(key)[axis]
        key, value = (ops.repeat(x, times, axis) for x in (key, value))
    *_, length, width = static_shape(query)
    rank = rank_of(key)
    scores = product(query, transpose(key, [*range(rank - 2), rank - 1, rank - 2]))
    scores = ops.multiply(scores, scalar(1 / math.sqrt(width) if scale is None else scale, scores))
    if is_causal:
        attn_mask = constant(np.tril(np.ones((length, static_shape(key)[-2]), "bool")))
    return product(ops.nn.softmax(_masked(scores, attn_mask), axis=-1), value)


def _masked(scores: RelayExpr, mask: RelayExpr | None) -> RelayExpr:
    """Apply a mask, which is added or, if boolean, excludes positions."""
    if mask is None:
        return scores
    if dtype_of(mask) == "bool":
        return ops.where(mask, scores, scalar(-math.inf, scores))
    return ops.add(scores, cast(mask, dtype_of(scores)))


@converter("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math")
def _with_statistics(query: RelayExpr, key: RelayExpr, value: RelayExpr, attn_mask: RelayExpr | None = None,
                     dropout_p: float = 0.0, is_causal: bool = False,
                     scale: float | None = None) -> tuple[RelayExpr, None]:  # fmt: skip
    return attention(query, key, value, attn_mask, dropout_p, is_causal, scale), None


@converter("_native_multi_head_attention")
def _multi_head(query: RelayExpr, key: RelayExpr, value: RelayExpr, embed_dim: int, num_head: int,
                qkv_weight: RelayExpr, qkv_bias: RelayExpr, proj_weight: RelayExpr, proj_bias: RelayExpr,
                mask: RelayExpr | None = None, need_weights: bool = True, average_attn_weights: bool = True,
                mask_type: int | None = None) -> tuple[RelayExpr, None]:  # fmt: skip
    if need_weights:
        raise ConversionError("weights are not supported in the fused form")
    weights, biases = ops.split(qkv_weight, 3, 0), ops.split(qkv_bias, 3, 0)
    q, k, v = (_in_heads(linear(x, weights[i], biases[i]), num_head) for i, x in enumerate((query, key, value)))
    taken = None if mask is None else _taken(mask, mask_type)
    return linear(_joined(attention(q, k, v, taken)), proj_weight, proj_bias), None


_KEYS_OF_A_BATCH = 1
"""The kind of mask that has a row of keys for each sequence; others broadcast against the scores."""


def _taken(mask: RelayExpr, mask_type: int | None) -> RelayExpr:
    """Return which keys take part; a mask of the fused form is what is left out: true, or any number but 0."""
    left_out = mask if dtype_of(mask) == "bool" else ops.not_equal(mask, scalar(0, mask))
    if mask_type == _KEYS_OF_A_BATCH:
        batch, length = static_shape(mask)
        left_out = reshape(left_out, [batch, 1, 1, length])
    return ops.logical_not(left_out)


@dataclass(frozen=True, slots=True)
class NestedTensor:
    """A nested tensor, whose sequences are of several lengths: as a tensor, with what belongs to it.

    ``padded`` is (batch, length, width), where what is past the end of a sequence may be anything; ``kept`` is (batch,
    length), true inside of a sequence.
    """

    padded: RelayExpr
    kept: RelayExpr


@converter("_nested_tensor_from_mask")
def _nested_from_mask(t: RelayExpr, mask: RelayExpr, mask_check: bool = True) -> NestedTensor:
    """Nest sequences; the mask keeps the beginning of each, which PyTorch checks and an imported model does not."""
    return NestedTensor(t, cast(mask, "bool"))


@converter("to_padded_tensor")
def _to_padded(nested: NestedTensor, padding: float, output_size: Ints | None = None) -> RelayExpr:
    if not isinstance(nested, NestedTensor):
        raise ConversionError("only a nested tensor that a mask made can be padded")
    shape = static_shape(nested.padded)
    if output_size is not None and extents(output_size) != list(shape):
        raise ConversionError(f"a nested tensor of {tuple(shape)} is padded to its own size alone, got {output_size}")
    kept = ops.expand_dims(nested.kept, 2)
    return ops.where(kept, nested.padded, scalar(padding, nested.padded))


def _in_heads(x: RelayExpr, heads: int) -> RelayExpr:
    batch, length, width = static_shape(x)
    return transpose(reshape(x, [batch, length, heads, width // heads]), [0, 2, 1, 3])


def _joined(x: RelayExpr) -> RelayExpr:
    batch, heads, length, width = static_shape(x)
    return reshape(transpose(x, [0, 2, 1, 3]), [batch, length, heads * width])


@converter("_transformer_encoder_layer_fwd")
def _encoder_layer(src: RelayExpr, embed_dim: int, num_heads: int, qkv_weight: RelayExpr, qkv_bias: RelayExpr,
                   proj_weight: RelayExpr, proj_bias: RelayExpr, use_gelu: bool, norm_first: bool, eps: float,
                   norm_weight_1: RelayExpr, norm_bias_1: RelayExpr, norm_weight_2: RelayExpr, norm_bias_2: RelayExpr,
                   ffn_weight_1: RelayExpr, ffn_bias_1: RelayExpr, ffn_weight_2: RelayExpr, ffn_bias_2: RelayExpr,
                   mask: RelayExpr | None = None,
                   mask_type: int | None = None) -> NestedTensor | RelayExpr:  # fmt: skip
    """Convert a transformer encoder layer."""
    if isinstance(src, NestedTensor):
        mask, mask_type = ops.logical_not(src.kept), _KEYS_OF_A_BATCH
    x = src.padded if isinstance(src, NestedTensor) else src

    def attend(x: RelayExpr) -> RelayExpr:
        weights = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        return _multi_head(x, x, x, embed_dim, num_heads, *weights, mask, False, mask_type=mask_type)[0]

    def feed(x: RelayExpr) -> RelayExpr:
        hidden = linear(x, ffn_weight_1, ffn_bias_1)
        bent = gelu(hidden) if use_gelu else ops.nn.relu(hidden)
        return linear(bent, ffn_weight_2, ffn_bias_2)

    def first(x: RelayExpr) -> RelayExpr:
        return ops.nn.layer_norm(x, norm_weight_1, norm_bias_1, axis=-1, epsilon=eps)

    def second(x: RelayExpr) -> RelayExpr:
        return ops.nn.layer_norm(x, norm_weight_2, norm_bias_2, axis=-1, epsilon=eps)

    if norm_first:
        x = ops.add(x, attend(first(x)))
        x = ops.add(x, feed(second(x)))
    else:
        x = first(ops.add(x, attend(x)))
        x = second(ops.add(x, feed(x)))
    return NestedTensor(x, src.kept) if isinstance(src, NestedTensor) else x
