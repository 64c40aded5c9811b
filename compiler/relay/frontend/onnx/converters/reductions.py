"""Reductions: sums, extrema, norms, argmax, cumulative sums, softmax."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter, converters
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of
from compiler.relay.frontend.shared.tensors import places_along, static_dims

_EMPTY = {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf, "mean": math.nan}
"""The result of each reduction over no elements."""


def reduce(name: str, x: RelayExpr, axes: Sequence[int], keepdims: bool) -> RelayExpr:
    """Reduce axes; an axis without elements gives the reduction's neutral element."""
    dims = dims_of(x)
    if any(isinstance(dims[a], int) and dims[a] == 0 for a in axes):
        return _of_nothing(name, x, axes, keepdims)
    if dtype_of(x) == "bool":
        return ops.cast(ops[name](ops.cast(x, "int32"), axis=axes, keepdims=keepdims), "bool")
    return ops[name](x, axis=axes, keepdims=keepdims)


def _of_nothing(name: str, x: RelayExpr, axes: Sequence[int], keepdims: bool) -> RelayExpr:
    dtype, fill = dtype_of(x), _EMPTY[name]
    if isinstance(fill, float) and dtype == "bool":
        fill = fill > 0
    elif isinstance(fill, float) and not dtype.startswith("float"):
        limits = np.iinfo(dtype)
        fill = limits.max if fill > 0 else limits.min
    kept = [1 if i in axes else d for i, d in enumerate(static_dims(x, "the input")) if keepdims or i not in axes]
    return constant(np.full(kept, fill, dtype))


def _sum(x: RelayExpr, axes: Sequence[int], keepdims: bool) -> RelayExpr:
    return reduce("sum", x, axes, keepdims)


def _log_sum_exp(x: RelayExpr, axes: Sequence[int], keepdims: bool) -> RelayExpr:
    """Subtract the maximum first, so that exp does not overflow."""
    if any(dims_of(x)[a] == 0 for a in axes):
        return ops.log(_sum(x, axes, keepdims))
    top = reduce("max", x, axes, True)
    top = ops.where(ops.equal(ops.abs(top), math.inf), 0.0, top)
    total = ops.add(ops.log(_sum(ops.exp(ops.subtract(x, top)), axes, True)), top)
    return total if keepdims else ops.squeeze(total, axis=axes)


def _mean(x: RelayExpr, axes: Sequence[int], keepdims: bool) -> RelayExpr:
    if dtype_of(x).startswith("float"):
        return reduce("mean", x, axes, keepdims)
    return ops.divide(_sum(x, axes, keepdims), math.prod(static_dims(x, "the input", axes)))


Elementwise: TypeAlias = Callable[[RelayExpr], RelayExpr]
Reduction: TypeAlias = Callable[[RelayExpr, Sequence[int], bool], RelayExpr]


def _composed(before: Elementwise, after: Elementwise | None = None) -> Reduction:
    """A sum of something of each element, and something of the sum."""

    def apply(x: RelayExpr, axes: Sequence[int], keepdims: bool) -> RelayExpr:
        total = _sum(before(x), axes, keepdims)
        return total if after is None else after(total)

    return apply


def _square(x: RelayExpr) -> RelayExpr:
    return ops.multiply(x, x)


def _root(x: RelayExpr) -> RelayExpr:
    dtype = dtype_of(x)
    return ops.sqrt(x) if dtype.startswith("float") else ops.cast(ops.sqrt(ops.cast(x, "float64")), dtype)


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": _sum,
    "ReduceProd": lambda x, axes, keepdims: reduce("prod", x, axes, keepdims),
    "ReduceMax": lambda x, axes, keepdims: reduce("max", x, axes, keepdims),
    "ReduceMin": lambda x, axes, keepdims: reduce("min", x, axes, keepdims),
    "ReduceMean": _mean,
    "ReduceL1": _composed(lambda x: ops.abs(x)),
    "ReduceL2": _composed(_square, _root),
    "ReduceSumSquare": _composed(_square),
    "ReduceLogSum": _composed(lambda x: x, lambda total: ops.log(total)),
    "ReduceLogSumExp": _log_sum_exp,
}


