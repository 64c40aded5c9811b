"""Segment reductions as defined by TensorFlow and TensorFlow Lite."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, constant, dtype_of, ops, scalar
from compiler.relay.frontend.shared.tensors import bounded, reshape, slice_axis, static_dims

_MODES = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


def sorted_count(ids: Array) -> int:
    """Return the number of segments of sorted segment ids."""
    return int(ids.max(initial=-1)) + 1


def _neutral(reduction: str, dtype: str) -> int | float:
    """Return the neutral element of a reduction, exactly for 64-bit integers."""
    if reduction in ("sum", "prod"):
        return int(reduction == "prod")
    if dtype.startswith("float"):
        return float(np.finfo(dtype).min if reduction == "max" else np.finfo(dtype).max)
    return int(np.iinfo(dtype).min if reduction == "max" else np.iinfo(dtype).max)


def segments(x: RelayExpr, ids: RelayExpr, count: int, reduction: str) -> RelayExpr:
    """Reduce the rows of each segment.

    ``ids`` has the segment of each row; its shape is a prefix of that of ``x``.  Rows with negative ids are dropped.
    """
    dims, rows = static_dims(x, "the input"), static_dims(ids, "the segments")
    if dims[: len(rows)] != rows:
        raise ConversionError(f"segments of shape {rows} do not fit an input of shape {dims}")
    x, ids = reshape(x, [-1, *dims[len(rows) :]]), reshape(ids, [-1])
    # Rows of negative segments are combined behind the last segment, and cut off with it.
    ids = ops.where(ops.less(ids, scalar(0, ids)), scalar(count, ids), ids)
    bounded(count + 1, *dims[len(rows) :])
    neutral = _neutral(reduction, dtype_of(x))
    start = constant(np.full((count + 1, *dims[len(rows) :]), neutral, dtype_of(x)))
    combined = ops.scatter_nd(start, ops.expand_dims(ids, 0), x, mode=_MODES[reduction])
    return slice_axis(combined, 0, 0, count)
