"""Elementwise operators: arithmetic, comparisons, logic, activations."""

from __future__ import annotations

import functools
import math

import numpy as np
import onnx

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.partial import partial_of, remember
from compiler.relay.frontend.onnx.reader import dtype_name
from compiler.relay.frontend.onnx.registry import Convert, converter, converters
from compiler.relay.frontend.shared.activations import SELU, gelu, mish, softplus
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import Operators, constant, dims_of, dtype_of, known, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import bounded, cast, static_dims


def _pairwise(compute: Operators) -> Convert:
    return lambda node: functools.reduce(compute, node.inputs)


converters(
    {
        "Min": _pairwise(ops.minimum),
        "Sum": _pairwise(ops.add),
        "Identity": lambda node: node.inputs[0],
        "CastLike": lambda node: cast(node.inputs[0], dtype_of(node.inputs[1])),
        "Reciprocal": lambda node: ops.divide(1.0, node.inputs[0]),
        "Gelu": lambda node: gelu(node.inputs[0], by_tanh=node.attr("approximate", "none") == "tanh"),
        "HardSigmoid": lambda node: hard_sigmoid(node.inputs[0], node.attr("alpha", 0.2), node.attr("beta", 0.5)),
        "HardSwish": lambda node: ops.multiply(node.inputs[0], hard_sigmoid(node.inputs[0], 1 / 6, 0.5)),
        "Softplus": lambda node: softplus(node.inputs[0]),
        "Mish": lambda node: mish(node.inputs[0]),
        "ThresholdedRelu": lambda node: _above(node.inputs[0], node.attr("alpha", 1.0)),
    }
)


@converter("Max")
def _max(node: Node) -> RelayExpr:
    result = functools.reduce(ops.maximum, node.inputs)
    if rank_of(result) != 1 or dtype_of(result) != "int64":
        return result
    parts = [partial_of(x) for x in node.inputs if dims_of(x) == dims_of(result)]
    if None in parts or len(parts) < len(node.inputs):
        return result
    numbers = [[e for e in each if isinstance(e, int)] for each in zip(*filter(None, parts), strict=True)]
    return remember(result, [max(each) if len(each) == len(parts) else None for each in numbers])


def _above(x: RelayExpr, alpha: float) -> RelayExpr:
    return ops.where(ops.greater(x, alpha), x, 0.0)


@converter("Mean")
def _mean(node: Node) -> RelayExpr:
    total = functools.reduce(ops.add, node.inputs)
    return ops.divide(total, len(node.inputs)) if len(node.inputs) > 1 else total


@converter("Mod")
def _mod(node: Node) -> RelayExpr:
    a, b = node.inputs
    return ops.mod(a, b) if node.attr("fmod", 0) else ops.floor_mod(a, b)


@converter("Pow")
def _pow(node: Node) -> RelayExpr:
    base, exponent = node.inputs
    dtype, value = dtype_of(base), known(exponent)
    squares = value is not None and value.size == 1 and float(value.reshape(-1)[0]) == 2.0
    if squares and rank_of(exponent) <= rank_of(base):
        return ops.multiply(base, base)
    if dtype == dtype_of(exponent) and dtype.startswith("float"):
        return ops.power(base, exponent)
    common = dtype if dtype.startswith("float") else "float64"
    return ops.cast(ops.power(ops.cast(base, common), ops.cast(exponent, common)), dtype)


@converter("BitShift")
def _bit_shift(node: Node) -> RelayExpr:
    shift = ops.left_shift if node.required("direction") == "LEFT" else ops.right_shift
    return shift(*node.inputs)


@converter("Clip")
def _clip(node: Node) -> RelayExpr:
    x = node.inputs[0]
    low, high = (_bound(node, 1, "min", x), _bound(node, 2, "max", x))
    values = known(low) if low is not None else None, known(high) if high is not None else None
    if dtype_of(x) == "float32" and all(v is not None for v in values):
        a_min, a_max = (float(v.reshape(-1)[0]) for v in values if v is not None)
        return ops.clip(x, min(a_min, a_max), a_max)
    if low is not None:
        x = ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)


def _bound(node: Node, index: int, name: str, x: RelayExpr) -> RelayExpr | None:
    if name in node.attributes:
        return scalar(node.attributes[name], x)
    return node.input(index)


_ELEMENT_TYPES: dict[str, int] = dict(onnx.TensorProto.DataType.items())


