"""Functions of single elements, a row each: ``exp``, ``sqrt``, ``tanh``, ``floor``, ``isnan``, …

A gradient in the table is ``(x, y, g) -> expression``: the input, the result, and the gradient of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import FIRST_ORDER, NOT_SMOOTH, OpFunction, same_layout
from compiler.relay.op.relations import identity, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi import elementwise as topi
from compiler.topi import fast_math

Rule = Callable[[Any, Any, Any], Any]


def floating(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the input, which must be floating-point."""
    data = tensor(types[0], "data")
    if not dt.is_float(data.dtype):
        raise RelationError(f"data must be floating-point, got {data}; cast it first")
    return data


def truth(types: Types, attrs: Attrs) -> Type:
    """The output has the shape of the input and says yes or no."""
    data = tensor(types[0], "data")
    return TensorType(data.shape, "bool")


def logical(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the input, which must be truth values."""
    data = tensor(types[0], "data")
    if not dt.is_bool(data.dtype):
        raise RelationError(f"data must be of type bool, got {data}; cast it first")
    return data


def integral(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the input, which must be integers."""
    data = tensor(types[0], "data")
    if not dt.is_integral(data.dtype):
        raise RelationError(f"data must be integers, got {data}; cast it first")
    return data


def _unary(
    name: str,
    compute: Callable[[Any], Any],
    reference: Callable[..., Any],
    doc: str,
    gradient: Rule | None = None,
    relation: Any = floating,
    waived: Any = NOT_SMOOTH,
) -> OpFunction:
    """Register a function of single elements and return what calls it."""
    rule = None if gradient is None else lambda call, grad: [gradient(call.args[0], call, grad)]
    op = register(
        name,
        doc=doc,
        inputs=("data",),
        relation=relation,
        pattern=OpPattern.ELEMWISE,
        compute=lambda attrs, inputs, out_type: [compute(inputs[0])],
        reference=lambda attrs, x: reference(x),
        gradient=rule,
        layout=same_layout,
        waived={} if gradient else waived,
    )

    def build(data: Expr) -> Call:
        return op(data)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def _like(x: Any, value: float) -> Any:
    return const(value, x.checked_type.dtype)


def _mul(a: Any, b: Any) -> Any:
    return call_op("multiply", a, b)


def _div(a: Any, b: Any) -> Any:
    return call_op("divide", a, b)


def _one_minus_square(x: Any, sign: float = -1.0) -> Any:
    """Return ``1 - x * x``, or ``1 + x * x``."""
    return call_op("add", _like(x, 1), _mul(_like(x, sign), _mul(x, x)))


def _sqrt(x: Any) -> Any:
    return call_op("sqrt", x)


def _round(x: Any) -> Any:
    """Halves go away from zero."""
    if x.dtype.kind != "f":
        return x
    whole = np.trunc(x)
    return (whole + np.copysign(np.abs(x - whole) >= 0.5, x)).astype(x.dtype)


_math_erf = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Any) -> Any:
    return np.asarray(_math_erf(x)).astype(x.dtype)


def _kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """Integers are their own rounding."""
    return lambda x: function(x) if x.dtype.kind == "f" else x


def _sigmoid(x: Any) -> Any:
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


def _erf_gradient(x: Any, y: Any, g: Any) -> Any:
    return _mul(g, _mul(_like(x, 2 / math.sqrt(math.pi)), call_op("exp", call_op("negative", _mul(x, x)))))


