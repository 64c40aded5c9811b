"""Floating-point math intrinsics: one registration and one builder each.

Every reference is a NumPy function of scalars or arrays whose result has the type of its first argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import DTypeError, show
from compiler.ir.expr.primexpr import (
    And,
    BinaryOp,
    Call,
    ExprLike,
    FloatImm,
    IntImm,
    Max,
    Min,
    Not,
    PrimExpr,
    Select,
    binary,
    cast,
    const,
    convert,
    match_types,
)
from compiler.ir.op import Op, register_op
from compiler.tir.expressions.evaluation import Value

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _float_operand(name: str, x: ExprLike) -> PrimExpr:
    e = convert(x)
    if not dt.is_float(e.dtype):
        raise DTypeError(f"{name}: expected a floating-point operand, got {e.dtype} in {show(e)}; cast it with .astype")
    return e


def _exact_call(op: Op, e: PrimExpr) -> PrimExpr:
    """Return a call of an operation that is exact in every floating-point type; of a constant, its result."""
    if isinstance(e, FloatImm) and op.reference is not None:
        return FloatImm(e.dtype, float(op.reference(np.float64(e.value))))
    return Call(e.dtype, op, (e,))


def _unary(name: str, reference: Callable[..., object], doc: str) -> Callable[[ExprLike], PrimExpr]:
    op = register_op("tir." + name, reference=reference, doc=doc)

    def build(x: ExprLike) -> PrimExpr:
        e = convert(x)
        if not dt.is_real(e.dtype) and not dt.is_integral(e.dtype):
            raise DTypeError(f"{name}: expected a number, got {e.dtype} in {show(e)}")
        return Call(e.dtype, op, (e,))

    operand = "A number, or a vector of them; machine code is made for floating-point ones."
    _document(build, name, doc, {"x": operand}, _FLOAT_RESULT)
    return build


def _rounding(name: str, reference: Callable[..., object], doc: str) -> Callable[[ExprLike], PrimExpr]:
    """Integers are their own rounding; constants are rounded at once."""
    op = register_op("tir." + name, reference=reference, doc=doc)

    def build(x: ExprLike) -> PrimExpr:
        e = convert(x)
        if dt.is_integral(e.dtype):
            return e
        return _exact_call(op, _float_operand(name, e))

    _document(build, name, doc, {"x": "A number; an integer is returned as it is."}, _FLOAT_RESULT)
    return build


def _binary(name: str, reference: Callable[..., object], doc: str) -> Callable[[ExprLike, ExprLike], PrimExpr]:
    op = register_op("tir." + name, reference=reference, doc=doc)

    def build(x: ExprLike, y: ExprLike) -> PrimExpr:
        a, b = match_types(x, y, name)
        _float_operand(name, a)
        return Call(a.dtype, op, (a, b))

    _document(build, name, doc, {"x, y": "Floating-point numbers, brought to one type."}, "Of their common type.")
    return build


def _numbered(name: str, reference: Callable[..., object], doc: str) -> Callable[[ExprLike, ExprLike], PrimExpr]:
    """A binary function whose operands are called ``x1`` and ``x2``."""
    combined = _binary(name, reference, doc)

    def build(x1: ExprLike, x2: ExprLike) -> PrimExpr:
        return combined(x1, x2)

    _document(build, name, doc, {"x1, x2": "Floating-point numbers, brought to one type."}, "Of their common type.")
    return build


_FLOAT_RESULT = "Of the type of ``x``."


def _document(build: Callable[..., PrimExpr], name: str, doc: str, parameters: dict[str, str], result: str) -> None:
    """Give a builder its name, and the documentation that its row of the registry makes."""
    described = "".join(f"{names} : PrimExpr\n    {text}\n" for names, text in parameters.items())
    build.__name__ = build.__qualname__ = name
    build.__doc__ = (
        f"{doc}\n\nParameters\n----------\n{described}\nReturns\n-------\nPrimExpr\n    {result}\n\n"
        f"Raises\n------\nDTypeError\n    If an operand is not a floating-point number.\n"
    )


def _round_half_away(x: Value) -> Value:
    truncated = np.trunc(x)
    return truncated + np.copysign(np.abs(x - truncated) >= 0.5, x)


exp = _unary("exp", np.exp, "e to the power of x.")
exp2 = _unary("exp2", np.exp2, "2 to the power of x.")
exp10 = _unary("exp10", lambda x: np.power(x * 0 + 10, x), "10 to the power of x.")
log = _unary("log", np.log, "Natural logarithm of x.")
log2 = _unary("log2", np.log2, "Logarithm of x to base 2.")
log10 = _unary("log10", np.log10, "Logarithm of x to base 10.")
log1p = _unary("log1p", np.log1p, "Natural logarithm of 1 + x, accurate near 0.")
sqrt = _unary("sqrt", np.sqrt, "Square root of x.")
rsqrt = _unary("rsqrt", lambda x: 1 / np.sqrt(x), "One over the square root of x.")
sin = _unary("sin", np.sin, "Sine of x in radians.")
cos = _unary("cos", np.cos, "Cosine of x in radians.")
tan = _unary("tan", np.tan, "Tangent of x in radians.")
asin = _unary("asin", np.arcsin, "Inverse sine of x, in radians.")
acos = _unary("acos", np.arccos, "Inverse cosine of x, in radians.")
atan = _unary("atan", np.arctan, "Inverse tangent of x, in radians.")
sinh = _unary("sinh", np.sinh, "Hyperbolic sine of x.")
cosh = _unary("cosh", np.cosh, "Hyperbolic cosine of x.")
tanh = _unary("tanh", np.tanh, "Hyperbolic tangent of x.")
asinh = _unary("asinh", np.arcsinh, "Inverse hyperbolic sine of x.")
acosh = _unary("acosh", np.arccosh, "Inverse hyperbolic cosine of x.")
atanh = _unary("atanh", np.arctanh, "Inverse hyperbolic tangent of x.")
sigmoid = _unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)), "1 / (1 + exp(-x)).")
erf = _unary("erf", lambda x: _erf(x).astype(np.asarray(x).dtype), "Error function of x.")

floor = _rounding("floor", np.floor, "The largest whole number not above x.")
ceil = _rounding("ceil", np.ceil, "The smallest whole number not below x.")
trunc = _rounding("trunc", np.trunc, "The whole number next to x towards zero.")
round = _rounding("round", _round_half_away, "The whole number nearest to x, halves away from zero.")
nearbyint = _rounding("nearbyint", np.rint, "The whole number nearest to x, halves to the even one.")

power = pow = _binary("pow", np.power, "x to the power of y.")
fmod = _binary("fmod", np.fmod, "Remainder of x / y; it has the sign of x.")
atan2 = _numbered("atan2", np.arctan2, "Angle of the point (x2, x1), in radians.")
copysign = _numbered("copysign", np.copysign, "The magnitude of x1 with the sign of x2.")
hypot = _numbered("hypot", np.hypot, "sqrt(x1 * x1 + x2 * x2) without overflow.")
nextafter = _numbered("nextafter", np.nextafter, "The next number after x1 in the direction of x2.")

_FMAXIMUM = register_op("tir.fmaximum", reference=np.maximum, doc="The larger of x and y, NaN if either is.")
_FMINIMUM = register_op("tir.fminimum", reference=np.minimum, doc="The smaller of x and y, NaN if either is.")


def _propagating(op: Op, kind: type[BinaryOp], x: ExprLike, y: ExprLike) -> PrimExpr:
    a, b = match_types(x, y, op.name.removeprefix("tir."))
    if not dt.is_real(a.dtype) or dt.parse(a.dtype).is_custom:  # a program says what Max is of a type of its own
        return binary(kind, a, b)
    if isinstance(a, FloatImm) and isinstance(b, FloatImm) and op.reference is not None:
        return FloatImm(a.dtype, float(op.reference(a.value, b.value)))
    return Call(a.dtype, op, (a, b))


def fmaximum(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the larger of two values, NaN if either is: ``fmaximum`` of C, ``numpy.maximum``.

    Of zeros with different signs it is either.
    """
    return _propagating(_FMAXIMUM, Max, x, y)