@converter("Cast")
def _cast(node: Node) -> RelayExpr:
    to = node.required("to")
    if isinstance(to, str):  # before operator set 6
        if to not in _ELEMENT_TYPES:
            raise ModelError(f"attribute 'to' names the unknown element type {to!r}")
        to = _ELEMENT_TYPES[to]
    return cast(node.inputs[0], dtype_name(to, "attribute 'to'"))


@converter("BitCast")
def _bit_cast(node: Node) -> RelayExpr:
    x, dtype = node.inputs[0], dtype_name(node.required("to"), "attribute 'to'")
    if "bool" not in (dtype, dtype_of(x)):
        return ops.reinterpret(x, dtype)
    bits = ops.cast(x, "uint8") if dtype_of(x) == "bool" else ops.reinterpret(x, "uint8")
    return ops.cast(bits, "bool") if dtype == "bool" else ops.reinterpret(bits, dtype)


@converter("IsInf")
def _is_inf(node: Node) -> RelayExpr:
    x = node.inputs[0]
    signs = [s for s, name in ((math.inf, "detect_positive"), (-math.inf, "detect_negative")) if node.attr(name, 1)]
    matches = [ops.equal(x, s) for s in signs]
    never = ops.logical_and(ops.equal(x, 0), ops.not_equal(x, 0))
    return functools.reduce(ops.logical_or, matches) if matches else never


@converter("PRelu")
def _prelu(node: Node) -> RelayExpr:
    x, slope = node.inputs
    dims, own = dims_of(x), dims_of(slope)
    if len(own) == 1 and len(dims) > 2 and own[0] not in (1, dims[-1]) and own[0] == dims[1]:
        slope = ops.reshape(slope, (own[0], *[1] * (len(dims) - 2)))  # one per channel, as older exporters write it
    return ops.where(ops.less(x, 0), ops.multiply(x, slope), x)


@converter("Elu")
def _elu(node: Node) -> RelayExpr:
    x, alpha = node.inputs[0], node.attr("alpha", 1.0)
    curve = ops.subtract(ops.exp(ops.minimum(x, 0.0)), 1.0)
    return ops.where(ops.less(x, 0.0), ops.multiply(curve, alpha), x)  # a negative zero stays one


@converter("Celu")
def _celu(node: Node) -> RelayExpr:
    alpha = node.attr("alpha", 1.0)
    return _exponential(node.inputs[0], alpha, 1.0, alpha)


@converter("Selu")
def _selu(node: Node) -> RelayExpr:
    alpha, gamma = node.attr("alpha", SELU[0]), node.attr("gamma", SELU[1])
    return _exponential(node.inputs[0], alpha * gamma, gamma)


def _exponential(x: RelayExpr, negative: float, positive: float, width: float = 1.0) -> RelayExpr:
    """``positive * x`` above zero, ``negative * (exp(x / width) - 1)`` below it, where exp never overflows."""
    below = ops.minimum(x, 0.0)
    curve = ops.subtract(ops.exp(below if width == 1.0 else ops.divide(below, width)), 1.0)
    above = ops.nn.relu(x)
    return ops.add(above if positive == 1.0 else ops.multiply(above, positive), ops.multiply(curve, negative))


def hard_sigmoid(x: RelayExpr, alpha: float, beta: float) -> RelayExpr:
    """Return ``clip(alpha * x + beta, 0, 1)``."""
    line = ops.add(ops.multiply(x, alpha), beta)
    return ops.clip(line, 0.0, 1.0)


@converter("Swish")
def _swish(node: Node) -> RelayExpr:
    x, alpha = node.inputs[0], node.attr("alpha", 1.0)
    return ops.multiply(x, ops.sigmoid(x if alpha == 1.0 else ops.multiply(x, alpha)))


@converter("Dropout")
def _dropout(node: Node) -> RelayExpr | list[RelayExpr]:
    """Convert ``Dropout``, which is the identity at inference."""
    x = node.inputs[0]
    mode = node.value(2, "training_mode")
    if mode is not None and bool(mode) and (node.input(1) is None or float(node.array(1, "ratio")) > 0):
        raise ConversionError("dropout in training mode draws random numbers, which is not supported")
    if not node.wants(1):
        return x
    dims = static_dims(x, "the input")
    bounded(*dims)
    return [x, constant(np.ones(dims, bool))]
