"""The best of boxes that overlap, as TensorFlow and TensorFlow Lite choose them."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, pad, reshape, slice_axis, static_dims

__all__ = ["best_boxes", "filled_up"]


def best_boxes(
    boxes: RelayExpr, scores: RelayExpr, limit: RelayExpr, overlap: RelayExpr, least: RelayExpr
) -> tuple[Any, Any]:
    """Return the numbers of the chosen boxes, the best first and zeros after them, and how many are chosen.

    Parameters
    ----------
    boxes : Expr
        Two opposite corners of each, ``(N, 4)``.
    scores : Expr
        ``(N,)``.
    limit, overlap, least : Expr
        How many are chosen at most, which share of their union two of them may have in common, and what their scores
        exceed.
    """
    rows, count = ops.vision.all_class_non_max_suppression(
        ops.expand_dims(boxes, 0),
        reshape(scores, [1, 1, *static_dims(scores, "the scores")]),
        cast(reshape(limit, []), "int64"),
        cast(reshape(overlap, []), "float32"),
        cast(reshape(least, []), "float32"),
    )
    return cast(reshape(slice_axis(rows, 1, 2, 3), [-1]), "int32"), cast(reshape(count, []), "int32")


def filled_up(chosen: RelayExpr, count: RelayExpr, scores: RelayExpr, most: int) -> tuple[Any, Any]:
    """Return as many numbers of boxes as asked for, and their scores: zeros where fewer are chosen.

    Parameters
    ----------
    chosen, count : Expr
        As in :func:`best_boxes`.
    scores : Expr
    most : int
    """
    own = static_dims(chosen, "the boxes")[0]
    bounded(most)
    chosen = pad(slice_axis(chosen, 0, 0, min(own, most)), [(0, max(most - own, 0))])
    is_chosen = ops.less(constant(np.arange(most), "int32"), count)
    chosen = ops.where(is_chosen, chosen, scalar(0, chosen))
    values = ops.where(is_chosen, ops.take(scores, chosen, axis=0), constant(0, dtype_of(scores)))
    return chosen, values
