"""Reductions, argmax, top-k and segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.classic.frontend.shared import tensorflow_operators as shared
from compiler.classic.frontend.shared.segments import segments, sorted_count
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import Convert, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import dtype_of, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import cast, reshape


def _reduction(reduce: Callable[..., RelayExpr]) -> Convert:
    def convert(node: Node) -> RelayExpr:
        x = node.inputs[0]
        axes = sorted({axis % max(rank_of(x), 1) for axis in node.ints(1, "the axes")})
        return reduce(x, axis=axes, keepdims=bool(node.attr("keep_dims", False))) if axes else x

    return convert


converters({name: _reduction(ops[name.lower()]) for name in ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any")})


def _length(x: RelayExpr, axis: Sequence[int], keepdims: bool) -> RelayExpr:
    return ops.sqrt(ops.sum(ops.multiply(x, x), axis=axis, keepdims=keepdims))


def _half_of_the_squares(node: Node) -> RelayExpr:
    x = node.inputs[0]
    return ops.multiply(ops.sum(ops.multiply(x, x)), scalar(0.5, x))


converters({"EuclideanNorm": _reduction(_length), "L2Loss": _half_of_the_squares})


def _place(find: Callable[..., RelayExpr]) -> Convert:
    def convert(node: Node) -> RelayExpr:
        (axis,) = node.ints(1, "the axis")
        x = node.inputs[0]
        return cast(find(x, axis=[axis % rank_of(x)]), node.attr("output_type", "int64"))

    return convert


converters({"ArgMax": _place(ops.argmax), "ArgMin": _place(ops.argmin)})
converters({"TopKV2": shared.top_k})


def _running(accumulate: Callable[..., RelayExpr]) -> Convert:
    def convert(node: Node) -> RelayExpr:
        x = node.inputs[0]
        (axis,) = (a % rank_of(x) for a in node.ints(1, "the axis"))
        backwards = bool(node.attr("reverse", False))
        x = ops.reverse(x, axis) if backwards else x
        result = accumulate(x, axis=axis, exclusive=bool(node.attr("exclusive", False)))
        return ops.reverse(result, axis) if backwards else result

    return convert


converters({"Cumsum": _running(ops.cumsum), "Cumprod": _running(ops.cumprod)})


def _sorted_segments(reduction: str) -> Convert:
    """Return a converter of sorted segment reductions, where empty segments are 0 except for products."""

    def convert(node: Node) -> RelayExpr:
        x, ids = node.inputs
        count = sorted_count(node.value(1, "the segments"))
        result = segments(x, ids, count, reduction)
        if reduction in ("sum", "prod"):
            return result
        rows = reshape(segments(ops.ones_like(ids), ids, count, "sum"), [count, *(1 for _ in range(rank_of(x) - 1))])
        return ops.where(ops.greater(rows, scalar(0, rows)), result, ops.zeros_like(result))

    return convert


def _segment_mean(node: Node) -> RelayExpr:
    x, ids = node.inputs
    count = sorted_count(node.value(1, "the segments"))
    rows = segments(ops.ones_like(ids), ids, count, "sum")
    rows = reshape(cast(ops.maximum(rows, scalar(1, rows)), dtype_of(x)), [count, *(1 for _ in range(rank_of(x) - 1))])
    return ops.divide(segments(x, ids, count, "sum"), rows)


converters({f"UnsortedSegment{name}": shared.unsorted_segments(name.lower()) for name in ("Sum", "Prod", "Max", "Min")})
converters({f"Segment{name}": _sorted_segments(name.lower()) for name in ("Sum", "Prod", "Max", "Min")})
converters({"SegmentMean": _segment_mean})
