"""Vectorisable float32 approximations, each with its maximum error."""

from __future__ import annotations

import math

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.topi.elementwise import map_elements

__all__ = ["fast_erf", "fast_exp", "fast_tanh"]

_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
"""ln 2 in two parts; the first one's product with a small whole number is exact (Cody and Waite)."""


def _exp(e: PrimExpr) -> PrimExpr:
    """Return ``2 ** n * exp(r)`` with ``|r| <= ln 2 / 2``: a Taylor polynomial times a float made of ``n``."""
    x = tir.fmaximum(tir.fminimum(e, tir.const(88.3, "float32")), tir.const(-87.3, "float32"))
    n = te.floor(x * tir.const(math.log2(math.e), "float32") + tir.const(0.5, "float32"))
    r = x - n * tir.const(_LN2_HIGH, "float32") - n * tir.const(_LN2_LOW, "float32")
    value = tir.const(1 / math.factorial(7), "float32")
    for k in range(6, -1, -1):
        value = value * r + tir.const(1 / math.factorial(k), "float32")
    bits = (n.astype("int32") + tir.const(127, "int32")) << tir.const(23, "int32")
    return value * tir.reinterpret("float32", bits)


_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26."""


def _erf(e: PrimExpr) -> PrimExpr:
    x, one = te.abs(e), tir.const(1, "float32")
    t = one / (one + tir.const(0.3275911, "float32") * x)
    value = tir.const(_ERF[-1], "float32")
    for c in reversed(_ERF[:-1]):
        value = value * t + tir.const(c, "float32")
    value = one - value * t * _exp(tir.const(0, "float32") - x * x)
    return tir.Select(e < tir.const(0, "float32"), tir.const(0, "float32") - value, value)


def fast_exp(x: Tensor) -> Tensor:
    """Return e to the power of x to within 3e-7 of the value; types other than float32 are computed exactly.

    A power of two, made of the bits of its exponent, times a Taylor polynomial of degree 7 of the rest.

    References
    ----------
    Cody and Waite, "Software Manual for the Elementary Functions", 1980, chapter 6: the reduction of the argument.
    """
    return map_elements(x, _exp if x.dtype == "float32" else te.exp, "fast_exp")


def fast_tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent to within 3e-7: as fast as any is that of the compiler itself."""
    return map_elements(x, te.tanh, "fast_tanh")


def fast_erf(x: Tensor) -> Tensor:
    """Return the error function to within 5e-7; types other than float32 are computed exactly.

    References
    ----------
    Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964, formula 7.1.26.
    """
    return map_elements(x, _erf if x.dtype == "float32" else te.erf, "fast_erf")
