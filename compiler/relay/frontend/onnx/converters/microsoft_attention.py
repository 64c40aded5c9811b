"""Fused attention operators of ONNX Runtime: projections, heads, masks, key-value caches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.integers import along, centred
from compiler.relay.frontend.onnx.microsoft import microsoft, with_rank
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, reshape, split, static_dims, transpose

_MASKED = -10000.0
"""The default bias of masked scores."""


@microsoft("Attention", "input weights bias? mask_index? past? attention_bias? past_sequence_length?")
def _attention(
    node: Node,
    x: RelayExpr,
    weights: RelayExpr,
    bias: RelayExpr | None,
    mask: RelayExpr | None,
    past: RelayExpr | None,
    added: RelayExpr | None,
    past_length: RelayExpr | None,
) -> list[RelayExpr] | RelayExpr:
    static_dims(with_rank(x, (3,), "input"), "input")
    projected = matmul(x, weights)
    projected = projected if bias is None else ops.add(projected, bias)
    return _self_attention(node, projected, mask, past, added)


@microsoft(
    "QAttention", "input weight bias input_scale weight_scale mask_index? input_zero_point? weight_zero_point? past?"
)
def _q_attention(
    node: Node,
    x: RelayExpr,
    weights: RelayExpr,
    bias: RelayExpr,
    x_scale: RelayExpr,
    w_scale: RelayExpr,
    mask: RelayExpr | None,
    x_zero: RelayExpr | None,
    w_zero: RelayExpr | None,
    past: RelayExpr | None,
) -> list[RelayExpr] | RelayExpr:
    """Convert ``QAttention``, whose projections are quantized, possibly with a scale per column."""
    static_dims(with_rank(x, (3,), "input"), "input")
    total = matmul(centred(x, x_zero, 2), centred(weights, w_zero, 1), "int32")
    scale = ops.multiply(reshape(x_scale, []), w_scale)
    projected = ops.multiply(cast(total, "float32"), along(scale, total, 2))
    return _self_attention(node, ops.add(projected, bias), mask, past, None)


def _self_attention(
    node: Node, projected: RelayExpr, mask: RelayExpr | None, past: RelayExpr | None, added: RelayExpr | None
) -> list[RelayExpr] | RelayExpr:
    """Return what attention makes of queries, keys and values that stand side by side."""
    refuse(node, ("do_rotary", "past_present_share_buffer"))
    width = static_dims(projected, "the projection")[2]
    sizes = node.attr("qkv_hidden_sizes", [width // 3] * 3)
    query, key, value = (heads_of(part, node.required("num_heads")) for part in split(projected, sizes, 2))
    if past is not None:
        past_key, past_value = (ops.squeeze(part, axis=[0]) for part in ops.split(past, 2, axis=0))
        key, value = _after(past_key, key), _after(past_value, value)
    output = _attended(node, query, key, value, mask, added)
    return [output, ops.stack([key, value], axis=0)] if node.wants(1) else output


@microsoft(
    "MultiHeadAttention",
    "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? past_sequence_length? "
    "cache_indirection?",
)
def _multi_head_attention(
    node: Node,
    query: RelayExpr,
    key: RelayExpr | None,
    value: RelayExpr | None,
    bias: RelayExpr | None,
    mask: RelayExpr | None,
    *others: RelayExpr | None,
) -> list[RelayExpr]:
    added, past_key, past_value, past_length, cache = others
    if past_length is not None or cache is not None:
        raise ConversionError("inputs 8 and 9 (past_sequence_length and cache_indirection) are not supported")
    queries, keys, values = _projected(node.required("num_heads"), query, key, value, bias)
    if past_key is not None and past_value is not None:
        keys, values = _after(past_key, keys), _after(past_value, values)
    return [_attended(node, queries, keys, values, mask, added), keys, values]


def refuse(node: Node, names: tuple[str, ...]) -> None:
    """Check that unsupported attributes are zero, their default."""
    for name in names:
        if node.attr(name, 0):
            raise ConversionError(f"attribute {name} = {node.attr(name)} is not supported")


def _projected(
    count: int, query: RelayExpr, key: RelayExpr | None, value: RelayExpr | None, bias: RelayExpr | None
) -> Sequence[RelayExpr]:
    """Return queries, keys and values as heads, unpacking them if necessary."""
    if rank_of(query) == 5:  # (batch, length, heads, 3, width)
        parts = [transpose(ops.squeeze(part, axis=[3]), [0, 2, 1, 3]) for part in ops.split(query, 3, axis=3)]
        return _with_bias(parts, bias)
    with_rank(query, (3,), "query")
    queries = heads_of(query, count)
    if key is None:
        raise ConversionError("key is left out, but query is not packed in 5 dimensions")
    if rank_of(key) == 5:  # (batch, length, heads, 2, width)
        keys, values = (transpose(ops.squeeze(part, axis=[3]), [0, 2, 1, 3]) for part in ops.split(key, 2, axis=3))
        return _with_bias([queries, keys, values], bias)
    if value is None:
        raise ConversionError("value is left out, but key is not packed in 5 dimensions")
    if rank_of(key) == 4:  # heads of an encoder, which include the bias
        return [*_with_bias([queries], bias), key, value]
    return _with_bias([queries, heads_of(key, count), heads_of(value, count)], bias)


def _with_bias(parts: Sequence[RelayExpr], bias: RelayExpr | None) -> Sequence[RelayExpr]:
    """Add to each head its piece of a bias: all of the first part's, then those of the next."""
    if bias is None:
        return parts
    sizes = [int(np.prod([static_dims(part, "a head")[axis] for axis in (1, 3)])) for part in parts]
    pieces = split(ops.strided_slice(bias, [0], [sum(sizes)], strides=[1], axes=[0]), sizes, 0)
    shapes = [(1, dims_of(part)[1], 1, dims_of(part)[3]) for part in parts]
    return [ops.add(p, reshape(b, shape)) for p, b, shape in zip(parts, pieces, shapes, strict=True)]


