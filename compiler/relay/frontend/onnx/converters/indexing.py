"""Gather and scatter operators."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.partial import partial_of, remember
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, cast, expand, static_dims, unsqueeze


def take(x: RelayExpr, indices: RelayExpr, axis: int) -> RelayExpr:
    """Take slices by indices, of which negative ones count from the end."""
    value, extent = known(indices), dims_of(x)[axis]
    if value is None or not isinstance(extent, int):
        return ops.take(x, indices, axis=axis, mode="clip" if value is not None and (value >= 0).all() else "wrap")
    if value.size and not -extent <= value.min() <= value.max() < extent:
        raise ConversionError(f"indices must be from {-extent} to {extent - 1}, got {value.min()} to {value.max()}")
    return ops.take(x, constant(np.where(value < 0, value + extent, value)), axis=axis)


@converter("Gather")
def _gather(node: Node) -> RelayExpr:
    x, indices = node.inputs
    axis = node.attr("axis", 0) % rank_of(x)
    values, places = partial_of(x), known(indices)
    if values is not None and places is not None and rank_of(x) == 1:
        picked = [values[int(i)] for i in places.reshape(-1)]
        if all(isinstance(v, int) for v in picked):
            return constant(np.array(picked, dtype_of(x)).reshape(places.shape))
        return remember(take(x, indices, axis), picked)
    return take(x, indices, axis)


@converter("GatherElements")
def _gather_elements(node: Node) -> RelayExpr:
    x, indices = node.inputs
    axis = node.attr("axis", 0) % rank_of(x)
    return ops.gather(x, axis, indices)


def _tuples_first(indices: RelayExpr) -> RelayExpr:
    rank = rank_of(indices)
    return ops.transpose(indices, axes=[rank - 1, *range(rank - 1)]) if rank > 1 else indices


@converter("GatherND")
def _gather_nd(node: Node) -> RelayExpr:
    x, indices = node.inputs
    batch = node.attr("batch_dims", 0)
    return ops.gather_nd(x, _tuples_first(indices), batch_dims=batch)


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _reduction(node: Node) -> str:
    name = node.attr("reduction", "none")
    if name not in _REDUCTIONS:
        raise ConversionError(f"reduction {name!r} is unknown; expected one of {', '.join(_REDUCTIONS)}")
    return _REDUCTIONS[name]


@converter("ScatterElements", "Scatter")
def _scatter_elements(node: Node) -> RelayExpr:
    x, indices, updates = node.inputs
    axis = node.attr("axis", 0) % rank_of(x)
    return ops.scatter_elements(x, indices, updates, axis=axis, reduction=_reduction(node))


@converter("ScatterND")
def _scatter_nd(node: Node) -> RelayExpr:
    x, indices, updates = node.inputs
    return ops.scatter_nd(x, _tuples_first(indices), updates, mode=_reduction(node))


@converter("TensorScatter")
def _tensor_scatter(node: Node) -> RelayExpr:
    """Convert ``TensorScatter``: write updates into a cache, at a position for each batch."""
    (cache, update), at = node.inputs[:2], node.input(2)
    dims, lengths = static_dims(cache, "the cache"), static_dims(update, "the update")
    axis = node.attr("axis", -2) % len(dims)
    steps = constant(np.arange(lengths[axis]))
    start = constant(np.zeros(dims[0], np.int64)) if at is None else at
    places = ops.add(unsqueeze(start, [1]), unsqueeze(steps, [0]))
    if node.attr("mode", "linear") == "circular":
        places = ops.floor_mod(places, dims[axis])
    shape = [1] * len(dims)
    shape[0], shape[axis] = lengths[0], lengths[axis]
    spread = expand(ops.reshape(places, shape), list(lengths))
    return ops.scatter_elements(cache, spread, update, axis=axis, reduction="update")


@converter("OneHot")
def _one_hot(node: Node) -> RelayExpr:
    indices, values = node.inputs[0], node.inputs[2]
    rank = rank_of(indices) + 1
    axis = node.attr("axis", -1) % rank
    if not dtype_of(indices).startswith("int"):
        indices = cast(indices, "int64")
    off, on = (ops.take(values, constant(np.int64(i)), axis=0) for i in (0, 1))
    if known(node.inputs[1]) is None:
        many = ops.reshape(cast(node.inputs[1], dtype_of(indices)), ())
        counted = ops.where(ops.less(indices, 0), ops.add(indices, many), indices)
        return ops.one_hot(counted, on, off, many, axis, dtype_of(values))
    depth = (node.ints(1, "depth") or [0])[0]
    counted = ops.where(ops.less(indices, 0), ops.add(indices, depth), indices)
    bounded(depth)
    places = np.arange(depth).astype(dtype_of(indices)).reshape([-1 if d == axis else 1 for d in range(rank)])
    hot = ops.equal(unsqueeze(counted, [axis]), constant(places))
    return ops.where(hot, on, off)


@converter("ReverseSequence")
def _reverse_sequence(node: Node) -> RelayExpr:
    x, lengths = node.inputs
    time, batch = node.attr("time_axis", 0), node.attr("batch_axis", 1)
    return ops.reverse_sequence(x, lengths, seq_axis=time, batch_axis=batch)


@converter("NonZero")
def _non_zero(node: Node) -> RelayExpr:
    x = node.inputs[0] if rank_of(node.inputs[0]) else ops.reshape(node.inputs[0], (1,))
    return ops.cast(ops.transpose(ops.argwhere(x), axes=[1, 0]), "int64")


@converter("Compress")
def _compress(node: Node) -> RelayExpr:
    x, condition = node.inputs
    places = ops.reshape(ops.argwhere(condition), (-1,))
    if "axis" not in node.attributes:
        return ops.take(ops.reshape(x, (-1,)), places, axis=0)
    return ops.take(x, places, axis=node.attributes["axis"])


@converter("Unique")
def _unique(node: Node) -> list[RelayExpr]:
    x, axis = known(node.inputs[0]), node.attributes.get("axis")
    if x is None:
        return _unique_while_running(node)
    values, first, back, counts = np.unique(x, True, True, True, axis=axis)
    back = back.reshape(-1)
    if not node.attr("sorted", 1):
        order = np.argsort(first)
        values = np.take(values, order, axis=axis or 0)
        rank = np.argsort(order)
        first, back, counts = first[order], rank[back], counts[order]
    return [constant(values), *(constant(v.astype(np.int64)) for v in (first, back, counts))]


def _unique_while_running(node: Node) -> list[RelayExpr]:
    if "axis" in node.attributes and rank_of(node.inputs[0]) > 1:
        raise ConversionError("unique slices along an axis must be known while importing, but are computed from inputs")
    flat = ops.reshape(node.inputs[0], (-1,))
    values, first, back, count, counts = ops.unique(flat, bool(node.attr("sorted", 1)), return_counts=True)
    zero = constant(np.zeros(1, np.int64))
    end = ops.cast(ops.reshape(count, (1,)), "int64")
    parts = [ops.strided_slice(v, zero, end, constant(np.ones(1, np.int64))) for v in (values, first, counts)]
    return [parts[0], *(ops.cast(v, "int64") for v in (parts[1], back, parts[2]))]
