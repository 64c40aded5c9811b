"""Non-maximum suppression as defined by TensorFlow and TensorFlow Lite."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, pad, reshape, slice_axis, static_dims


def non_max_suppression(
    boxes: RelayExpr, scores: RelayExpr, limit: RelayExpr, overlap: RelayExpr, least: RelayExpr
) -> tuple[RelayExpr, RelayExpr]:
    """Return the indices of the selected boxes, the best first, padded with zeros, and their number.

    Boxes are two opposite corners each, ``(N, 4)``; limits are their number, the IoU and the score.
    """
    rows, count = ops.vision.all_class_non_max_suppression(
        ops.expand_dims(boxes, 0),
        reshape(scores, [1, 1, *static_dims(scores, "the scores")]),
        cast(reshape(limit, []), "int64"),
        cast(reshape(overlap, []), "float32"),
        cast(reshape(least, []), "float32"),
    )
    return cast(reshape(slice_axis(rows, 1, 2, 3), [-1]), "int32"), cast(reshape(count, []), "int32")


def pad_boxes(chosen: RelayExpr, count: RelayExpr, scores: RelayExpr, most: int) -> tuple[RelayExpr, RelayExpr]:
    """Return a fixed number of box indices and scores, padded with zeros."""
    own = static_dims(chosen, "the boxes")[0]
    bounded(most)
    chosen = pad(slice_axis(chosen, 0, 0, min(own, most)), [(0, max(most - own, 0))])
    is_chosen = ops.less(constant(np.arange(most), "int32"), count)
    chosen = ops.where(is_chosen, chosen, scalar(0, chosen))
    values = ops.where(is_chosen, ops.take(scores, chosen, axis=0), constant(0, dtype_of(scores)))
    return chosen, values
