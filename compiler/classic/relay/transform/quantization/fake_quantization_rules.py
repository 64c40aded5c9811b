"""Operator rules of FakeQuantizationToInteger.

Each takes a call on integers, and what the integers of its operands stand for; see :data:`fake_quantization.Rule`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from compiler.classic.relay.transform.quantization.fake_quantization import (
    Rule,
    TensorAffineType,
    TupleAffineType,
    TypeMap,
    integer_rule,
    optional_rule,
    register_fake_quantization_to_integer,
)
from compiler.classic.relay.transform.quantization.fake_quantization_axes import is_per_axis, moved_type
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, array_const
from compiler.relay.op.qnn.arithmetic import is_same
from compiler.relay.op.qnn.quantize import quantize_array
from compiler.relay.operator import call_op, op_name
from compiler.relay.transform.rewriter import dims_of

Result = list[Any] | None


def _type(expr: RelayExpr, types: TypeMap) -> Any:
    return types.get(expr)


def _is_same_type(a: TensorAffineType, b: TensorAffineType) -> bool:
    return a.dtype == b.dtype and is_same(a.scale, b.scale) and is_same(a.zero_point, b.zero_point)


def requantized(expr: RelayExpr, source: TensorAffineType, target: TensorAffineType, dtype: str = "") -> RelayExpr:
    """Return integers of one affine type as those of another; the same where the types are."""
    wanted = TensorAffineType(target.scale, target.zero_point, dtype or target.dtype)
    if _is_same_type(source, wanted):
        return expr
    parameters = (source.scale, source.zero_point, target.scale, target.zero_point)
    return call_op("qnn.requantize", expr, *parameters, axis=source.axis, out_dtype=wanted.dtype)


def _quantized_number(value: float, t: TensorAffineType, rank: int) -> Constant | None:
    """Return a real number as integers of a type, so that it broadcasts against a tensor; None if that is not known."""
    if not (isinstance(t.scale, Constant) and isinstance(t.zero_point, Constant)):
        return None
    count = max(t.scale.value.size, t.zero_point.value.size)
    real = np.full(count, value, "float32")
    whole = quantize_array(real, t.scale.value.reshape(-1), t.zero_point.value.reshape(-1), 0, t.dtype)
    shape = () if count == 1 else [count if d == t.axis % rank else 1 for d in range(rank)]
    return array_const(whole.reshape(shape))


def _rank(expr: GraphExpr) -> int:
    return len(dims_of(expr) or ())


# what does not look at numbers


@integer_rule(
    "reshape", "squeeze", "strided_slice", "transpose", "expand_dims", "broadcast_to", "take", "max", "min",
    "nn.max_pool2d", "nn.batch_flatten", "nn.depth_to_space", "image.resize2d",
)  # fmt: skip
def _same_numbers(expr: Call, types: TypeMap) -> Result:
    t = _type(expr.args[0], types)
    moved = None if t is None else moved_type(expr, t)
    return None if moved is None else [expr, moved]


@integer_rule("topk")
def _topk(expr: Call, types: TypeMap) -> Result:
    t = _type(expr.args[0], types)
    return [expr, t] if t is not None and not is_per_axis(t) and expr.attrs["ret_type"] == "values" else None


@integer_rule("split")
def _split(expr: Call, types: TypeMap) -> Result:
    t = _type(expr.args[0], types)
    sections = expr.attrs["indices_or_sections"]
    count = sections if isinstance(sections, int) else len(sections) + 1
    if t is None or (is_per_axis(t) and (expr.attrs.get_int("axis") - t.axis) % _rank(expr.args[0]) == 0):
        return None
    return [expr, TupleAffineType([t] * count)]


@integer_rule("nn.pad")
def _pad(expr: Call, types: TypeMap) -> Result:
    data, fill = expr.args
    t, fill_type = _type(data, types), _type(fill, types)
    if t is None:
        return None
    if fill_type is not None:
        number: RelayExpr | None = requantized(fill, fill_type, t)
    elif isinstance(fill, Constant) and isinstance(t.scale, Constant) and t.scale.value.size == 1:
        number = _quantized_number(float(fill.value.reshape(-1)[0]), t, _rank(data))
    else:
        return None
    return None if number is None else [call_op("nn.pad", data, number, **expr.attrs), t]


# bounds


@integer_rule("clip")
def _clip(expr: Call, types: TypeMap) -> Result:
    data = expr.args[0]
    t = _type(data, types)
    if t is None or not isinstance(t.scale, Constant) or not isinstance(t.zero_point, Constant):
        return None
    low, high = expr.attrs["a_min"], expr.attrs["a_max"]
    if t.scale.value.size == t.zero_point.value.size == 1:
        scale, zero = float(t.scale.value.reshape(-1)[0]), int(t.zero_point.value.reshape(-1)[0])
        return [call_op("clip", data, a_min=int(low / scale + zero), a_max=int(high / scale + zero)), t]
    bounds = [_quantized_number(bound, t, _rank(data)) for bound in (low, high)]
    return [call_op("minimum", call_op("maximum", data, bounds[0]), bounds[1]), t]


@integer_rule("nn.relu")
def _relu(expr: Call, types: TypeMap) -> Result:
    data = expr.args[0]
    t = _type(data, types)
    zero = None if t is None else _quantized_number(0.0, t, _rank(data))
    return None if zero is None else [call_op("maximum", data, zero), t]


@integer_rule("nn.leaky_relu")
def _leaky_relu(expr: Call, types: TypeMap) -> Result:
    t, result = _type(expr.args[0], types), _type(expr, types)
    if t is None or result is None or t.dtype != result.dtype or is_per_axis(t) or is_per_axis(result):
        return None
    parameters = (t.scale, t.zero_point, result.scale, result.zero_point)
    return [call_op("qnn.leaky_relu", expr.args[0], *parameters, alpha=expr.attrs["alpha"]), result]


# layers


def _product(a: TensorAffineType, b: TensorAffineType) -> RelayExpr:
    if isinstance(a.scale, Constant) and isinstance(b.scale, Constant):
        return array_const(np.asarray(a.scale.value * b.scale.value))
    return call_op("multiply", a.scale, b.scale)


def _layer(name: str, expr: Call, types: TypeMap, axis: int) -> Result:
    """Return a product of data and weight, whose scale is the product of their scales and whose zero point is 0."""
    data, weight = expr.args
    x, w = _type(data, types), _type(weight, types)
    if x is None or w is None:
        return None
    attrs = {key: value for key, value in expr.attrs.items() if key != "out_dtype" and not key.startswith("transpose")}
    made = call_op(name, data, weight, x.zero_point, w.zero_point, x.scale, w.scale, **attrs)
    scale = _product(x, w)
    count = scale.value.shape if isinstance(scale, Constant) else ()
    return [made, TensorAffineType(scale, array_const(np.zeros(count, "int32")), "int32", axis)]


@integer_rule("nn.conv2d", "nn.conv2d_transpose")
def _convolution(expr: Call, types: TypeMap) -> Result:
    layout = expr.attrs["out_layout"] or expr.attrs["data_layout"]
    return _layer(op_name(expr).replace("nn.", "qnn."), expr, types, layout.index("C"))


@integer_rule("nn.dense")
def _dense(expr: Call, types: TypeMap) -> Result:
    return _layer("qnn.dense", expr, types, _rank(expr.args[0]) - 1)


@integer_rule("nn.batch_matmul")
def _batch_matmul(expr: Call, types: TypeMap) -> Result:
    plain = expr.attrs["transpose_b"] and not expr.attrs["transpose_a"]
    return _layer("qnn.batch_matmul", expr, types, 2) if plain else None


@integer_rule("nn.bias_add")
def _bias_add(expr: Call, types: TypeMap) -> Result:
    data, bias = expr.args
    t, b = _type(data, types), _type(bias, types)
    if t is None or (is_per_axis(t) and (expr.attrs.get_int("axis") - t.axis) % _rank(data)):
        return None
    # The zero point is in the data already; sums of 8 bits need more.
    zero = call_op("zeros_like", t.zero_point) if not isinstance(t.zero_point, Constant) else _zeros(t.zero_point)
    shift = TensorAffineType(t.scale, zero, "int32", 0)
    if b is not None:
        bias = requantized(bias, TensorAffineType(b.scale, b.zero_point, b.dtype, 0), shift)
    elif isinstance(bias, Constant):
        bias = call_op("qnn.quantize", bias, shift.scale, shift.zero_point, axis=0, out_dtype="int32")
    else:
        return None
    wide = data if t.dtype == "int32" else call_op("cast", data, dtype="int32")
    return [call_op("nn.bias_add", wide, bias, **expr.attrs), replace(t, dtype="int32")]


def _zeros(like: Constant) -> Constant:
    return array_const(np.zeros_like(like.value))


# means


@integer_rule("nn.avg_pool2d", "nn.global_avg_pool2d", "nn.adaptive_avg_pool1d")
def _mean_of_windows(expr: Call, types: TypeMap) -> Result:
    t, result = _type(expr.args[0], types), _type(expr, types)
    if t is None or result is None:
        return None
    wide = requantized(expr.args[0], t, result, "int32")
    mean = call_op(op_name(expr), wide, **expr.attrs)
    as_sums = TensorAffineType(result.scale, result.zero_point, "int32", result.axis)
    return [requantized(mean, as_sums, result), result]


@integer_rule("mean")
def _mean(expr: Call, types: TypeMap) -> Result:
    t = _type(expr.args[0], types)
    if t is None or is_per_axis(t):
        return None
    mean = call_op("mean", call_op("cast", expr.args[0], dtype="int32"), **expr.attrs)
    return [call_op("cast", mean, dtype=t.dtype), t]


# several tensors


@integer_rule("concatenate")
def _concatenate(expr: Call, types: TypeMap) -> Result:
    t, result = _type(expr.args[0], types), _type(expr, types)
    if not isinstance(t, TupleAffineType) or result is None or any(f.dtype != result.dtype for f in t.types):
        return None
    if any(map(is_per_axis, (*t.types, result))):
        return None
    scales, zeros = Tuple(tuple(f.scale for f in t.types)), Tuple(tuple(f.zero_point for f in t.types))
    parameters = (scales, zeros, result.scale, result.zero_point)
    return [call_op("qnn.concatenate", expr.args[0], *parameters, axis=expr.attrs["axis"]), result]


def _both(expr: Call, types: TypeMap) -> list[tuple[RelayExpr, TensorAffineType]] | None:
    """Return both operands with their types; a number takes the type of the other operand."""
    pairs = [(arg, _type(arg, types)) for arg in expr.args]
    result = []
    for (arg, own), (_, other) in zip(pairs, reversed(pairs), strict=True):
        if own is None and (other is None or is_per_axis(other) or not isinstance(arg, Constant)):
            return None
        if own is None:
            arg = call_op("qnn.quantize", arg, other.scale, other.zero_point, axis=other.axis, out_dtype=other.dtype)
        result.append((arg, own or other))
    return result


def _arithmetic(op: Callable[..., RelayExpr]) -> Rule:
    """Return the rule by which ``op``, of two tensors with their scales and zero points, stands for an operator."""

    def rule(expr: Call, types: TypeMap) -> Result:
        both, t = _both(expr, types), _type(expr, types)
        if both is None or t is None or any(own.dtype != t.dtype for _, own in both):
            return None
        (lhs, left), (rhs, right) = both
        parameters = (left.scale, left.zero_point, right.scale, right.zero_point, t.scale, t.zero_point)
        return [op(lhs, rhs, *parameters, lhs_axis=left.axis, rhs_axis=right.axis), t]

    return rule


def _of_one_type(op: Callable[..., RelayExpr]) -> Rule:
    """Return the rule by which ``op`` stands for an operator once both operands are of the type of the result."""

    def rule(expr: Call, types: TypeMap) -> Result:
        both, t = _both(expr, types), _type(expr, types)
        if both is None or t is None:
            return None
        return [op(*(requantized(arg, own, t) for arg, own in both)), t]

    return rule


def _function(op: Callable[..., RelayExpr]) -> Rule:
    """Return the rule by which ``op``, of a tensor with its scale and zero point, stands for an operator."""

    def rule(expr: Call, types: TypeMap) -> Result:
        t, result = _type(expr.args[0], types), _type(expr, types)
        if t is None or result is None or t.dtype != result.dtype or is_per_axis(t) or is_per_axis(result):
            return None
        return [op(expr.args[0], t.scale, t.zero_point, result.scale, result.zero_point), result]

    return rule


for _name, _qnn in (("add", "add"), ("subtract", "subtract"), ("multiply", "mul")):
    integer_rule(_name)(_arithmetic(partial(call_op, f"qnn.{_qnn}")))
for _name in ("minimum", "maximum"):
    integer_rule(_name)(_of_one_type(partial(call_op, _name)))
for _name in ("sqrt", "rsqrt", "exp", "erf", "sigmoid", "tanh", "log", "abs"):
    integer_rule(_name)(_function(partial(call_op, f"qnn.{_name}")))


def register_unary_identity(op_name: str) -> Any:
    """Let ``FakeQuantizationToInteger`` apply an operator of one tensor, which only moves numbers, to the integers."""
    return register_fake_quantization_to_integer(op_name, _same_numbers)


def register_unary_qnn(op_name: str, op: Callable[..., RelayExpr]) -> Any:
    """Let ``FakeQuantizationToInteger`` compute an operator of one tensor by another one on integers.

    That is ``op(x, scale, zero_point, output_scale, output_zero_point)``, such as ``relay.qnn.op.sqrt``.
    """
    return register_fake_quantization_to_integer(op_name, _function(op))


def register_binary_identity(op_name: str, op: Callable[..., RelayExpr]) -> Any:
    """Let ``FakeQuantizationToInteger`` apply an operator of two tensors to integers of the type of its result.

    The operator is ``op(lhs, rhs)``, such as ``relay.maximum``.
    """
    return register_fake_quantization_to_integer(op_name, _of_one_type(op))


def register_binary_qnn(op_name: str, op: Callable[..., RelayExpr]) -> Any:
    """Let ``FakeQuantizationToInteger`` compute an operator of two tensors by another one on integers.

    That is ``op(lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point,
    lhs_axis, rhs_axis)``, such as ``relay.qnn.op.add``.
    """
    return register_fake_quantization_to_integer(op_name, _arithmetic(op))


# probabilities


@optional_rule("nn.softmax")
def _softmax(expr: Call, types: TypeMap) -> Result:
    t, result = _type(expr.args[0], types), _type(expr, types)
    if t is None or result is None or t.dtype != result.dtype:
        return None
    parameters = (t.scale, t.zero_point, result.scale, result.zero_point)
    return [call_op("qnn.softmax", expr.args[0], *parameters, axis=expr.attrs["axis"]), result]
