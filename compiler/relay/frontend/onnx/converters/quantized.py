"""Quantized operators, by the arithmetic that defines them."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.converters.windows import conv
from compiler.relay.frontend.onnx.integers import DequantizedTensor, along, centred, integers_of, remember
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.reader import dtype_name
from compiler.relay.frontend.onnx.registry import converter, converters
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import dtype_of, ops
from compiler.relay.frontend.shared.tensors import cast


def quantize(x: RelayExpr, scale: RelayExpr, zero: RelayExpr | None, dtype: str) -> RelayExpr:
    """Divide, round halves to even, shift, and cut off what the type cannot hold."""
    limits = np.iinfo(dtype)
    rounded = ops.nearbyint(ops.divide(x, cast(scale, dtype_of(x))))
    if zero is not None:
        rounded = ops.add(rounded, cast(zero, dtype_of(x)))
    return ops.cast(ops.minimum(ops.maximum(rounded, float(limits.min)), float(limits.max)), dtype)


@converter("QuantizeLinear")
def _quantize_linear(node: Node) -> RelayExpr:
    (x, scale), zero = node.inputs[:2], node.input(2)
    axis, block = node.attr("axis", 1), node.attr("block_size", 0)
    chosen = node.attr("output_dtype", 0)
    dtype = dtype_of(zero) if zero is not None else dtype_name(chosen, "output_dtype") if chosen else "uint8"
    if dtype.startswith(("float", "bfloat")):
        raise ConversionError(f"quantising to {dtype} is not supported")
    known = integers_of(x, scale, zero, dtype)
    if known is not None:
        return known
    wide = cast(x, "float32")
    zero = None if zero is None else along(zero, x, axis, block)
    return quantize(wide, along(scale, x, axis, block), zero, dtype)


@converter("DequantizeLinear")
def _dequantize_linear(node: Node) -> RelayExpr:
    (x, scale), zero = node.inputs[:2], node.input(2)
    axis, block = node.attr("axis", 1), node.attr("block_size", 0)
    wide = cast(x, "int32")
    if zero is not None:
        wide = ops.subtract(wide, along(cast(zero, "int32"), x, axis, block))
    chosen = node.attr("output_dtype", 0)
    dtype = dtype_name(chosen, "output_dtype") if chosen else dtype_of(scale)
    real = ops.multiply(cast(wide, dtype), cast(along(scale, x, axis, block), dtype))
    if not block:
        remember(real, DequantizedTensor(x, scale, zero, axis))
    return real


def dynamically_quantized(x: RelayExpr) -> list[RelayExpr]:
    """Return numbers as bytes of the scale and zero point that their range needs, and these two."""
    low = ops.minimum(ops.min(x), 0.0)
    high = ops.maximum(ops.max(x), 0.0)
    # Of zeros alone the range is empty: any scale does but 0.
    extent = ops.subtract(high, low)
    scale = ops.where(ops.equal(extent, 0.0), 1.0, ops.divide(extent, 255.0))
    shift = ops.nearbyint(ops.divide(ops.negative(low), scale))
    zero = ops.cast(ops.minimum(ops.maximum(shift, 0.0), 255.0), "uint8")
    return [quantize(x, scale, zero, "uint8"), scale, zero]


@converter("MatMulInteger")
def _matmul_integer(node: Node) -> RelayExpr:
    (a, b), (a_zero, b_zero) = node.inputs[:2], node.take(4)[2:]
    return matmul(centred(a, a_zero, -2), centred(b, b_zero, -1), "int32")


@converter("ConvInteger")
def _conv_integer(node: Node) -> RelayExpr:
    (x, w), (x_zero, w_zero) = node.inputs[:2], node.take(4)[2:]
    return conv(node, centred(x, x_zero, 1), centred(w, w_zero, 0), "int32")


def _requantized(
    accumulator: RelayExpr, scale: RelayExpr, out_scale: RelayExpr, out_zero: RelayExpr, axis: int
) -> RelayExpr:
    """Return an integer result in the units of another scale."""
    real = ops.multiply(cast(accumulator, "float32"), along(cast(scale, "float32"), accumulator, axis))
    out_scale = along(cast(out_scale, "float32"), accumulator, axis)
    return quantize(real, out_scale, along(out_zero, accumulator, axis), dtype_of(out_zero))


@converter("QLinearMatMul")
def _q_linear_matmul(node: Node) -> RelayExpr:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.inputs
    accumulator = matmul(centred(a, a_zero, -2), centred(b, b_zero, -1), "int32")
    scale = ops.multiply(cast(a_scale, "float32"), cast(b_scale, "float32"))
    return _requantized(accumulator, scale, y_scale, y_zero, -1)


def q_linear_conv(
    node: Node,
    x: RelayExpr,
    x_scale: RelayExpr,
    x_zero: RelayExpr,
    w: RelayExpr,
    w_scale: RelayExpr,
    w_zero: RelayExpr,
    y_scale: RelayExpr,
    y_zero: RelayExpr,
    bias: RelayExpr | None = None,
) -> RelayExpr:
    """The convolution of bytes that a node's attributes describe, as bytes of another scale."""
    accumulator = conv(node, centred(x, x_zero, 1), centred(w, w_zero, 0), "int32")
    if bias is not None:
        accumulator = ops.nn.bias_add(accumulator, bias, axis=1)
    return _requantized(accumulator, ops.multiply(x_scale, w_scale), y_scale, y_zero, 1)


converters(
    {
        "DynamicQuantizeLinear": lambda node: dynamically_quantized(node.inputs[0]),
        "QLinearConv": lambda node: q_linear_conv(node, *node.inputs),
    }
)
