"""Elementwise arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeGuard

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.indexing import places_of
from compiler.relay.frontend.pytorch.dtypes import cast, dtype_name, promoted, result_dtype, tensor
from compiler.relay.frontend.pytorch.registry import Convert, converter, converters
from compiler.relay.frontend.pytorch.tensors import dtype_of, ops, scalar
from compiler.relay.frontend.pytorch.values import DType, Scalar, TorchValue, as_items
from compiler.relay.frontend.shared.folding import Operators

Compute: TypeAlias = Callable[[RelayExpr], RelayExpr]
Binary: TypeAlias = Callable[[RelayExpr, RelayExpr], RelayExpr]


def is_number(value: Scalar) -> TypeGuard[float]:
    """Return whether a value is a Python number, which is evaluated during import."""
    return not isinstance(value, RelayExpr)


def floating(x: Scalar) -> RelayExpr:
    """Convert a tensor to a floating-point type."""
    return promoted(x, floating=True)[0]


def _unary(compute: Compute, on_number: Callable[[float], float] | None = None) -> Convert:
    def convert(x: Scalar) -> Scalar:
        if on_number is not None and is_number(x):
            return on_number(x)
        return compute(tensor(x))

    return convert


def _unary_floating(compute: Compute, on_number: Callable[[float], float] | None = None) -> Convert:
    return _unary(lambda x: compute(floating(x)), on_number)


def _one_over(x: RelayExpr) -> RelayExpr:
    return ops.divide(scalar(1, x), x)


_OF_MATH = (
    "exp", "log", "log2", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "erf",
)  # fmt: skip
"""Functions that Python's ``math`` has under the same name, for numbers."""

converters({name: _unary_floating(getattr(ops, name), getattr(math, name)) for name in _OF_MATH})
converters({f"arc{name[1:]}": _unary_floating(getattr(ops, name)) for name in _OF_MATH if name.startswith("a")})
converters(
    {
        "special_erf": _unary_floating(ops.erf),
        "rsqrt": _unary_floating(ops.rsqrt),
        "reciprocal": _unary_floating(_one_over),
        "erfc special_erfc": _unary_floating(lambda x: ops.subtract(1.0, ops.erf(x))),
        "exp2 special_exp2": _unary_floating(lambda x: ops.power(scalar(2, x), x)),
        "deg2rad": _unary_floating(lambda x: ops.multiply(x, math.pi / 180)),
        "rad2deg": _unary_floating(lambda x: ops.multiply(x, 180 / math.pi)),
        "abs absolute": _unary(lambda x: ops.abs(x), abs),
        "neg negative": _unary(lambda x: ops.negative(x), operator.neg),
        "sign sgn": _unary(ops.sign),
        "sigmoid special_expit": _unary_floating(ops.sigmoid),
        "square": _unary(lambda x: ops.multiply(x, x)),
        "frac": lambda x: ops.subtract(x, ops.trunc(x)),
        "positive": _unary(lambda x: x),
        "relu": _unary(ops.nn.relu),
    }
)


@converter("expm1", "special_expm1")
def _expm1(x: RelayExpr) -> RelayExpr:
    """Compute ``e^x - 1`` as ``tanh(x / 2) * (e^x + 1)``, which is accurate near zero."""
    x = floating(x)
    small = ops.multiply(ops.tanh(ops.multiply(x, 0.5)), ops.add(ops.exp(x), 1.0))
    return ops.where(ops.less(ops.abs(x), 1.0), small, ops.subtract(ops.exp(x), 1.0))


@converter("log1p", "special_log1p")
def _log1p(x: RelayExpr) -> RelayExpr:
    """Compute ``log(1 + x)`` as ``2 * atanh(x / (2 + x))``, which is accurate near zero."""
    x = floating(x)
    small = ops.multiply(ops.atanh(ops.divide(x, ops.add(x, 2.0))), 2.0)
    return ops.where(ops.less(ops.abs(x), 0.5), small, ops.log(ops.add(x, 1.0)))


def _rounding(compute: Compute, on_number: Callable[[float], float], x: Scalar) -> Scalar:
    if not isinstance(x, RelayExpr):
        return on_number(x)
    return compute(x) if "float" in dtype_of(x) else x


converters(
    {
        "ceil": partial(_rounding, ops.ceil, math.ceil),
        "floor": partial(_rounding, ops.floor, math.floor),
        "trunc fix": partial(_rounding, ops.trunc, math.trunc),
    }
)


@converter("round")
def _round(x: Scalar, decimals: int = 0) -> Scalar:
    if not isinstance(x, RelayExpr):
        return float(round(x)) if decimals == 0 else round(x, decimals)
    if "float" not in dtype_of(x):
        return x
    if not decimals:
        return ops.nearbyint(x)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return ops.divide(ops.nearbyint(ops.multiply(x, scale)), scale)
    return ops.multiply(ops.nearbyint(ops.divide(x, scale)), scale)


