"""StableHLO operators."""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np
import tflite

from compiler.classic.frontend.shared.index_operators import update_slice
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import Convert, converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, known, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, expand, pad, reshape, static_dims, transpose


def _on_inputs(compute: Callable[..., RelayExpr]) -> Convert:
    return lambda node: compute(*node.inputs)


def _is_real(x: RelayExpr) -> bool:
    return dtype_of(x).startswith("float")


def _divided(a: RelayExpr, b: RelayExpr) -> RelayExpr:
    return ops.divide(a, b) if _is_real(a) else ops.trunc_divide(a, b)


def _joined(on_truth: Callable[..., RelayExpr], on_bits: Callable[..., RelayExpr]) -> Callable[..., RelayExpr]:
    return lambda a, b: (on_truth if dtype_of(a) == "bool" else on_bits)(a, b)


def _cube_root(x: RelayExpr) -> RelayExpr:
    return ops.multiply(ops.sign(x), ops.power(ops.abs(x), scalar(1 / 3, x)))


def _clamped(low: RelayExpr, x: RelayExpr, high: RelayExpr) -> RelayExpr:
    return ops.minimum(ops.maximum(x, low), high)


_ARITHMETIC: dict[str, Callable[..., RelayExpr]] = {
    "ABS": ops.abs,
    "ADD": _joined(ops.logical_or, ops.add),
    "AND": _joined(ops.logical_and, ops.bitwise_and),
    "CBRT": _cube_root,
    "CLAMP": _clamped,
    "COSINE": ops.cos,
    "DIVIDE": _divided,
    "EXPONENTIAL": ops.exp,
    "FLOOR": ops.floor,
    "LOG": ops.log,
    "LOGISTIC": ops.sigmoid,
    "MAXIMUM": _joined(ops.logical_or, ops.maximum),
    "MINIMUM": _joined(ops.logical_and, ops.minimum),
    "MULTIPLY": _joined(ops.logical_and, ops.multiply),
    "NEGATE": ops.negative,
    "OR": _joined(ops.logical_or, ops.bitwise_or),
    "POWER": ops.power,
    "REMAINDER": ops.trunc_mod,
    "RSQRT": ops.rsqrt,
    "SELECT": ops.where,
    "SHIFT_LEFT": ops.left_shift,
    "SUBTRACT": ops.subtract,
    "TANH": ops.tanh,
}

converters({f"STABLEHLO_{name}": _on_inputs(compute) for name, compute in _ARITHMETIC.items()})

_DIRECTIONS = {
    tflite.StablehloComparisonDirection.STABLEHLO_COMPARISON_DIRECTION_EQ: ops.equal,
    tflite.StablehloComparisonDirection.STABLEHLO_COMPARISON_DIRECTION_NE: ops.not_equal,
    tflite.StablehloComparisonDirection.STABLEHLO_COMPARISON_DIRECTION_GE: ops.greater_equal,
    tflite.StablehloComparisonDirection.STABLEHLO_COMPARISON_DIRECTION_GT: ops.greater,
    tflite.StablehloComparisonDirection.STABLEHLO_COMPARISON_DIRECTION_LE: ops.less_equal,
    tflite.StablehloComparisonDirection.STABLEHLO_COMPARISON_DIRECTION_LT: ops.less,
}


def _numbers(node: Node, name: str) -> list[int]:
    """Return the numbers of an option that is a vector."""
    options = node.operation.options
    if options is None:
        raise ConversionError(f"its options are missing: {name} must be given")
    return [int(getattr(options, name)(i)) for i in range(getattr(options, f"{name}Length")())]


@converter("STABLEHLO_COMPARE")
def _compare(node: Node) -> RelayExpr:
    direction = int(node.option("ComparisonDirection"))
    if direction not in _DIRECTIONS:
        raise ConversionError(f"comparison {direction} is unknown")
    return _DIRECTIONS[direction](*node.inputs)


@converter("STABLEHLO_CONVERT")
def _convert(node: Node) -> RelayExpr:
    return cast(node.inputs[0], node.outputs[0].dtype)


@converter("STABLEHLO_RESHAPE", moves=True)
def _reshape(node: Node) -> RelayExpr:
    return reshape(node.inputs[0], node.outputs[0].shape)


@converter("STABLEHLO_TRANSPOSE", moves=True)
def _transpose(node: Node) -> RelayExpr:
    return transpose(node.inputs[0], _numbers(node, "Permutation"))


@converter("STABLEHLO_CONCATENATE", moves=True)
def _concatenate(node: Node) -> RelayExpr:
    return ops.concatenate(list(node.inputs), int(node.option("Dimension")))


