"""``tvm.topi.math``: all elementwise operators."""

from __future__ import annotations

from compiler import tir
from compiler.ir.error import expected
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.topi.broadcast import left_shift, right_shift
from compiler.topi.elementwise import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cast,
    ceil,
    clip,
    cos,
    cosh,
    erf,
    exp,
    fixed_point_multiply,
    floor,
    identity,
    isfinite,
    isinf,
    isnan,
    log,
    log2,
    log10,
    nearbyint,
    negative,
    reinterpret,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from compiler.topi.fast_math import fast_erf, fast_exp, fast_tanh

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cast", "ceil", "ceil_log2", "clip", "cos", "cosh", "erf",
    "exp", "fast_erf", "fast_exp", "fast_tanh", "fixed_point_multiply", "floor", "identity", "isfinite", "isinf",
    "isnan", "left_shift", "log", "log2", "log10", "nearbyint", "negative", "reinterpret", "right_shift", "round",
    "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip


def ceil_log2(x: int | PrimExpr) -> PrimExpr:
    """Return the smallest exponent whose power of two is not below a positive integer; computed in float64.

    Raises
    ------
    ArgumentError
        If it is a tensor.
    """
    if isinstance(x, Tensor):
        expected("ceil_log2", "x", "an integer expression", x)
    value = tir.convert(x)
    return tir.ceil(tir.log2(tir.Cast("float64", value))).astype(value.dtype)
