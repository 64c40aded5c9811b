"""Grouped-query attention of ONNX Runtime, with a key-value cache."""

from __future__ import annotations

import math

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.converters.microsoft_attention import heads_of, refuse
from compiler.relay.frontend.onnx.microsoft import microsoft, with_rank
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, reshape, split, static_dims, transpose


@microsoft("RotaryEmbedding", "input position_ids cos_cache sin_cache")
def _rotary_embedding(node: Node, x: RelayExpr, positions: RelayExpr, cos: RelayExpr, sin: RelayExpr) -> RelayExpr:
    """Convert ``RotaryEmbedding``: rotate pairs of channels by angles proportional to the position."""
    if node.attr("is_packed_batching", 0) or node.attr("scale", 1.0) != 1.0:
        raise ConversionError("packed batches and scales are not supported")
    dims = static_dims(with_rank(x, (3, 4), "input"), "input")
    half = static_dims(cos, "cos_cache")[-1]
    if len(dims) == 3:
        heads = node.attr("num_heads", 0) or dims[-1] // (2 * half)
        x = transpose(reshape(x, [dims[0], dims[1], heads, dims[-1] // heads]), [0, 2, 1, 3])
    interleaved = bool(node.attr("interleaved", 0))
    turned = rotated(x, rows(positions, cos, x), rows(positions, sin, x), half, interleaved)
    return turned if len(dims) == 4 else reshape(transpose(turned, [0, 2, 1, 3]), dims)


def rows(positions: RelayExpr, table: RelayExpr, x: RelayExpr) -> RelayExpr:
    """Return the row of a table for each position: (batch or 1, 1, length, half)."""
    length = static_dims(x, "input")[2]
    if rank_of(positions) == 1:  # where all sequences begin
        positions = ops.add(reshape(positions, [1, 1]), constant(np.arange(length, dtype=np.int64)[None]))
    rows = ops.take(table, positions, axis=0)
    return reshape(rows, [dims_of(positions)[0], 1, length, dims_of(table)[-1]])


def rotated(x: RelayExpr, cos: RelayExpr, sin: RelayExpr, half: int, interleaved: bool) -> RelayExpr:
    """Return heads (batch, heads, length, width) whose first ``2 * half`` channels are turned in pairs.

    The two of a pair are neighbours if interleaved; otherwise the second is ``half`` channels further.
    """
    batch, heads, length, width = static_dims(x, "input")
    x, *kept = [x] if 2 * half == width else ops.split(x, [2 * half], axis=-1)
    if interleaved:
        pairs = reshape(x, [batch, heads, length, half, 2])
        first, second = (ops.squeeze(part, axis=[4]) for part in ops.split(pairs, 2, axis=4))
    else:
        first, second = ops.split(x, 2, axis=-1)
    left = ops.subtract(ops.multiply(first, cos), ops.multiply(second, sin))
    right = ops.add(ops.multiply(first, sin), ops.multiply(second, cos))
    if interleaved:
        turned = reshape(ops.stack([left, right], axis=4), [batch, heads, length, 2 * half])
    else:
        turned = ops.concatenate([left, right], axis=-1)
    return ops.concatenate([turned, *kept], axis=-1) if kept else turned


_REFUSED_INPUTS = ("k_scale", "v_scale", "q_norm_weight", "k_norm_weight", "query_seqlens")


@microsoft(
    "GroupQueryAttention",
    "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? sin_cache? position_ids? "
    "attention_bias? head_sink? k_scale? v_scale? q_norm_weight? k_norm_weight? query_seqlens?",
)
def _group_query_attention(
    node: Node,
    query: RelayExpr,
    key: RelayExpr | None,
    value: RelayExpr | None,
    past_key: RelayExpr | None,
    past_value: RelayExpr | None,
    last: RelayExpr,
    total: RelayExpr,
    cos: RelayExpr | None,
    sin: RelayExpr | None,
    positions: RelayExpr | None,
    added: RelayExpr | None,
    sink: RelayExpr | None,
    *others: RelayExpr | None,
) -> list[RelayExpr]:
    _refuse_variants(node, others)
    queries, keys, values = _parts(node, query, key, value)
    length = static_dims(queries, "query")[2]
    held = _held(past_key, past_value, length, total)
    begins = _begins(last, length, total)
    if positions is None:
        positions = ops.add(begins, constant(np.arange(length, dtype=np.int64)[None]))
    if node.attr("do_rotary", 0):
        if cos is None or sin is None:
            raise ConversionError("do_rotary = 1 needs the inputs cos_cache and sin_cache")
        queries, keys = (_turned(node, part, positions, cos, sin) for part in (queries, keys))
    if past_key is not None and past_value is not None:
        keys, values = (_cached(past, new, begins, held) for past, new in ((past_key, keys), (past_value, values)))
    return [_attended(node, queries, keys, values, begins, added, sink), keys, values]


def _refuse_variants(node: Node, others: tuple[RelayExpr | None, ...]) -> None:
    refuse(node, ("kv_cache_bit_width", "sliding_window_cache", "qk_output"))
    for name, given in zip(_REFUSED_INPUTS, others, strict=True):
        if given is not None:
            raise ConversionError(f"input {name} is not supported")
    if not node.attr("causal", 1):
        raise ConversionError("attribute causal = 0 is not supported")


def _parts(
    node: Node, query: RelayExpr, key: RelayExpr | None, value: RelayExpr | None
) -> tuple[RelayExpr, RelayExpr, RelayExpr]:
    """Return the heads of queries, keys and values, which may lie side by side in the first input."""
    count, shared = node.required("num_heads"), node.required("kv_num_heads")
    if shared < 1 or count < 1 or count % shared:
        raise ConversionError(f"num_heads = {count} cannot be divided among kv_num_heads = {shared}")
    channels = static_dims(with_rank(query, (3,), "query"), "query")[2]
    if key is None or value is None:
        if channels % (count + 2 * shared):
            raise ConversionError(f"{channels} channels cannot be divided among {count} + 2 * {shared} heads")
        width = channels // (count + 2 * shared)
        query, key, value = split(query, [count * width, shared * width, shared * width], 2)
    heads = heads_of(query, count), heads_of(key, shared), heads_of(value, shared)
    lengths = [static_dims(part, "query, key or value")[2] for part in heads]
    if len(set(lengths)) > 1:
        raise ConversionError(f"queries, keys and values must have the same length, got {lengths}")
    return heads


def _number(total: RelayExpr) -> int:
    value = known(total)
    if value is None:
        raise ConversionError("total_sequence_length must be known while importing: it is an extent of the results")
    return int(value.item())


def _held(past_key: RelayExpr | None, past_value: RelayExpr | None, length: int, total: RelayExpr) -> int:
    """Return how many tokens the cache holds afterwards, at least as many as it did."""
    count = _number(total)
    if (past_key is None) != (past_value is None):
        raise ConversionError("past_key and past_value must be given together")
    before = 0 if past_key is None else static_dims(with_rank(past_key, (4,), "past_key"), "past_key")[2]
    if not length <= count <= before + length:
        raise ConversionError(
            f"total_sequence_length is {count}; {before} tokens are in the cache, and {length} are added"
        )
    return bounded(max(before, count))


def _begins(last: RelayExpr, length: int, total: RelayExpr) -> RelayExpr:
    """Return at which position the first new token of each sequence stands: (batch, 1)."""
    last = cast(reshape(last, [-1, 1]), "int64")
    if _number(total) == length:  # the first tokens, behind which some sequences have others that fill up
        return ops.zeros_like(last)
    return ops.subtract(last, constant(np.int64(length - 1)))


def _turned(node: Node, heads: RelayExpr, positions: RelayExpr, cos: RelayExpr, sin: RelayExpr) -> RelayExpr:
    half = static_dims(cos, "cos_cache")[-1]
    return rotated(
        heads, rows(positions, cos, heads), rows(positions, sin, heads), half, bool(node.attr("rotary_interleaved", 0))
    )


def _cached(past: RelayExpr, new: RelayExpr, begins: RelayExpr, held: int) -> RelayExpr:
    """Return a cache with new tokens from a position of each sequence on, zeros after: (batch, heads, held, width)."""
    before, length = static_dims(past, "past")[2], static_dims(new, "new")[2]
    places, zero = constant(np.arange(held, dtype=np.int64)[None]), constant(np.int64(0))
    within = ops.subtract(places, begins)
    of_past = ops.minimum(places, constant(np.int64(max(before - 1, 0))))
    of_new = ops.add(ops.clip(within, 0, length - 1), constant(np.int64(before)))
    by_token = transpose(ops.concatenate([past, new], axis=2), [0, 2, 1, 3])
    chosen = ops.take(by_token, ops.where(ops.less(within, zero), of_past, of_new), axis=1, batch_dims=1)
    filled = reshape(ops.less(within, constant(np.int64(length))), [-1, 1, held, 1])
    return ops.where(filled, transpose(chosen, [0, 2, 1, 3]), scalar(0, new))


def _attended(
    node: Node,
    queries: RelayExpr,
    keys: RelayExpr,
    values: RelayExpr,
    begins: RelayExpr,
    added: RelayExpr | None,
    sink: RelayExpr | None,
) -> RelayExpr:
    """Return the heads' weighted values, side by side: (batch, length, heads * width)."""
    batch, count, length, width = static_dims(queries, "query")
    _, shared, total, _ = static_dims(keys, "key")
    grouped = reshape(queries, [batch, shared, count // shared * length, width])
    scores = matmul(grouped, transpose(keys, [0, 1, 3, 2]))
    scores = reshape(
        ops.multiply(scores, node.attr("scale", 0.0) or 1 / math.sqrt(width)), [batch, count, length, total]
    )
    cap = node.attr("softcap", 0.0)
    if cap:
        scores = ops.multiply(ops.tanh(ops.divide(scores, scalar(cap, scores))), scalar(cap, scores))
    if added is not None:
        scores = ops.add(scores, added)
    seen = _seen(begins, length, total, node.attr("local_window_size", -1))
    scores = ops.where(seen, scores, scalar(np.finfo(dtype_of(scores)).min, scores))
    weights = reshape(_weights(node, scores, sink), [batch, shared, count // shared * length, total])
    mixed = reshape(matmul(weights, values), [batch, count, length, static_dims(values, "value")[3]])
    return reshape(transpose(mixed, [0, 2, 1, 3]), [batch, length, -1])


def _seen(begins: RelayExpr, length: int, total: int, window: int) -> RelayExpr:
    """Return which tokens a token sees: itself and those before, as many as a window has: (batch, 1, length, total)."""
    own = ops.add(begins, constant(np.arange(length, dtype=np.int64)[None]))
    behind = ops.subtract(
        reshape(own, [-1, 1, length, 1]), constant(np.arange(total, dtype=np.int64).reshape(1, 1, 1, total))
    )
    seen = ops.greater_equal(behind, constant(np.int64(0)))
    return ops.logical_and(seen, ops.less(behind, constant(np.int64(window)))) if window > 0 else seen


def _weights(node: Node, scores: RelayExpr, sink: RelayExpr | None) -> RelayExpr:
    """Return the softmax of scores; a head may have one more score, which takes its part and counts for nothing."""
    if sink is None and not node.attr("smooth_softmax", 0):
        return ops.nn.softmax(scores, axis=-1)
    batch, count, length, total = static_dims(scores, "scores")
    more = scalar(0, scores) if sink is None else reshape(sink, [1, count, 1, 1])
    more = ops.broadcast_to(more, (batch, count, length, 1))
    weights = ops.nn.softmax(ops.concatenate([scores, more], axis=-1), axis=-1)
    return split(weights, [total, 1], 3)[0]
