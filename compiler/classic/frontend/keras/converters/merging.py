"""Merging layers, and arithmetic of functional models."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.registry import Convert, converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import ops, rank_of
from compiler.relay.frontend.shared.tensors import reshape, static_dims, transpose


def _elementwise(compute: Callable[[RelayExpr, RelayExpr], RelayExpr]) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        if len({rank_of(x) for x in layer.inputs}) == 1:
            return reduce(compute, layer.inputs)
        return layer.placed(reduce(compute, [layer.channels_last(x) for x in layer.inputs]))

    return convert


converters(
    {
        "Add": _elementwise(ops.add),
        "Subtract": _elementwise(ops.subtract),
        "Multiply": _elementwise(ops.multiply),
        "Divide": _elementwise(ops.divide),
        "TrueDivide": _elementwise(ops.divide),
        "Maximum": _elementwise(ops.maximum),
        "Minimum": _elementwise(ops.minimum),
    }
)


@converter("Average")
def _average(layer: Layer) -> RelayExpr:
    return ops.divide(reduce(ops.add, layer.inputs), float(len(layer.inputs)))


@converter("Concatenate")
def _concatenate(layer: Layer) -> RelayExpr:
    axis = layer.axis(int(layer.option("axis", -1)), rank_of(layer.x))
    return ops.concatenate(list(layer.inputs), axis) if len(layer.inputs) > 1 else layer.x


@converter("Dot")
def _dot(layer: Layer) -> RelayExpr:
    """Convert ``Dot``: batched contraction along one axis of each tensor."""
    sides, axes = layer.inputs, layer.option("axes")
    first, second = (axes, axes) if isinstance(axes, int) else axes
    rows = []
    for x, axis in zip(sides, (first, second), strict=True):
        rank = rank_of(x)
        if rank not in (2, 3):
            raise ConversionError(f"products of tensors of {rank} dimensions are not supported")
        if layer.option("normalize", False):
            squares = ops.sum(ops.multiply(x, x), axis=[axis % rank], keepdims=True)
            x = ops.multiply(x, ops.rsqrt(ops.maximum(squares, 1e-12)))
        wide = x if rank == 3 else ops.expand_dims(x, 1)
        rows.append(transpose(wide, [0, 2, 1]) if rank == 3 and axis % rank == 1 else wide)
    y = ops.nn.batch_matmul(*rows, transpose_a=False, transpose_b=True)
    batch, m, n = static_dims(y, "the product")
    ranks = [rank_of(x) for x in sides]
    if ranks == [2, 2]:
        return reshape(y, [batch, 1])
    return reshape(y, [batch, *([m] if ranks[0] == 3 else []), *([n] if ranks[1] == 3 else [])])