def fminimum(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the smaller of two values, NaN if either is: ``fminimum`` of C, ``numpy.minimum``.

    Of zeros with different signs it is either.
    """
    return _propagating(_FMINIMUM, Min, x, y)


_FABS = register_op("tir.fabs", reference=np.fabs, doc="Absolute value of a floating-point x.")
_ISNAN = register_op("tir.isnan", reference=np.isnan, doc="Whether x is not a number.")
_LDEXP = register_op("tir.ldexp", reference=np.ldexp, doc="x times 2 to the power of an integer.")
_FMA = register_op("tir.fma", reference=lambda x, y, z: x * y + z, doc="x * y + z, rounded once.")


def abs(x: ExprLike) -> PrimExpr:
    """Return the absolute value of a number; the smallest integer of a type has none there and stays."""
    e = convert(x)
    if dt.is_uint(e.dtype) or dt.is_bool(e.dtype):
        return e
    if dt.is_int(e.dtype):
        if isinstance(e, IntImm):
            return const(-e.value if e.value < 0 else e.value, e.dtype)
        zero = const(0, e.dtype)
        return Select(e >= zero, e, zero - e)
    e = _float_operand("abs", e)
    return _exact_call(_FABS, e)


fabs = abs


def isnan(x: ExprLike) -> PrimExpr:
    """Return whether a value is not a number; an integer is always a number."""
    e = convert(x)
    truth = dt.with_lanes("bool", dt.lanes(e.dtype))
    if dt.is_integral(e.dtype):
        return const(False, truth)
    e = _float_operand("isnan", e)
    if isinstance(e, FloatImm):
        return const(math.isnan(e.value), truth)
    if dt.bits(e.dtype) == 16:
        e = cast(dt.with_lanes("float32", dt.lanes(e.dtype)), e)
    return Call(truth, _ISNAN, (e,))


def isinf(x: ExprLike) -> PrimExpr:
    """Return whether a value is infinite; an integer never is."""
    e = convert(x)
    if dt.is_integral(e.dtype):
        return const(False, dt.with_lanes("bool", dt.lanes(e.dtype)))
    if isinstance(e, FloatImm):
        return const(math.isinf(e.value), "bool")
    return And(abs(e).equal(const(math.inf, e.dtype)), Not(isnan(e)))


def isfinite(x: ExprLike) -> PrimExpr:
    """Return whether a value is neither infinite nor not a number; an integer always is."""
    e = convert(x)
    if dt.is_integral(e.dtype):
        return const(True, dt.with_lanes("bool", dt.lanes(e.dtype)))
    if isinstance(e, FloatImm):
        return const(math.isfinite(e.value), "bool")
    return And(Not(isinf(e)), Not(isnan(e)))


def ldexp(x1: ExprLike, x2: ExprLike) -> PrimExpr:
    """Return ``x1 * 2 ** x2``, of the type of ``x1``.

    Raises DTypeError if ``x1`` is not a floating-point number, or ``x2`` no integer.
    """
    value, power_of_two = _float_operand("ldexp", x1), convert(x2)
    if not dt.is_integral(power_of_two.dtype):
        raise DTypeError(f"ldexp: x2 must be an integer, got {power_of_two.dtype} in {show(power_of_two)}")
    return Call(value.dtype, _LDEXP, (value, power_of_two))


def fma(x: ExprLike, y: ExprLike, z: ExprLike) -> PrimExpr:
    """Return ``x * y + z``, rounded once."""
    a, b = match_types(x, y, "fma")
    a, c = match_types(a, z, "fma")
    _float_operand("fma", a)
    return Call(a.dtype, _FMA, (a, cast(a.dtype, b), c))