@converter("STABLEHLO_BROADCAST_IN_DIM", moves=True)
def _broadcast_in_dim(node: Node) -> RelayExpr:
    """Convert ``BROADCAST_IN_DIM``, whose options map input axes to result axes."""
    x, shape, axes = node.inputs[0], node.outputs[0].shape, _numbers(node, "BroadcastDimensions")
    bounded(*shape)
    aligned = [1] * len(shape)
    for extent, axis in zip(static_dims(x, "the input"), axes, strict=True):
        aligned[axis] = extent
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return expand(reshape(transpose(x, order), aligned), shape)


@converter("STABLEHLO_SLICE", moves=True)
def _slice(node: Node) -> RelayExpr:
    begin, end, strides = (_numbers(node, name) for name in ("StartIndices", "LimitIndices", "Strides"))
    return ops.strided_slice(node.inputs[0], begin, end, strides=strides)


@converter("STABLEHLO_DYNAMIC_SLICE", moves=True)
def _dynamic_slice(node: Node) -> RelayExpr:
    """Convert ``DYNAMIC_SLICE``, clamping the start so that the slice fits."""
    x, *starts = node.inputs
    sizes, dims = _numbers(node, "SliceSizes"), static_dims(x, "the input")
    for axis, (start, size, extent) in enumerate(zip(starts, sizes, dims, strict=True)):
        bounded(size)
        first = ops.minimum(ops.maximum(reshape(start, []), scalar(0, start)), scalar(extent - size, start))
        x = ops.take(x, ops.add(first, constant(np.arange(size), dtype_of(start))), axis=axis)
    return x


@converter("STABLEHLO_DYNAMIC_UPDATE_SLICE", moves=True)
def _dynamic_update_slice(node: Node) -> RelayExpr:
    x, part, *starts = node.inputs
    return update_slice(x, part, ops.stack([reshape(start, []) for start in starts], 0))


@converter("STABLEHLO_PAD")
def _pad(node: Node) -> RelayExpr:
    """Convert ``PAD``, with negative and interior padding."""
    x, fill = node.inputs
    low, high, between = (_numbers(node, f) for f in ("EdgePaddingLow", "EdgePaddingHigh", "InteriorPadding"))
    if any(between):
        x = _spread(x, [b + 1 for b in between], fill)
    bounded(*(d + max(a, 0) + max(b, 0) for d, a, b in zip(static_dims(x, "the input"), low, high, strict=True)))
    return pad(x, list(zip(low, high, strict=True)), "constant", fill)


def _spread(x: RelayExpr, steps: list[int], fill: RelayExpr) -> RelayExpr:
    value = known(fill)
    if value is None:
        raise ConversionError("the padding between elements must be known while importing, but is computed from inputs")
    bounded(*((d - 1) * s + 1 for d, s in zip(static_dims(x, "the input"), steps, strict=True)))
    return ops.nn.dilate(x, steps, float(value.item()))


@converter("DILATE")
def _dilate(node: Node) -> RelayExpr:
    return _spread(node.inputs[0], node.ints(1, "the steps"), node.inputs[2])


@converter("STABLEHLO_IOTA")
def _iota(node: Node) -> RelayExpr:
    shape, axis = node.outputs[0].shape, int(node.option("IotaDimension"))
    bounded(*shape)
    along = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return constant(np.broadcast_to(along, shape), node.outputs[0].dtype)


@converter("STABLEHLO_DOT_GENERAL")
def _dot_general(node: Node) -> RelayExpr:
    """Convert ``DOT_GENERAL``; the result has the batch axes, then the free axes of both inputs."""
    a, b = node.inputs
    fields = ("LhsBatchingDimensions", "RhsBatchingDimensions", "LhsContractingDimensions", "RhsContractingDimensions")
    batch_a, batch_b, summed_a, summed_b = (_numbers(node, name) for name in fields)
    letters = iter(string.ascii_lowercase)
    left, right = ([""] * rank_of(x) for x in (a, b))
    for i, j in (*zip(batch_a, batch_b, strict=True), *zip(summed_a, summed_b, strict=True)):
        left[i] = right[j] = next(letters)
    own = [[i for i, letter in enumerate(side) if not letter] for side in (left, right)]
    for side, free in zip((left, right), own, strict=True):
        for i in free:
            side[i] = next(letters)
    result = [*(left[i] for i in batch_a), *(left[i] for i in own[0]), *(right[i] for i in own[1])]
    return ops.einsum([a, b], f"{''.join(left)},{''.join(right)}->{''.join(result)}")