abs = _unary("abs", topi.abs, np.abs, "Absolute value.", lambda x, y, g: _mul(g, call_op("sign", x)), identity)
exp = _unary("exp", topi.exp, np.exp, "e to the power of x.", lambda x, y, g: _mul(g, y))
log = _unary("log", topi.log, np.log, "Natural logarithm.", lambda x, y, g: _div(g, x))
log2 = _unary(
    "log2", topi.log2, np.log2, "Logarithm to base 2.", lambda x, y, g: _div(g, _mul(x, _like(x, math.log(2))))
)
log10 = _unary(
    "log10", topi.log10, np.log10, "Logarithm to base 10.", lambda x, y, g: _div(g, _mul(x, _like(x, math.log(10))))
)
sqrt = _unary("sqrt", topi.sqrt, np.sqrt, "Square root.", lambda x, y, g: _div(_mul(g, _like(x, 0.5)), y))
rsqrt = _unary(
    "rsqrt",
    topi.rsqrt,
    lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    "One over the square root.",
    lambda x, y, g: _mul(_mul(g, _like(x, -0.5)), _mul(y, _mul(y, y))),
)
sin = _unary("sin", topi.sin, np.sin, "Sine of radians.", lambda x, y, g: _mul(g, call_op("cos", x)))
cos = _unary("cos", topi.cos, np.cos, "Cosine of radians.", lambda x, y, g: call_op("negative", _mul(g, sin(x))))
tan = _unary("tan", topi.tan, np.tan, "Tangent of radians.", lambda x, y, g: _mul(g, _one_minus_square(y, 1.0)))
sinh = _unary("sinh", topi.sinh, np.sinh, "Hyperbolic sine.", lambda x, y, g: _mul(g, call_op("cosh", x)))
cosh = _unary("cosh", topi.cosh, np.cosh, "Hyperbolic cosine.", lambda x, y, g: _mul(g, sinh(x)))
tanh = _unary("tanh", topi.tanh, np.tanh, "Hyperbolic tangent.", lambda x, y, g: _mul(g, _one_minus_square(y)))
asin = _unary(
    "asin", topi.asin, np.arcsin, "Inverse sine, in radians.", lambda x, y, g: _div(g, _sqrt(_one_minus_square(x)))
)
acos = _unary(
    "acos",
    topi.acos,
    np.arccos,
    "Inverse cosine, in radians.",
    lambda x, y, g: call_op("negative", _div(g, _sqrt(_one_minus_square(x)))),
)
atan = _unary(
    "atan", topi.atan, np.arctan, "Inverse tangent, in radians.", lambda x, y, g: _div(g, _one_minus_square(x, 1.0))
)
asinh = _unary(
    "asinh",
    topi.asinh,
    np.arcsinh,
    "Inverse hyperbolic sine.",
    lambda x, y, g: _div(g, _sqrt(_one_minus_square(x, 1.0))),
)
acosh = _unary(
    "acosh",
    topi.acosh,
    np.arccosh,
    "Inverse hyperbolic cosine.",
    lambda x, y, g: _div(g, _sqrt(call_op("subtract", _mul(x, x), _like(x, 1)))),
)
atanh = _unary(
    "atanh",
    topi.atanh,
    np.arctanh,
    "Inverse hyperbolic tangent.",
    lambda x, y, g: _div(g, _one_minus_square(x)),
)
sigmoid = _unary(
    "sigmoid",
    topi.sigmoid,
    _sigmoid,
    "1 / (1 + exp(-x)).",
    lambda x, y, g: _mul(g, _mul(y, call_op("subtract", _like(x, 1), y))),
)
erf = _unary("erf", topi.erf, _erf, "Error function.", _erf_gradient)
floor = _unary("floor", topi.floor, _kept(np.floor), "Largest whole number not above x.", relation=identity)
ceil = _unary("ceil", topi.ceil, _kept(np.ceil), "Smallest whole number not below x.", relation=identity)
round = _unary("round", topi.round, _round, "Nearest whole number, halves away from zero.", relation=identity)
trunc = _unary("trunc", topi.trunc, _kept(np.trunc), "Whole number next to x towards zero.", relation=identity)
sign = _unary("sign", topi.sign, np.sign, "-1, 0 or 1 by the sign of x.", relation=identity)
negative = _unary(
    "negative", topi.negative, np.negative, "Minus x.", lambda x, y, g: call_op("negative", g), relation=identity
)
copy = _unary("copy", topi.identity, np.copy, "A copy.", lambda x, y, g: g, relation=identity)
logical_not = _unary("logical_not", topi.logical_not, np.logical_not, "Whether x does not hold.", relation=logical)
bitwise_not = _unary("bitwise_not", topi.bitwise_not, np.invert, "x with all bits turned over.", relation=integral)
isnan = _unary("isnan", topi.isnan, np.isnan, "Whether x is not a number.", relation=truth)
isfinite = _unary("isfinite", topi.isfinite, np.isfinite, "Whether x is neither infinite nor NaN.", relation=truth)
isinf = _unary("isinf", topi.isinf, np.isinf, "Whether x is infinite.", relation=truth)

