"""Quotients by a constant that are rounded to integers, as two multiplications instead of a slow division.

``x / c = x * h + x * l``, where ``h`` is the reciprocal of ``c`` rounded down and ``l`` what that lacks.  With a fused
multiply-add, two roundings come before the last one, which is right unless a quotient lies as close to the middle
between two floats.  Only a few significands of ``x`` do, and all of them are tried for each constant.  As ``l`` is
positive, zeros, infinities and NaN become what division makes of them; quotients too small for ``x * l`` to be exact
become integers like any other: zeros of their sign.

References
----------
Brisebarre, Muller and Raina, "Accelerating Correctly Rounded Floating-Point Division When the Divisor Is Known in
Advance", IEEE Transactions on Computers 53(8), 2004.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Broadcast, Div, FloatImm, PrimExpr
from compiler.target.codegen.llvm.state import Emitter
from compiler.target.codegen.llvm.types import constant
from compiler.target.cpu.cpu_features import has_fused_multiply_add

_BITS = 24
"""Bits of the significand of a float."""
_LARGEST = 2.0**60
"""Constants and their reciprocals are at most that."""
_CLOSE = 8
"""Quotients of significands X / Y that are at least ``_CLOSE / (Y * 2 ** 24)`` away from every middle are rounded
rightly: before the last rounding, they are right to 46 bits."""


def constant_quotient(emitter: Emitter, n: PrimExpr) -> ir.Value | None:
    """Generate code for a quotient by a constant that is rounded to an integer next; None for other expressions."""
    if not isinstance(n, Div) or dt.element(n.dtype) != "float32":
        return None
    divisor = n.b.value if isinstance(n.b, Broadcast) else n.b
    target = emitter.state.shared.target
    parts = reciprocal_parts(divisor.value) if isinstance(divisor, FloatImm) else None
    if parts is None or not has_fused_multiply_add(target.triple, target.cpu, target.llvm_features):
        return None
    x = emitter.visit(n.a)
    high, low = (constant(x.type, part) for part in parts)
    return emitter.state.call_intrinsic("llvm.fma", [x, high, emitter.state.builder.fmul(x, low)])


@cache
def reciprocal_parts(divisor: float) -> tuple[float, float] | None:
    """Return two floats by which multiplying is the same as dividing by a positive float; None if there are none."""
    c = float(np.float32(divisor))
    if not 1 / _LARGEST <= c <= _LARGEST:
        return None
    high = np.float32(1 / c)
    if Fraction(float(high)) * Fraction(c) > 1:
        high = np.nextafter(high, np.float32(0))
    low = np.float32(float(1 / Fraction(c) - Fraction(float(high))))
    if low == 0:
        return None  # a power of two, which LLVM multiplies by as well
    significand, exponent = math.frexp(c)
    y = int(significand * 2**_BITS)
    scale = Fraction(2) ** exponent
    return (
        (float(high), float(low)) if _is_exact(y, Fraction(float(high)) * scale, Fraction(float(low)) * scale) else None
    )


def _is_exact(y: int, high: Fraction, low: Fraction) -> bool:
    """Return whether the sum is on the right side of the middle between two floats for all significands close to one.

    ``x / y`` is close to ``m / 2 ** shift``, where ``m`` is odd, if ``rest = 2 ** shift * x - m * y`` is small.
    """
    for shift in (_BITS, _BITS + 1):
        common = math.gcd(1 << shift, y)
        period = y // common
        inverse = pow((1 << shift) // common, -1, period) if period > 1 else 0
        least, most = (y, 1 << _BITS) if shift == _BITS else (1 << _BITS - 1, y)
        for rest in (r for r in range(-_CLOSE, _CLOSE + 1) if r and r % common == 0):
            first = rest // common * inverse % period
            for x in range(first + -(-(least - first) // period) * period, most, period):
                m = ((x << shift) - rest) // y
                total = x * high / (1 << _BITS) + _rounded(x * low / (1 << _BITS))
                if m % 2 and (total - Fraction(m, 1 << shift)) * rest <= 0:
                    return False
    return True


def _rounded(value: Fraction) -> Fraction:
    """Return a positive number rounded to the nearest float, whatever its exponent."""
    unit = Fraction(2) ** (math.frexp(float(value))[1] - _BITS)
    return round(value / unit) * unit