@converter("logit", "special_logit")
def _logit(x: RelayExpr, eps: float | None = None) -> RelayExpr:
    x = floating(x)
    x = x if eps is None else ops.clip(x, eps, 1 - eps)
    return ops.log(ops.divide(x, ops.subtract(1.0, x)))


@converter("nan_to_num")
def _nan_to_num(
    x: RelayExpr, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> RelayExpr:
    if "float" not in dtype_of(x):
        return x
    bounds = _finite_bounds(dtype_of(x))
    high = scalar(bounds[1] if posinf is None else posinf, x)
    low = scalar(bounds[0] if neginf is None else neginf, x)
    finite = ops.where(ops.isinf(x), ops.where(ops.greater(x, 0.0), high, low), x)
    return ops.where(ops.isnan(x), scalar(nan or 0.0, x), finite)


def _finite_bounds(dtype: str) -> tuple[float, float]:
    import torch

    info = torch.finfo(getattr(torch, dtype))
    return info.min, info.max


# two operands


def _binary(compute: Binary, on_numbers: Callable[[float, float], float] | None = None) -> Convert:
    def convert(a: Scalar, other: Scalar) -> Scalar:
        if on_numbers is not None and is_number(a) and is_number(other):
            return on_numbers(a, other)
        return compute(*promoted(a, other))

    return convert


converters(
    {
        "mul multiply": _binary(ops.multiply, operator.mul),
        "maximum fmax": _binary(ops.maximum),
        "minimum fmin": _binary(ops.minimum),
        "bitwise_and __and__ __iand__": _binary(
            lambda a, b: _bits(ops.logical_and, ops.bitwise_and, a, b), operator.and_
        ),
        "bitwise_or __or__ __ior__": _binary(lambda a, b: _bits(ops.logical_or, ops.bitwise_or, a, b), operator.or_),
        "bitwise_xor __xor__ __ixor__": _binary(
            lambda a, b: _bits(ops.logical_xor, ops.bitwise_xor, a, b), operator.xor
        ),
        "float_power": lambda a, exponent: ops.power(*(cast(x, "float64") for x in promoted(a, exponent))),
        "bitwise_left_shift __lshift__": _binary(ops.left_shift, operator.lshift),
        "bitwise_right_shift __rshift__": _binary(ops.right_shift, operator.rshift),
    }
)


def _bits(on_truth: Operators, on_bits: Operators, a: RelayExpr, b: RelayExpr) -> RelayExpr:
    return (on_truth if dtype_of(a) == "bool" else on_bits)(a, b)


@converter("add")
def _add(a: Scalar | Sequence[TorchValue], other: Scalar | Sequence[TorchValue], alpha: Scalar = 1,
         **_unused: object) -> Scalar | Sequence[TorchValue]:  # fmt: skip
    if isinstance(a, Sequence) or isinstance(other, Sequence):
        return [*as_items(a), *as_items(other)]
    if is_number(a) and is_number(other) and is_number(alpha):
        return a + alpha * other
    left, right = promoted(a, other)
    return ops.add(left, _scaled(right, alpha))


def _scaled(x: RelayExpr, factor: Scalar) -> RelayExpr:
    return x if is_number(factor) and factor == 1 else ops.multiply(x, tensor(factor, dtype_of(x)))


@converter("sub", "subtract")
def _sub(a: Scalar, other: Scalar, alpha: Scalar = 1) -> Scalar:
    if is_number(a) and is_number(other) and is_number(alpha):
        return a - alpha * other
    left, right = promoted(a, other)
    return ops.subtract(left, _scaled(right, alpha))


@converter("rsub")
def _rsub(a: Scalar, other: Scalar, alpha: Scalar = 1) -> RelayExpr:
    left, right = promoted(a, other)
    return ops.subtract(right, _scaled(left, alpha))


@converter("div", "divide", "true_divide")
def _div(a: Scalar, other: Scalar, rounding_mode: str | None = None) -> TorchValue:
    if is_number(a) and is_number(other):
        return a / other
    if rounding_mode is None:
        return ops.divide(*promoted(a, other, floating=True))
    if rounding_mode == "floor":
        return _floor_divide(a, other)
    return _quotient(ops.trunc, ops.trunc_divide)(*promoted(a, other))


def _quotient(rounded: Compute, of_integers: Binary) -> Binary:
    """Return the division whose quotients are rounded."""
    return lambda a, b: rounded(ops.divide(a, b)) if "float" in dtype_of(a) else of_integers(a, b)


def _remainder(rounded: Compute, of_integers: Binary, a: RelayExpr, b: RelayExpr) -> RelayExpr:
    """Return what a division leaves whose quotients are rounded."""
    if "float" in dtype_of(a):
        return ops.subtract(a, ops.multiply(rounded(ops.divide(a, b)), b))
    return of_integers(a, b)


_floor_divide = _binary(_quotient(ops.floor, ops.floor_divide), operator.floordiv)
converters(
    {
        "floor_divide floordiv": _floor_divide,
        "remainder": _binary(partial(_remainder, ops.floor, ops.floor_mod), operator.mod),
        "fmod": _binary(partial(_remainder, ops.trunc, ops.trunc_mod)),
    }
)


@converter("pow")
def _pow(a: Scalar, exponent: Scalar) -> Scalar:
    if is_number(a) and is_number(exponent):
        power: float = a**exponent
        return power
    if is_number(exponent) and exponent in (1, 2, 3):
        base = promoted(a, exponent)[0]
        return {1: base, 2: ops.multiply(base, base), 3: ops.multiply(ops.multiply(base, base), base)}[int(exponent)]
    if is_number(exponent) and exponent == 0.5:
        return ops.sqrt(floating(a))
    left, right = promoted(a, exponent)
    if "float" in dtype_of(left):
        return ops.power(left, right)
    wide = ops.power(cast(left, "float64"), cast(right, "float64"))
    return cast(ops.nearbyint(wide), dtype_of(left))


@converter("atan2", "arctan2")
def _atan2(a: Scalar, other: Scalar) -> RelayExpr:
    """Compute the four-quadrant arctangent of ``a / other``."""
    y, x = promoted(a, other, floating=True)
    angle = ops.atan(ops.divide(y, x))
    turned = ops.where(ops.less(y, 0.0), ops.subtract(angle, math.pi), ops.add(angle, math.pi))
    upright = ops.multiply(ops.sign(y), math.pi / 2)
    return ops.where(ops.greater(x, 0.0), angle, ops.where(ops.less(x, 0.0), turned, upright))


@converter("logaddexp")
def _logaddexp(a: Scalar, other: Scalar) -> RelayExpr:
    x, y = promoted(a, other, floating=True)
    high = ops.maximum(x, y)
    return ops.add(high, ops.log(ops.add(ops.exp(ops.subtract(x, high)), ops.exp(ops.subtract(y, high)))))


@converter("heaviside")
def _heaviside(a: Scalar, values: Scalar) -> RelayExpr:
    x, at_zero = promoted(a, values)
    return ops.where(ops.equal(x, scalar(0, x)), at_zero, cast(ops.greater(x, scalar(0, x)), dtype_of(x)))


def _binary_floating(compute: Binary) -> Convert:
    return lambda a, other: compute(*promoted(a, other, floating=True))


converters(
    {
        "hypot": _binary_floating(lambda x, y: ops.sqrt(ops.add(ops.multiply(x, x), ops.multiply(y, y)))),
        "copysign": _binary_floating(lambda x, y: ops.where(ops.less(y, 0.0), ops.negative(ops.abs(x)), ops.abs(x))),
        "xlogy special_xlogy": _binary_floating(
            lambda x, y: ops.where(ops.equal(x, 0.0), ops.multiply(x, 0.0), ops.multiply(x, ops.log(y)))
        ),
    }
)


# three and more


converters(
    {
        "lerp": lambda a, end, weight: ops.add(a, ops.multiply(ops.subtract(end, a), tensor(weight, dtype_of(a)))),
        "addcmul": lambda a, tensor1, tensor2, value=1: ops.add(a, _scaled(ops.multiply(tensor1, tensor2), value)),
        "addcdiv": lambda a, tensor1, tensor2, value=1: ops.add(a, _scaled(ops.divide(tensor1, tensor2), value)),
    }
)


@converter("clamp", "clip", "clamp_min", "clamp_max")
def _clamp(a: Scalar, min: Scalar | None = None, max: Scalar | None = None) -> RelayExpr:
    for bound, function in ((min, ops.maximum), (max, ops.minimum)):
        if bound is not None:
            a = function(*promoted(a, bound))
    return tensor(a)


@converter("where")
def _where(condition: RelayExpr, x: Scalar | None = None, other: Scalar | None = None) -> RelayExpr | list[RelayExpr]:
    if x is None or other is None:
        return places_of(condition)
    left, right = promoted(x, other)
    return ops.where(cast(condition, "bool"), left, right)


# data types


@converter("to", "_to_copy", "type", "to_dtype")
def _to(x: Scalar, dtype: DType | None = None, other: Scalar | None = None, **_unused: object) -> Scalar:
    if isinstance(other, RelayExpr):
        return cast(tensor(x), dtype_of(other))
    return x if dtype is None else cast(tensor(x), dtype_name(dtype))


converters(
    {"type_as": lambda x, other: cast(x, dtype_of(other)), "result_type": lambda a, other: result_dtype(a, other)}
)


converters(
    {
        names: (lambda x, dtype=dtype, **_unused: cast(x, dtype))
        for names, dtype in {
            "_cast_Float": "float32",
            "_cast_Double": "float64",
            "_cast_Half": "float16",
            "_cast_Int": "int32",
            "_cast_Long": "int64",
            "_cast_Byte": "uint8",
            "_cast_Char": "int8",
            "_cast_Short": "int16",
        }.items()
    }
)
