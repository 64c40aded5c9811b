"""Unary elementwise operators: ``exp``, ``sqrt``, ``tanh``, ``floor``, ``isnan``, …

A gradient in the table is ``(x, y, g) -> expression``: the input, the result, and the gradient of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT, INT
from compiler.ir.error import DTypeError
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, const
from compiler.relay.op.common import FIRST_ORDER, NOT_SMOOTH
from compiler.relay.op.layout_rules import same_layout
from compiler.relay.op.type_relations import identity, tensor, tensor_of_kind
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, Gradient, OpPattern, Relation, Types, call_op
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi import elementwise as topi
from compiler.topi import extrema, fast_math
from compiler.topi.definitions import summary_of

Rule = Callable[[RelayExpr, RelayExpr, RelayExpr], RelayExpr]


class ClipAttrs(Attrs):
    a_min: float = attr_field(FLOAT, "Least value.")
    a_max: float = attr_field(FLOAT, "Largest value.")


class FixedPointMultiplyAttrs(Attrs):
    multiplier: int = attr_field(INT, "Factor as an integer with 31 bits behind the point.")
    shift: int = attr_field(INT, "Power of two to multiply by.")


def numeric(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the input; where that is not floating-point, code is refused later."""
    return tensor(types[0], "data")


def floating(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the input, which must be floating-point."""
    return tensor_of_kind(types[0], dt.is_real, "floating-point")


def boolean_result(types: Types, attrs: Attrs) -> Type:
    """The output has the shape of the input and data type bool."""
    data = tensor(types[0], "data")
    return TensorType(data.shape, "bool")


def logical(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the input, which must be truth values."""
    return tensor_of_kind(types[0], dt.is_bool, "of type bool")


def integral(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the input, which must be integers."""
    return tensor_of_kind(types[0], dt.is_integral, "integers")


def _unary(
    compute: Callable[[Tensor], Tensor],
    reference: Callable[..., Array],
    gradient: Rule | None = None,
    relation: Relation[Attrs] = numeric,
    waived: Mapping[str, str] = NOT_SMOOTH,
    name: str = "",
    onnx: str = "",
) -> OpFunction:
    """Register a function of single elements, with the documentation, and by default the name, of its definition."""
    name = name or compute.__name__
    summary = summary_of(compute).partition(";")[0].removesuffix(".")
    rule: Gradient | None = None if gradient is None else lambda call, grad: [gradient(call.args[0], call, grad)]

    def checked(dtype: str) -> None:
        # A function that never returns may say anything of its result, so types alone do not refuse integers.
        if relation is numeric and not dt.is_real(dtype):
            raise DTypeError(f"{name}: data must be floating-point, got {dtype}; cast it first")

    def definition(attrs: Attrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
        checked(inputs[0].dtype)
        return [compute(inputs[0])]

    def evaluate(attrs: Attrs, x: Array) -> Array:
        checked(str(x.dtype))
        return reference(x)

    return register(
        name,
        doc=f"{summary}.",
        inputs={"data": "The tensor ``x`` to apply it to."},
        relation=relation,
        pattern=OpPattern.ELEMWISE,
        compute=definition,
        reference=evaluate,
        gradient=rule,
        layout=same_layout,
        onnx=onnx,
        waived={} if gradient else waived,
    )


def _like(x: RelayExpr, value: float) -> Constant:
    return const(value, x.checked_type.dtype)


def _mul(a: RelayExpr, b: RelayExpr) -> Call:
    return call_op("multiply", a, b)


def _div(a: RelayExpr, b: RelayExpr) -> Call:
    return call_op("divide", a, b)


def _one_minus_square(x: RelayExpr, sign: float = -1.0) -> Call:
    """Return ``1 - x * x``, or ``1 + x * x``."""
    return call_op("add", _like(x, 1), _mul(_like(x, sign), _mul(x, x)))


def _sqrt(x: RelayExpr) -> Call:
    return call_op("sqrt", x)


def _round(x: Array) -> Array:
    """Halves go away from zero."""
    if x.dtype.kind in "iub":
        return x
    whole = np.trunc(x)
    result: Array = (whole + np.copysign(np.abs(x - whole) >= 0.5, x)).astype(x.dtype)
    return result


_math_erf = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Array) -> Array:
    return np.asarray(_math_erf(x)).astype(x.dtype)


def _floats_only(function: Callable[..., Array]) -> Callable[[Array], Array]:
    """Integers are their own rounding."""
    return lambda x: function(x) if x.dtype.kind not in "iub" else x


def _sigmoid(x: Array) -> Array:
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


def _erf_gradient(x: RelayExpr, y: RelayExpr, g: RelayExpr) -> RelayExpr:
    return _mul(g, _mul(_like(x, 2 / math.sqrt(math.pi)), call_op("exp", call_op("negative", _mul(x, x)))))


abs = _unary(topi.abs, np.abs, lambda x, y, g: _mul(g, call_op("sign", x)), onnx="Abs", relation=identity)
exp = _unary(topi.exp, np.exp, lambda x, y, g: _mul(g, y), onnx="Exp")
log = _unary(topi.log, np.log, lambda x, y, g: _div(g, x), onnx="Log")
log2 = _unary(topi.log2, np.log2, lambda x, y, g: _div(g, _mul(x, _like(x, math.log(2)))))
log10 = _unary(topi.log10, np.log10, lambda x, y, g: _div(g, _mul(x, _like(x, math.log(10)))))
sqrt = _unary(topi.sqrt, np.sqrt, lambda x, y, g: _div(_mul(g, _like(x, 0.5)), y), onnx="Sqrt")
rsqrt = _unary(
    topi.rsqrt,
    lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    lambda x, y, g: _mul(_mul(g, _like(x, -0.5)), _mul(y, _mul(y, y))),
)
sin = _unary(topi.sin, np.sin, lambda x, y, g: _mul(g, call_op("cos", x)), onnx="Sin")
cos = _unary(topi.cos, np.cos, lambda x, y, g: call_op("negative", _mul(g, sin(x))), onnx="Cos")
tan = _unary(topi.tan, np.tan, lambda x, y, g: _mul(g, _one_minus_square(y, 1.0)), onnx="Tan")
sinh = _unary(topi.sinh, np.sinh, lambda x, y, g: _mul(g, call_op("cosh", x)), onnx="Sinh")
cosh = _unary(topi.cosh, np.cosh, lambda x, y, g: _mul(g, sinh(x)), onnx="Cosh")
tanh = _unary(topi.tanh, np.tanh, lambda x, y, g: _mul(g, _one_minus_square(y)), onnx="Tanh")
asin = _unary(topi.asin, np.arcsin, lambda x, y, g: _div(g, _sqrt(_one_minus_square(x))), onnx="Asin")
acos = _unary(
    topi.acos, np.arccos, lambda x, y, g: call_op("negative", _div(g, _sqrt(_one_minus_square(x)))), onnx="Acos"
)
atan = _unary(topi.atan, np.arctan, lambda x, y, g: _div(g, _one_minus_square(x, 1.0)), onnx="Atan")
asinh = _unary(topi.asinh, np.arcsinh, lambda x, y, g: _div(g, _sqrt(_one_minus_square(x, 1.0))), onnx="Asinh")
acosh = _unary(
    topi.acosh, np.arccosh, lambda x, y, g: _div(g, _sqrt(call_op("subtract", _mul(x, x), _like(x, 1)))), onnx="Acosh"
)
atanh = _unary(topi.atanh, np.arctanh, lambda x, y, g: _div(g, _one_minus_square(x)), onnx="Atanh")
sigmoid = _unary(
    topi.sigmoid, _sigmoid, lambda x, y, g: _mul(g, _mul(y, call_op("subtract", _like(x, 1), y))), onnx="Sigmoid"
)
erf = _unary(topi.erf, _erf, _erf_gradient, onnx="Erf")
floor = _unary(topi.floor, _floats_only(np.floor), relation=identity, onnx="Floor")
ceil = _unary(topi.ceil, _floats_only(np.ceil), relation=identity, onnx="Ceil")
round = _unary(topi.round, _round, relation=identity)
nearbyint = _unary(topi.nearbyint, _floats_only(np.rint), relation=identity, onnx="Round")
trunc = _unary(topi.trunc, _floats_only(np.trunc), relation=identity)


def _of_numbers(reference: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a reference that leaves truth values as they are, which NumPy's refuses."""
    return lambda x: x.copy() if x.dtype.kind == "b" else reference(x)


sign = _unary(topi.sign, _of_numbers(np.sign), relation=identity, onnx="Sign")
negative = _unary(
    topi.negative, _of_numbers(np.negative), lambda x, y, g: call_op("negative", g), relation=identity, onnx="Neg"
)
copy = _unary(topi.identity, np.copy, lambda x, y, g: g, name="copy", relation=identity)
logical_not = _unary(topi.logical_not, np.logical_not, relation=logical, onnx="Not")
bitwise_not = _unary(topi.bitwise_not, np.invert, relation=integral, onnx="BitwiseNot")
isnan = _unary(topi.isnan, np.isnan, relation=boolean_result, onnx="IsNaN")
isfinite = _unary(topi.isfinite, np.isfinite, relation=boolean_result)
isinf = _unary(topi.isinf, np.isinf, relation=boolean_result)

# FastMath makes these of exp, tanh and erf.
fast_exp = _unary(fast_math.fast_exp, np.exp, waived=FIRST_ORDER)
fast_tanh = _unary(fast_math.fast_tanh, np.tanh, waived=FIRST_ORDER)
fast_erf = _unary(fast_math.fast_erf, _erf, waived=FIRST_ORDER)


def _clip_gradient(call: Call, grad: Expr) -> list[Expr]:
    x, attrs = call.args[0], ClipAttrs.of(call)
    low, high = _like(x, attrs.a_min), _like(x, attrs.a_max)
    inside = call_op("logical_and", call_op("greater_equal", x, low), call_op("less_equal", x, high))
    return [call_op("where", inside, grad, call_op("zeros_like", grad))]


def _clip_reference(attrs: ClipAttrs, x: Array) -> Array:
    if x.dtype.kind not in "iub":
        return np.clip(x, x.dtype.type(attrs.a_min), x.dtype.type(attrs.a_max)).astype(x.dtype)
    limits = np.iinfo(x.dtype)
    low, high = (int(min(max(v, limits.min), limits.max)) for v in (attrs.a_min, attrs.a_max))
    return np.clip(x, low, high).astype(x.dtype)


clip = register(
    "clip",
    doc="Limit each element to a range; NaN stays NaN.",
    inputs={"a": "The tensor to limit."},
    attrs=ClipAttrs,
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    definition=extrema.clip,
    reference=_clip_reference,
    gradient=_clip_gradient,
    layout=same_layout,
)


def _fixed_point_reference(attrs: FixedPointMultiplyAttrs, x: Array) -> Array:
    right = 31 + max(-attrs.shift, 0)
    scaled = (x.astype("int64") << max(attrs.shift, 0)) * attrs.multiplier + (1 << (right - 1))
    return (scaled >> right).astype(x.dtype)


fixed_point_multiply = register(
    "fixed_point_multiply",
    doc="Multiply integers by multiplier * 2 ** (shift - 31), rounded to the nearest, halves up.",
    inputs={"data": "A tensor of integers."},
    attrs=FixedPointMultiplyAttrs,
    relation=integral,
    pattern=OpPattern.ELEMWISE,
    definition=topi.fixed_point_multiply,
    reference=_fixed_point_reference,
    layout=same_layout,
    waived=NOT_SMOOTH,
)