def _reduction(apply: Reduction, node: Node) -> RelayExpr:
    x = node.inputs[0]
    axes = node.ints_or_attr(1, "axes")
    if not axes and node.attr("noop_with_empty_axes", 0):
        return _without_axes(node.operator, x)
    rank = rank_of(x)
    axes = sorted({a % rank for a in axes}) if axes else list(range(rank))
    if not axes:
        return _without_axes(node.operator, x)
    return apply(x, tuple(axes), bool(node.attr("keepdims", 1)))


_OF_ONE: dict[str, Elementwise] = {
    "ReduceL1": lambda x: ops.abs(x),
    "ReduceL2": lambda x: ops.abs(x),
    "ReduceSumSquare": _square,
    "ReduceLogSum": lambda x: ops.log(x),
}


def _without_axes(operator: str, x: RelayExpr) -> RelayExpr:
    """Every element is reduced alone."""
    alone = _OF_ONE.get(operator)
    return x if alone is None else alone(x)


converters({name: partial(_reduction, apply) for name, apply in _REDUCTIONS.items()})


@converter("ArgMax", "ArgMin")
def _arg_extreme(node: Node) -> RelayExpr:
    x, axis = node.inputs[0], node.attr("axis", 0)
    find = ops.argmax if node.operator == "ArgMax" else ops.argmin
    last = bool(node.attr("select_last_index", 0))
    return ops.cast(find(x, axis, keepdims=bool(node.attr("keepdims", 1)), select_last_index=last), "int64")


@converter("TopK")
def _top_k(node: Node) -> list[RelayExpr]:
    x = node.inputs[0]
    k = node.attributes["k"] if "k" in node.attributes else _top_count(node)
    smallest = not node.attr("largest", 1)
    return ops.topk(x, k, axis=node.attr("axis", -1), ret_type="both", is_ascend=smallest, dtype="int64")


def _top_count(node: Node) -> RelayExpr | int:
    value = known(node.inputs[1])
    return ops.reshape(node.inputs[1], ()) if value is None else int(value.reshape(-1)[0])


@converter("CumSum", "CumProd")
def _cumulative(node: Node) -> RelayExpr:
    x = node.inputs[0]
    axis = (node.ints(1, "axis") or [0])[0]
    run = ops.cumsum if node.operator == "CumSum" else ops.cumprod
    backwards = node.attr("reverse", 0)
    if backwards:
        x = ops.reverse(x, axis)
    sums = run(x, axis=axis, exclusive=bool(node.attr("exclusive", 0)))
    return ops.reverse(sums, axis) if backwards else sums


@converter("Hardmax")
def _hardmax(node: Node) -> RelayExpr:
    x = node.inputs[0]
    axis = node.attr("axis", -1 if node.opset >= 13 else 1)
    if node.opset < 13:
        rows = ops.reshape(x, rows_and_columns(x, axis))
        return ops.reshape(_hardest(rows, -1), static_dims(x, "the input"))
    return _hardest(x, axis)


def _hardest(x: RelayExpr, axis: int) -> RelayExpr:
    where = ops.cast(ops.argmax(x, axis, keepdims=True), "int64")
    return ops.cast(ops.equal(where, places_along(x, axis, rank_of(x))), dtype_of(x))


def rows_and_columns(x: RelayExpr, axis: int) -> list[int]:
    """Return the shape of a matrix: axes before ``axis`` are its rows, the others its columns."""
    dims = static_dims(x, "the input")
    axis += len(dims) if axis < 0 else 0
    return [math.prod(dims[:axis]), math.prod(dims[axis:])]


@converter("Softmax", "LogSoftmax", since=13)
def _softmax(node: Node) -> RelayExpr:
    apply = ops.nn.softmax if node.operator == "Softmax" else ops.nn.log_softmax
    return apply(node.inputs[0], axis=node.attr("axis", -1))


@converter("Softmax", "LogSoftmax")
def _softmax_of_rows(node: Node) -> RelayExpr:
    """Before operator set 13 the axes from ``axis`` on are one."""
    x, axis = node.inputs[0], node.attr("axis", 1)
    apply = ops.nn.softmax if node.operator == "Softmax" else ops.nn.log_softmax
    if axis in (-1, rank_of(x) - 1):
        return apply(x, axis=-1)
    rows = apply(ops.reshape(x, rows_and_columns(x, axis)), axis=-1)
    return ops.reshape(rows, static_dims(x, "the input"))
