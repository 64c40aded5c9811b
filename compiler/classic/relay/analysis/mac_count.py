"""Counts the multiply-accumulates of convolutions and matrix products."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compiler.ir.error import ArgumentError
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.operator import op_name
from compiler.relay.ty import TensorType
from compiler.tir.layout.data_layout import layout


def get_total_mac_number(expr: GraphExpr) -> int:
    """Return how many multiply-accumulate operations an expression does.

    Those of ``nn.conv2d``, ``nn.conv2d_transpose``, ``nn.dense`` and ``nn.batch_matmul`` count, as in TVM; padding is
    multiplied like data. Raises ArgumentError if a call that counts has no inferred type, or an extent that is not
    known.
    """
    calls = [part for part in post_order(expr) if isinstance(part, Call)]
    return sum(_COUNTS[op_name(call)](call) for call in calls if op_name(call) in _COUNTS)


def _shape(expr: GraphExpr) -> tuple[int, ...]:
    t = expr.checked_type_
    if not isinstance(t, TensorType):
        raise ArgumentError("get_total_mac_number: the expression has no inferred types; run InferType first")
    return t.concrete_shape


def _convolution(call: Call) -> int:
    """Each element of the result takes the weights of one output channel."""
    result = _shape(call)
    channels = layout(call.attrs["out_layout"] or call.attrs["data_layout"]).extents(result)["C"]
    return math.prod(result) * math.prod(_shape(call.args[1])) // _number(channels)


def _number(extent: object) -> int:
    if not isinstance(extent, int):
        raise ArgumentError(f"get_total_mac_number: the number of channels must be static, got {extent}")
    return extent


def _dense(call: Call) -> int:
    return math.prod(_shape(call.args[0])) * _shape(call)[-1]


def _batch_matmul(call: Call) -> int:
    first: Sequence[int] = _shape(call.args[0])
    depth = first[1] if getattr(call.attrs, "transpose_a", False) else first[2]
    return math.prod(_shape(call)) * depth


_COUNTS: dict[str, Callable[[Call], int]] = {
    "nn.batch_matmul": _batch_matmul,
    "nn.contrib_conv2d_NCHWc": _convolution,
    "nn.conv2d": _convolution,
    "nn.conv2d_transpose": _convolution,
    "nn.dense": _dense,
}
