"""Quantized operators of ONNX Runtime: dequantize, apply the standard operator, quantize."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.converters.quantized import dynamically_quantized, q_linear_conv, quantize
from compiler.relay.frontend.onnx.integers import along, centred
from compiler.relay.frontend.onnx.microsoft import DOMAIN, as_standard, microsoft
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter, find
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import Array, constant, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, transpose

_UNARY = "X X_scale X_zero_point? Y_scale Y_zero_point?"
_BINARY = "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?"


def _real(x: RelayExpr, scale: RelayExpr, zero: RelayExpr | None) -> RelayExpr:
    """Dequantize a tensor."""
    wide = cast(x, "int32")
    shifted = wide if zero is None else ops.subtract(wide, along(cast(zero, "int32"), x, 0))
    return ops.multiply(cast(shifted, "float32"), along(scale, x, 0))


def _bytes(x: RelayExpr, scale: RelayExpr, zero: RelayExpr | None, like: RelayExpr) -> RelayExpr:
    """Return numbers as bytes of the data type of the inputs, or of the zero point where there is one."""
    zero = None if zero is None else along(zero, x, 0)
    return quantize(x, along(scale, x, 0), zero, dtype_of(like if zero is None else zero))


def _like_the_standard(names: str) -> Callable[..., RelayExpr]:
    """Return the converter of operators that are some of the standard on bytes, ``names`` after ``QLinear``."""

    def convert(
        node: Node, x: RelayExpr, scale: RelayExpr, zero: RelayExpr | None, y_scale: RelayExpr, y_zero: RelayExpr | None
    ) -> RelayExpr:
        real = _real(x, scale, zero)
        if not node.attr("channels_last", 0):
            return _bytes(as_standard(names, node, real), y_scale, y_zero, x)
        rank = rank_of(x)
        first = transpose(real, [0, rank - 1, *range(1, rank - 1)])
        return _bytes(transpose(as_standard(names, node, first), [0, *range(2, rank), 1]), y_scale, y_zero, x)

    return convert


for _name in ("Sigmoid", "LeakyRelu", "AveragePool", "GlobalAveragePool"):
    microsoft(f"QLinear{_name}", _UNARY)(_like_the_standard(_name))


@microsoft("QLinearSoftmax", _UNARY)
def _softmax(
    node: Node, x: RelayExpr, scale: RelayExpr, zero: RelayExpr | None, y_scale: RelayExpr, y_zero: RelayExpr | None
) -> RelayExpr:
    """Before operator set 13 of the standard, which an attribute says, the axes from ``axis`` on are one."""
    rows = as_standard("Softmax", node, _real(x, scale, zero), opset=node.required("opset"))
    return _bytes(rows, y_scale, y_zero, x)


def _elementwise(combine: Callable[[RelayExpr, RelayExpr], RelayExpr]) -> Callable[..., RelayExpr]:
    def convert(
        node: Node,
        a: RelayExpr,
        a_scale: RelayExpr,
        a_zero: RelayExpr | None,
        b: RelayExpr,
        b_scale: RelayExpr,
        b_zero: RelayExpr | None,
        y_scale: RelayExpr,
        y_zero: RelayExpr | None,
    ) -> RelayExpr:
        return _bytes(combine(_real(a, a_scale, a_zero), _real(b, b_scale, b_zero)), y_scale, y_zero, a)

    return convert


microsoft("QLinearAdd", _BINARY)(_elementwise(lambda a, b: ops.add(a, b)))
microsoft("QLinearMul", _BINARY)(_elementwise(lambda a, b: ops.multiply(a, b)))


@microsoft("QLinearConcat", "Y_scale Y_zero_point inputs*")
def _concat(node: Node, y_scale: RelayExpr, y_zero: RelayExpr, *given: RelayExpr | None) -> RelayExpr:
    present = [value for value in given if value is not None]
    if len(given) % 3 or not given or len(present) < len(given):
        raise ModelError("after Y_scale and Y_zero_point it must have a tensor, a scale and a zero point for each part")
    parts = [_real(*present[i : i + 3]) for i in range(0, len(present), 3)]
    whole = parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=node.required("axis"))
    return _bytes(whole, y_scale, y_zero, present[0])


@microsoft("QLinearWhere", "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point")
def _where(
    node: Node,
    condition: RelayExpr,
    x: RelayExpr,
    x_scale: RelayExpr,
    x_zero: RelayExpr,
    y: RelayExpr,
    y_scale: RelayExpr,
    y_zero: RelayExpr,
    z_scale: RelayExpr,
    z_zero: RelayExpr,
) -> RelayExpr:
    chosen = ops.where(condition, _real(x, x_scale, x_zero), _real(y, y_scale, y_zero))
    return _bytes(chosen, z_scale, z_zero, x)


@microsoft("QGemm", "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point?")
def _gemm(
    node: Node,
    a: RelayExpr,
    a_scale: RelayExpr,
    a_zero: RelayExpr | None,
    b: RelayExpr,
    b_scale: RelayExpr,
    b_zero: RelayExpr | None,
    c: RelayExpr | None,
    y_scale: RelayExpr | None,
    y_zero: RelayExpr | None,
) -> RelayExpr:
    """Integers in the middle, the bias among them; without ``y_scale`` the result is real."""
    left, right = centred(a, a_zero, 1), centred(b, b_zero, 0 if node.attr("transB", 0) else 1)
    left = transpose(left, [1, 0]) if node.attr("transA", 0) else left
    right = right if node.attr("transB", 0) else transpose(right, [1, 0])
    total = ops.nn.dense(left, right, out_dtype="int32")
    total = cast(total if c is None else ops.add(total, c), "float32")
    scale = ops.multiply(ops.multiply(a_scale, b_scale), node.attr("alpha", 1.0))
    real = ops.multiply(total, along(scale, total, 1))
    return real if y_scale is None else _bytes(real, y_scale, y_zero, a)


def _scaled_product(
    a: RelayExpr,
    b: RelayExpr,
    scales: tuple[RelayExpr, RelayExpr],
    zeros: tuple[RelayExpr | None, RelayExpr | None],
    bias: RelayExpr | None,
) -> RelayExpr:
    total = cast(matmul(centred(a, zeros[0], -2), centred(b, zeros[1], -1), "int32"), "float32")
    left, right = scales
    left = along(left, a, -2)
    right = along(right, total, -1)
    real = ops.multiply(total, ops.multiply(left, right))
    return real if bias is None else ops.add(real, bias)


@microsoft("MatMulIntegerToFloat", "A B a_scale b_scale a_zero_point? b_zero_point? bias?")
def _matmul_integer_to_float(
    node: Node,
    a: RelayExpr,
    b: RelayExpr,
    a_scale: RelayExpr,
    b_scale: RelayExpr,
    a_zero: RelayExpr | None,
    b_zero: RelayExpr | None,
    bias: RelayExpr | None,
) -> RelayExpr:
    return _scaled_product(a, b, (a_scale, b_scale), (a_zero, b_zero), bias)


def dynamic_product(
    a: RelayExpr, b: RelayExpr, b_scale: RelayExpr, b_zero: RelayExpr | None, bias: RelayExpr | None
) -> RelayExpr:
    """Return the product of real numbers, which become bytes of the scale that their range needs, and bytes."""
    codes, scale, zero = dynamically_quantized(a)
    return _scaled_product(codes, b, (scale, b_scale), (zero, b_zero), bias)


@microsoft("DynamicQuantizeMatMul", "A B b_scale b_zero_point? bias?")
def _dynamic_quantize_matmul(
    node: Node, a: RelayExpr, b: RelayExpr, b_scale: RelayExpr, b_zero: RelayExpr | None, bias: RelayExpr | None
) -> RelayExpr:
    return dynamic_product(a, b, b_scale, b_zero, bias)


@microsoft("MatMulInteger16", "A B")
def _matmul_integer16(node: Node, a: RelayExpr, b: RelayExpr) -> RelayExpr:
    return matmul(a, b, "int32")


@microsoft("QLinearConv", "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?")
def _conv(node: Node, x: RelayExpr, *others: RelayExpr) -> RelayExpr:
    if not node.attr("channels_last", 0):
        return q_linear_conv(node, x, *others)
    rank = rank_of(x)
    first = transpose(x, [0, rank - 1, *range(1, rank - 1)])
    return transpose(q_linear_conv(node, first, *others), [0, *range(2, rank), 1])


for _name in ("QuantizeLinear", "DequantizeLinear"):
    _convert = find("", _name, 1)
    assert _convert is not None
    converter(_name, domain=DOMAIN)(_convert)


@microsoft("MatMulNBits", "A B scales zero_points? g_idx? bias?")
def _matmul_n_bits(
    node: Node,
    a: RelayExpr,
    b: RelayExpr,
    scales: RelayExpr,
    zeros: RelayExpr | None,
    groups: RelayExpr | None,
    bias: RelayExpr | None,
) -> RelayExpr:
    """Multiply by a matrix whose columns are stored in blocks, each with a scale, a few bits for each number."""
    bits, size, depth, columns = (node.required(name) for name in ("bits", "block_size", "K", "N"))
    if bits not in (2, 4, 8) or groups is not None:
        raise ConversionError(f"only 2, 4 or 8 bits without g_idx are supported, got {bits} bits")
    blocks = -(-depth // size)
    codes = _unpacked(node.value(1, "B"), bits, (columns, blocks, size))
    scale = np.asarray(node.value(2, "scales"), np.float32).reshape(columns, blocks, 1)
    middle = np.asarray(1 << (bits - 1), np.float32)
    if zeros is not None:
        middle = np.asarray(node.value(3, "zero_points"))
        middle = _unpacked(middle, bits, (columns, blocks)) if middle.dtype == np.uint8 else middle.astype(np.float32)
        middle = middle.reshape(columns, blocks, 1)
    weight = ((codes - middle) * scale).reshape(columns, blocks * size)[:, :depth]
    product = matmul(a, constant(np.ascontiguousarray(weight.T), dtype_of(a)))
    return product if bias is None else ops.add(product, bias)


def _unpacked(packed: Array | None, bits: int, shape: tuple[int, ...]) -> Array:
    """Return numbers of a few bits, the first in the lowest bits of a byte; rows begin at whole bytes."""
    count = shape[-1]
    rows = np.asarray(packed, np.uint8).reshape(*shape[:-1], -(-count * bits // 8))
    parts = (rows[..., None] >> np.arange(0, 8, bits, dtype=np.uint8)) & ((1 << bits) - 1)
    return parts.reshape(*shape[:-1], -1)[..., :count].astype(np.float32)