# FastMath makes these of exp, tanh and erf.
fast_exp = _unary("fast_exp", fast_math.fast_exp, np.exp, "e to the power of x, fast.", waived=FIRST_ORDER)
fast_tanh = _unary("fast_tanh", fast_math.fast_tanh, np.tanh, "Hyperbolic tangent, fast.", waived=FIRST_ORDER)
fast_erf = _unary("fast_erf", fast_math.fast_erf, _erf, "Error function, fast.", waived=FIRST_ORDER)


def _clip_gradient(call: Call, grad: Expr) -> list[Expr]:
    x = call.args[0]
    low, high = (_like(x, v) for v in (call.attrs.a_min, call.attrs.a_max))
    inside = call_op("logical_and", call_op("greater_equal", x, low), call_op("less_equal", x, high))
    return [call_op("where", inside, grad, call_op("zeros_like", grad))]


def _clip_reference(attrs: Attrs, x: Any) -> Any:
    if x.dtype.kind == "f":
        return np.clip(x, x.dtype.type(attrs.a_min), x.dtype.type(attrs.a_max))
    limits = np.iinfo(x.dtype)
    low, high = (int(min(max(v, limits.min), limits.max)) for v in (attrs.a_min, attrs.a_max))
    return np.clip(x, low, high).astype(x.dtype)


_CLIP = register(
    "clip",
    doc="x where it is between two bounds, the nearer bound elsewhere.",
    inputs=("a",),
    attributes={"a_min": REQUIRED, "a_max": REQUIRED},
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    compute=lambda attrs, inputs, out_type: [topi.clip(inputs[0], attrs.a_min, attrs.a_max)],
    reference=_clip_reference,
    gradient=_clip_gradient,
    layout=same_layout,
)


def clip(a: Expr, a_min: float, a_max: float) -> Call:
    """Return ``a`` where it is from ``a_min`` to ``a_max``, the nearer of the two elsewhere."""
    return _CLIP(a, a_min=float(a_min), a_max=float(a_max))


def _fixed_point_reference(attrs: Attrs, x: Any) -> Any:
    right = 31 + max(-attrs.shift, 0)
    scaled = (x.astype("int64") << max(attrs.shift, 0)) * attrs.multiplier + (1 << (right - 1))
    return (scaled >> right).astype(x.dtype)


_FIXED_POINT_MULTIPLY = register(
    "fixed_point_multiply",
    doc="Integers times multiplier * 2 ** (shift - 31), rounded to the nearest, halves up.",
    inputs=("data",),
    attributes={"multiplier": REQUIRED, "shift": REQUIRED},
    relation=integral,
    pattern=OpPattern.ELEMWISE,
    compute=lambda attrs, inputs, out_type: [topi.fixed_point_multiply(inputs[0], attrs.multiplier, attrs.shift)],
    reference=_fixed_point_reference,
    layout=same_layout,
    waived=NOT_SMOOTH,
)


def fixed_point_multiply(data: Expr, multiplier: int, shift: int) -> Call:
    """Return integers times ``multiplier * 2 ** (shift - 31)``, rounded to the nearest."""
    return _FIXED_POINT_MULTIPLY(data, multiplier=multiplier, shift=shift)
