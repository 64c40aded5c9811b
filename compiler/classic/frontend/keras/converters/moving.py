"""Shape, indexing and contraction functions of ``keras.ops``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from compiler.classic.frontend.keras.converters.arithmetic import operands
from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.registry import Convert, functions
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.einsum import explicit_equation
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, constant, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import (
    cast,
    expand,
    pad,
    reshape,
    slice_axis,
    split,
    static_dims,
    transpose,
    unsqueeze,
)


def _of_tensor(compute: Callable[[Layer, RelayExpr], RelayExpr]) -> Convert:
    """Return the converter of a function of one tensor, in Keras's axis order."""

    def convert(layer: Layer) -> list[RelayExpr] | RelayExpr:
        result = compute(layer, layer.channels_last(layer.x))
        return [layer.placed(r) for r in result] if isinstance(result, list) else layer.placed(result)

    return convert


def _numbers(value: int | Sequence[int]) -> list[int]:
    return [int(v) for v in ([value] if isinstance(value, (int, np.integer)) else value)]


def _transpose(layer: Layer, x: RelayExpr) -> RelayExpr:
    rank = rank_of(x)
    axes = layer.option("axes")
    return transpose(x, list(reversed(range(rank))) if axes is None else [a % rank for a in _numbers(axes)])


def _swapaxes(layer: Layer, x: RelayExpr) -> RelayExpr:
    order = list(range(rank_of(x)))
    a, b = int(layer.option("axis1")), int(layer.option("axis2"))
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def _moveaxis(layer: Layer, x: RelayExpr) -> RelayExpr:
    source, target = _numbers(layer.option("source")), _numbers(layer.option("destination"))
    rank = rank_of(x)
    order = [i for i in range(rank) if i not in {s % rank for s in source}]
    for place, axis in sorted(zip((t % rank for t in target), (s % rank for s in source), strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


def _expand_dims(layer: Layer, x: RelayExpr) -> RelayExpr:
    return unsqueeze(x, _numbers(layer.option("axis")))


def _squeeze(layer: Layer, x: RelayExpr) -> RelayExpr:
    axis = layer.option("axis")
    return ops.squeeze(x, axis=None if axis is None else _numbers(axis))


def _getitem(layer: Layer, x: RelayExpr) -> RelayExpr:
    """Convert subscripts: integers, slices, ellipses and new axes."""
    key = layer.argument(1, "key")
    parts = list(key) if isinstance(key, tuple) else [key]
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    if Ellipsis not in parts:
        parts.append(Ellipsis)
    at = parts.index(Ellipsis)
    parts[at : at + 1] = [slice(None)] * (rank_of(x) - taken)
    axis = 0
    for part in parts:
        if part is None:
            x, axis = ops.expand_dims(x, axis), axis + 1
            continue
        extent = static_dims(x, "the input")[axis]
        if isinstance(part, (int, np.integer)):
            index = int(part) + extent if part < 0 else int(part)
            x = ops.squeeze(slice_axis(x, axis, index, index + 1), axis=[axis])
            continue
        if not isinstance(part, slice):
            raise ConversionError(f"parts are taken by numbers and slices, got {part!r}")
        begin, end, step = part.indices(extent)
        x = slice_axis(x, axis, begin, end if step > 0 or end >= 0 else -extent - 1, step)
        axis += 1
    return x


def _split(layer: Layer, x: RelayExpr) -> list[RelayExpr]:
    axis, given = int(layer.option("axis", 0)) % rank_of(x), layer.option("indices_or_sections")
    extent = static_dims(x, "the input")[axis]
    if isinstance(given, int):
        return split(x, [extent // given] * given, axis)
    bounds = [0, *_numbers(given), extent]
    return split(x, [b - a for a, b in itertools.pairwise(bounds)], axis)


def _unstack(layer: Layer, x: RelayExpr) -> list[RelayExpr]:
    axis = int(layer.option("axis", 0)) % rank_of(x)
    extent = static_dims(x, "the input")[axis]
    return [ops.squeeze(part, axis=[axis]) for part in split(x, [1] * extent, axis)]


def _pad(layer: Layer, x: RelayExpr) -> RelayExpr:
    widths = np.broadcast_to(np.asarray(layer.option("pad_width"), int), (rank_of(x), 2)).tolist()
    mode, fill = layer.option("mode", "constant"), layer.argument(1, "constant_values")
    if mode == "symmetric":
        raise ConversionError("mode 'symmetric' is not supported")
    return pad(x, widths, mode, fill)


def _repeat(layer: Layer, x: RelayExpr) -> RelayExpr:
    axis, times = layer.option("axis"), layer.option("repeats")
    if not isinstance(times, int):
        raise ConversionError(f"repeats must be one number, got {times!r}")
    return ops.repeat(reshape(x, [-1]) if axis is None else x, times, axis=0 if axis is None else int(axis))


def _tile(layer: Layer, x: RelayExpr) -> RelayExpr:
    return ops.tile(x, _numbers(layer.option("repeats")))


def _take(layer: Layer, x: RelayExpr) -> RelayExpr:
    axis, indices = layer.option("axis"), layer.argument(1, "indices")
    x, axis = (reshape(x, [-1]), 0) if axis is None else (x, int(axis) % rank_of(x))
    extent = static_dims(x, "the input")[axis]
    if not isinstance(indices, RelayExpr):
        return ops.take(x, constant(np.asarray(indices, "int64") % extent), axis=axis)
    places = cast(layer.channels_last(indices), "int32")
    return ops.take(x, ops.where(ops.less(places, 0), ops.add(places, extent), places), axis=axis)


def _roll(layer: Layer, x: RelayExpr) -> RelayExpr:
    axis, dims = layer.option("axis"), static_dims(x, "the input")
    flat = axis is None
    y = reshape(x, [-1]) if flat else x
    axes, shifts = ([0] if flat else _numbers(axis)), _numbers(layer.option("shift"))
    for place, shift in zip(axes, shifts, strict=True):
        extent = static_dims(y, "the input")[place]
        y = ops.take(y, constant((np.arange(extent) - shift) % extent), axis=place % rank_of(y))
    return reshape(y, dims)


def _flip(layer: Layer, x: RelayExpr) -> RelayExpr:
    axis = layer.option("axis")
    for place in range(rank_of(x)) if axis is None else _numbers(axis):
        x = ops.reverse(x, place % rank_of(x))
    return x


def _topk(layer: Layer, x: RelayExpr) -> list[RelayExpr]:
    return list(ops.topk(x, k=int(layer.option("k")), axis=-1, ret_type="both", dtype="int32"))


def _sorted(layer: Layer, x: RelayExpr) -> RelayExpr:
    return ops.sort(x, axis=int(layer.option("axis", -1)))


def _argsorted(layer: Layer, x: RelayExpr) -> RelayExpr:
    return cast(ops.argsort(x, axis=int(layer.option("axis", -1))), "int32")


def _one_hot(layer: Layer, x: RelayExpr) -> RelayExpr:
    rank, axis = rank_of(x), int(layer.option("axis", -1))
    dtype = str(layer.option("dtype", "float32"))
    x, count = cast(x, "int32"), int(layer.option("num_classes"))
    on, off = constant(np.ones((), dtype)), constant(np.zeros((), dtype))
    return ops.one_hot(x, on, off, count, axis if axis >= 0 else axis + rank + 1, dtype)


def _normalize(layer: Layer, x: RelayExpr) -> RelayExpr:
    if int(layer.option("order", 2)) != 2:
        raise ConversionError(f"norms of order {layer.option('order')} are not supported, 2 is")
    squares = ops.sum(ops.multiply(x, x), axis=_numbers(layer.option("axis", -1)), keepdims=True)
    return ops.multiply(x, ops.rsqrt(ops.maximum(squares, scalar(float(layer.option("epsilon", 1e-12)), x))))


def _triangle(keep: Callable[..., Array]) -> Callable[[Layer, RelayExpr], RelayExpr]:
    def compute(layer: Layer, x: RelayExpr) -> RelayExpr:
        rows, columns = static_dims(x, "the input")[-2:]
        mask = keep(np.ones((rows, columns), bool), int(layer.option("k", 0)))
        return ops.where(constant(mask), x, ops.zeros_like(x))

    return compute


def _clip(layer: Layer, x: RelayExpr) -> RelayExpr:
    low, high = layer.option("x_min"), layer.option("x_max")
    return ops.minimum(ops.maximum(x, scalar(low, x)), scalar(high, x))


functions(
    {
        name: _of_tensor(compute)
        for name, compute in {
            "Transpose": _transpose, "Swapaxes": _swapaxes, "Moveaxis": _moveaxis, "ExpandDims": _expand_dims,
            "Squeeze": _squeeze, "GetItem": _getitem, "Split": _split, "Unstack": _unstack, "Pad": _pad,
            "Repeat": _repeat, "Tile": _tile, "Take": _take, "Roll": _roll, "Flip": _flip, "TopK": _topk,
            "Sort": _sorted, "Argsort": _argsorted, "OneHot": _one_hot, "Normalize": _normalize,
            "Tril": _triangle(np.tril), "Triu": _triangle(np.triu), "Clip": _clip,
            "Reshape": lambda layer, x: reshape(x, _numbers(layer.option("newshape"))),
            "Ravel": lambda layer, x: reshape(x, [-1]),
            "BroadcastTo": lambda layer, x: expand(x, _numbers(layer.option("shape"))),
            "Cast": lambda layer, x: cast(x, str(layer.option("dtype"))),
            "Identity": lambda layer, x: x, "StopGradient": lambda layer, x: x,
        }.items()
    }
)  # fmt: skip


def _joined(layer: Layer) -> list[RelayExpr]:
    return operands(layer, layer.inputs)


def _concatenate(layer: Layer) -> RelayExpr:
    axis = layer.option("axis", 0)
    parts = _joined(layer)
    return layer.placed(ops.concatenate(parts, int(axis) % rank_of(parts[0])))


def _stack(layer: Layer) -> RelayExpr:
    parts = _joined(layer)
    return layer.placed(ops.stack(parts, axis=int(layer.option("axis", 0)) % (rank_of(parts[0]) + 1)))


def _where(layer: Layer) -> RelayExpr:
    if len(layer.positional) < 3:
        raise ConversionError("the places of true elements are not supported")
    chosen = operands(layer, layer.positional[1:3])
    return layer.placed(ops.where(cast(layer.channels_last(layer.positional[0]), "bool"), *chosen))


def _select(layer: Layer) -> RelayExpr:
    conditions, choices = layer.positional[:2]
    *values, result = operands(layer, [*choices, layer.argument(2, "default", 0)])
    for condition, value in reversed(list(zip(conditions, values, strict=True))):
        result = ops.where(cast(layer.channels_last(condition), "bool"), value, result)
    return layer.placed(result)


def _matmul(layer: Layer) -> RelayExpr:
    a, b = operands(layer)
    return layer.placed(_product(a, b))


def _product(a: RelayExpr, b: RelayExpr) -> RelayExpr:
    ranks = rank_of(a), rank_of(b)
    letters = "ABCDEFGH"
    left = letters[8 - max(ranks[0] - 2, 0) :] + ("ij" if ranks[0] > 1 else "j")
    right = letters[8 - max(ranks[1] - 2, 0) :] + ("jk" if ranks[1] > 1 else "j")
    batch = max(left[:-2], right[:-2], key=len) if max(ranks) > 2 else ""
    result = batch + ("i" if ranks[0] > 1 else "") + ("k" if ranks[1] > 1 else "")
    return ops.einsum([a, b], f"{left},{right}->{result}")


def _dot(layer: Layer) -> RelayExpr:
    """Convert ``dot``: contract the last axis with the second to last of the other tensor."""
    a, b = operands(layer)
    if rank_of(b) > 2:
        raise ConversionError(f"products with tensors of {rank_of(b)} dimensions are not supported, matrices are")
    free = "abcdefgh"[: rank_of(a) - 1]
    return layer.placed(
        ops.einsum([a, b], f"{free}j,{'jk' if rank_of(b) == 2 else 'j'}->{free}{'k' * (rank_of(b) - 1)}")
    )


def _einsum(layer: Layer) -> RelayExpr:
    terms = _joined(layer)
    equation = explicit_equation(str(layer.option("subscripts")), [rank_of(t) for t in terms])
    return layer.placed(ops.einsum(terms, equation))


functions(
    {
        "Concatenate": _concatenate,
        "Stack": _stack,
        "Where": _where,
        "Select": _select,
        "Matmul": _matmul,
        "Dot": _dot,
        "Einsum": _einsum,
    }
)
