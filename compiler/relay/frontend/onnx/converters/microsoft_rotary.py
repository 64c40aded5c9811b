"""Rotary embeddings of ONNX Runtime."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.microsoft import microsoft, with_rank
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import reshape, static_dims, transpose


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
