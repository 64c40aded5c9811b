"""Quantised operators, as the arithmetic that defines them."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.converters.windows import conv
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.reader import dtype_name
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, half_to_even, reshape, static_dims


def _along(value: Any, x: RelayExpr, axis: int, block: int = 0) -> Any:
    """Return a scale or zero point so that it broadcasts against ``x``: one, one for each slice, or one for a block."""
    if rank_of(value) == 0:
        return value
    if rank_of(value) == 1 and rank_of(x) != 1:
        if dims_of(value)[0] == 1:
            return reshape(value, [])
        return reshape(value, [-1 if d == axis % rank_of(x) else 1 for d in range(rank_of(x))])
    if block:
        repeated = ops.repeat(value, block, axis % rank_of(x))
        extent = static_dims(x, "the input")[axis]
        if dims_of(repeated)[axis] != extent:
            return ops.strided_slice(repeated, [0], [extent], strides=[1], axes=[axis % rank_of(x)])
        return repeated
    return value


def quantize(x: RelayExpr, scale: RelayExpr, zero: RelayExpr | None, dtype: str) -> Any:
    """Divide, round halves to even, shift, and cut off what the type cannot hold."""
    limits = np.iinfo(dtype)
    rounded = half_to_even(ops.divide(x, cast(scale, dtype_of(x))))
    if zero is not None:
        rounded = ops.add(rounded, cast(zero, dtype_of(x)))
    return ops.cast(ops.minimum(ops.maximum(rounded, float(limits.min)), float(limits.max)), dtype)


@converter("QuantizeLinear")
def _quantize_linear(node: Node) -> Any:
    x, scale, zero = node.take(3)
    axis, block = node.attr("axis", 1), node.attr("block_size", 0)
    chosen = node.attr("output_dtype", 0)
    dtype = dtype_of(zero) if zero is not None else dtype_name(chosen, "output_dtype") if chosen else "uint8"
    if dtype.startswith(("float", "bfloat")):
        raise ConversionError(f"quantising to {dtype} is not supported")
    wide = cast(x, "float32")
    zero = None if zero is None else _along(zero, x, axis, block)
    return quantize(wide, _along(scale, x, axis, block), zero, dtype)


@converter("DequantizeLinear")
def _dequantize_linear(node: Node) -> Any:
    x, scale, zero = node.take(3)
    axis, block = node.attr("axis", 1), node.attr("block_size", 0)
    wide = cast(x, "int32")
    if zero is not None:
        wide = ops.subtract(wide, _along(cast(zero, "int32"), x, axis, block))
    chosen = node.attr("output_dtype", 0)
    dtype = dtype_name(chosen, "output_dtype") if chosen else dtype_of(scale)
    return ops.multiply(cast(wide, dtype), cast(_along(scale, x, axis, block), dtype))


@converter("DynamicQuantizeLinear")
def _dynamic_quantize_linear(node: Node) -> Any:
    x = node.inputs[0]
    low = ops.minimum(ops.min(x), 0.0)
    high = ops.maximum(ops.max(x), 0.0)
    scale = ops.divide(ops.subtract(high, low), 255.0)
    shift = half_to_even(ops.divide(ops.negative(low), scale))
    zero = ops.cast(ops.minimum(ops.maximum(shift, 0.0), 255.0), "uint8")
    return [quantize(x, scale, zero, "uint8"), scale, zero]


def _centred(x: RelayExpr, zero: RelayExpr, axis: int) -> Any:
    wide = cast(x, "int32")
    return wide if zero is None else ops.subtract(wide, _along(cast(zero, "int32"), x, axis))


@converter("MatMulInteger")
def _matmul_integer(node: Node) -> Any:
    a, b, a_zero, b_zero = node.take(4)
    return matmul(_centred(a, a_zero, -2), _centred(b, b_zero, -1))


@converter("ConvInteger")
def _conv_integer(node: Node) -> Any:
    x, w, x_zero, w_zero = node.take(4)
    return conv(node, _centred(x, x_zero, 1), _centred(w, w_zero, 0))


def _requantized(accumulator: Any, scale: RelayExpr, out_scale: RelayExpr, out_zero: RelayExpr, axis: int) -> Any:
    """Return an integer result in the units of another scale."""
    real = ops.multiply(cast(accumulator, "float32"), _along(cast(scale, "float32"), accumulator, axis))
    out_scale = _along(cast(out_scale, "float32"), accumulator, axis)
    return quantize(real, out_scale, _along(out_zero, accumulator, axis), dtype_of(out_zero))


@converter("QLinearMatMul")
def _q_linear_matmul(node: Node) -> Any:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.inputs
    accumulator = matmul(_centred(a, a_zero, -2), _centred(b, b_zero, -1))
    scale = ops.multiply(cast(a_scale, "float32"), cast(b_scale, "float32"))
    return _requantized(accumulator, scale, y_scale, y_zero, -1)


@converter("QLinearConv")
def _q_linear_conv(node: Node) -> Any:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias = node.take(9)
    accumulator = conv(node, _centred(x, x_zero, 1), _centred(w, w_zero, 0))
    if bias is not None:
        accumulator = ops.nn.bias_add(accumulator, bias, axis=1)
    return _requantized(accumulator, ops.multiply(x_scale, w_scale), y_scale, y_zero, 1)
