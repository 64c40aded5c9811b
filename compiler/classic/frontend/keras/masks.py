"""Boolean masks of time steps and attention scores."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast


def as_mask(mask: object) -> RelayExpr | None:
    """Convert a mask to an expression, unless it is None."""
    if mask is None or isinstance(mask, RelayExpr):
        return mask if mask is None else cast(mask, "bool")
    return constant(np.asarray(mask, bool))


def all_of(*masks: RelayExpr | None) -> RelayExpr | None:
    """Return the conjunction of masks; None if there are none."""
    together = None
    for mask in masks:
        if mask is not None:
            together = mask if together is None else ops.logical_and(together, mask)
    return together


def causal(queries: int, keys: int) -> RelayExpr:
    """Return a causal mask of shape (1, queries, keys)."""
    bounded(queries, keys)
    return constant(np.tri(queries, keys, dtype=bool)[None])


def masked(scores: RelayExpr, mask: RelayExpr | None) -> RelayExpr:
    """Subtract a penalty from masked scores."""
    if mask is None:
        return scores
    penalty = 65504.0 if dtype_of(scores) == "float16" else 1e9
    return ops.subtract(scores, ops.multiply(cast(ops.logical_not(mask), dtype_of(scores)), penalty))


def lowered(scores: RelayExpr, mask: RelayExpr | None) -> RelayExpr:
    """Replace masked scores by the lowest value of their data type.

    If all scores are masked, a softmax then weights them equally, as in Keras's fused attention.
    """
    if mask is None:
        return scores
    return ops.where(mask, scores, scalar(float(np.finfo(dtype_of(scores)).min) * 0.5, scores))