def heads_of(x: RelayExpr, count: int) -> RelayExpr:
    """Return (batch, length, count * width) as (batch, count, length, width)."""
    batch, length, width = static_dims(with_rank(x, (3,), "query, key or value"), "query, key or value")
    if count < 1 or width % count:
        raise ConversionError(f"{width} channels cannot be divided among num_heads = {count}")
    return transpose(reshape(x, [batch, length, count, width // count]), [0, 2, 1, 3])


def _after(past: RelayExpr, new: RelayExpr) -> RelayExpr:
    return ops.concatenate([past, new], axis=2)


def _attended(
    node: Node, query: RelayExpr, key: RelayExpr, value: RelayExpr, mask: RelayExpr | None, added: RelayExpr | None
) -> RelayExpr:
    """Return the heads' weighted values, side by side: (batch, length, heads * width)."""
    batch, heads, length, width = static_dims(query, "query")
    scale = node.attr("scale", 0.0) or 1 / math.sqrt(width)
    scores = ops.multiply(matmul(query, transpose(key, [0, 1, 3, 2])), scale)
    total = static_dims(key, "key")[2]
    if mask is not None:
        scores = ops.add(scores, cast(_penalty(node, mask, batch, total), dtype_of(scores)))
    if node.attr("unidirectional", 0):
        bounded(length, total)
        ahead = np.arange(total) > np.arange(total - length, total)[:, None]
        scores = ops.where(constant(ahead), scalar(np.finfo(np.float32).min, scores), scores)
    if added is not None:
        scores = ops.add(scores, added)
    mixed = matmul(ops.nn.softmax(scores, axis=-1), value)
    return reshape(transpose(mixed, [0, 2, 1, 3]), [batch, length, heads * static_dims(value, "value")[3]])


def _penalty(node: Node, mask: RelayExpr, batch: int, total: int) -> RelayExpr:
    """Return the bias of the scores (batch, heads, length, total) for a mask.

    The mask has a number per position, 0 for masked ones, or the end of each sequence, followed by the starts.
    """
    dims = static_dims(with_rank(mask, (1, 2, 3), "mask"), "mask")
    if len(dims) == 1:
        seen = _between(mask, dims[0], batch, total)
    else:
        seen = ops.not_equal(mask, scalar(0, mask))
        seen = reshape(seen, [dims[0], 1, *((1,) if len(dims) == 2 else ()), *dims[1:]])
    return ops.where(seen, constant(np.float32(0)), constant(np.float32(node.attr("mask_filter_value", _MASKED))))


def _between(mask: RelayExpr, count: int, batch: int, total: int) -> RelayExpr:
    if count not in (batch, 2 * batch):
        raise ConversionError(f"a mask of one dimension must have {batch} or {2 * batch} numbers, got {count}")
    places = constant(np.arange(total, dtype=np.int32).reshape(1, 1, 1, total))
    ends, *starts = split(mask, [batch] * (count // batch), 0)
    seen = ops.less(places, reshape(ends, [batch, 1, 1, 1]))
    for start in starts:
        seen = ops.logical_and(seen, ops.greater_equal(places, reshape(start, [batch, 1, 1, 1])))
    return seen
