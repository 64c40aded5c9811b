"""Elementary functions as straight-line vector code, so that loops over them stay vectorised.

Range reduction and most minimax polynomials are those of Stephen Moshier's Cephes Mathematical Library (single and
double precision), written without branches: special values are selected at the end.  The error is at most 3 units in
the last place, of single precision's ``tanh`` 5 and ``erf`` 6 (6 and 7 on processors without fused multiply-adds), as
measured by the tests.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache

from llvmlite import ir

from compiler.target.codegen.llvm.state import FunctionState
from compiler.target.codegen.llvm.types import (
    I1,
    I32,
    POINTER,
    constant,
    lane_mask,
    lanes_of,
    poison,
    scalar_of,
    with_lanes,
)
from compiler.target.cpu.processor_features import used_features

_CONTRACT = ("contract",)


class Lanes:
    """Arithmetic on all lanes of one floating-point type, single or double."""

    def __init__(self, state: FunctionState, typ: ir.Type) -> None:
        self.state = state
        self.type = typ
        self.double = isinstance(scalar_of(typ), ir.DoubleType)
        self.mantissa = 52 if self.double else 23
        self.bias = 1023 if self.double else 127
        target = state.shared.target
        is_full = lanes_of(typ) % 16 == 0 and not self.double
        self.has_scaling = is_full and "avx512f" in used_features(target.triple, target.cpu, target.llvm_features)
        self.is_gpu = state.shared.target.triple.startswith(("nvptx", "amdgcn"))
        self.integer = with_lanes(ir.IntType(64 if self.double else 32), lanes_of(typ))

    def number(self, value: float) -> ir.Value:
        """Return a constant."""
        return constant(self.type, value)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return ``a + b``, which may be contracted with a product."""
        return self.state.builder.fadd(a, b, flags=_CONTRACT)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return ``a - b``."""
        return self.state.builder.fsub(a, b, flags=_CONTRACT)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return ``a * b``."""
        return self.state.builder.fmul(a, b, flags=_CONTRACT)

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return ``a / b``."""
        return self.state.builder.fdiv(a, b)

    def polynomial(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """Evaluate a polynomial by Horner's rule, the highest coefficient first."""
        result = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.add(self.mul(result, x), self.number(coefficient))
        return result

    def monic(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """Evaluate a monic polynomial, whose leading coefficient 1 is omitted."""
        return self.polynomial(x, (1.0, *coefficients))

    def where(
        self, predicate: str, a: ir.Value, b: ir.Value | float, then: ir.Value | float, other: ir.Value | float
    ) -> ir.Value:
        """Select ``then`` in lanes where the ordered comparison holds, else ``other``."""
        bound = self.number(b) if isinstance(b, (int, float)) else b
        values = [self.number(v) if isinstance(v, (int, float)) else v for v in (then, other)]
        return self.state.builder.select(self.state.builder.fcmp_ordered(predicate, a, bound), *values)

    def bits(self, x: ir.Value) -> ir.Value:
        """Bitcast to integers."""
        return self.state.builder.bitcast(x, self.integer)

    def from_bits(self, x: ir.Value) -> ir.Value:
        """Bitcast from integers."""
        return self.state.builder.bitcast(x, self.type)

    def integer_number(self, value: int) -> ir.Value:
        """Return an integer constant."""
        return constant(self.integer, value)

    def power_of_two(self, biased: ir.Value) -> ir.Value:
        """Return ``2 ** (biased - bias)``, which is within the normal range."""
        return self.from_bits(self.state.builder.shl(biased, self.integer_number(self.mantissa)))

    def scaled(self, x: ir.Value, exponent: ir.Value) -> ir.Value:
        """Return ``x * 2 ** exponent`` by instructions for registers of 16 lanes; exponents are whole numbers."""
        builder, register = self.state.builder, ir.VectorType(ir.FloatType(), 16)
        mask, rounding = ir.Constant(ir.IntType(16), -1), ir.Constant(I32, 4)
        types = [register, register, register, mask.type, rounding.type]
        scale = self.state.shared.declare("llvm.x86.avx512.mask.scalef.ps.512", register, types)
        pieces = []
        for start in range(0, lanes_of(self.type), 16):
            lanes = lane_mask(list(range(start, start + 16)))
            a, by = (builder.shuffle_vector(each, poison(each.type), lanes) for each in (x, exponent))
            pieces.append(builder.call(scale, [a, by, a, mask, rounding]))
        return self.state.joined(pieces)

    def sign(self, x: ir.Value) -> ir.Value:
        """Return the bit of the sign."""
        smallest = self.integer_number(-(1 << (63 if self.double else 31)))
        return self.state.builder.and_(self.bits(x), smallest)

    def abs(self, x: ir.Value) -> ir.Value:
        """Return the magnitude."""
        return self.state.call_intrinsic("llvm.fabs", [x])

    def with_sign(self, magnitude: ir.Value, sign: ir.Value) -> ir.Value:
        """Return ``magnitude`` with the sign of ``sign``."""
        return self.state.call_intrinsic("llvm.copysign", [magnitude, sign])


def exp(v: Lanes, x: ir.Value) -> ir.Value:
    """Return e ** x."""
    low, high = (-746.0, 710.0) if v.double else (-104.0, 89.0)
    result, count, rounded = _exp_parts(v, _between(v, x, low, high), 2 * v.bias)
    if v.has_scaling:
        return v.scaled(result, rounded)
    # Two factors, of a bias each, because 2 ** n may overflow where the result does not.
    half = v.state.builder.ashr(count, v.integer_number(1))
    return v.mul(v.mul(result, v.power_of_two(half)), v.power_of_two(v.state.builder.sub(count, half)))


def _normal_exp(v: Lanes, x: ir.Value) -> ir.Value:
    """Return e ** x where it, and the next power of two, are in the normal range."""
    result, count, rounded = _exp_parts(v, x, v.bias)
    return v.scaled(result, rounded) if v.has_scaling else v.mul(result, v.power_of_two(count))


def _exp_parts(v: Lanes, x: ir.Value, more: int) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return the exponential of a remainder of at most ln(2) / 2, and the ``n`` of its factor ``2 ** n``.

    It is returned twice: as the integer ``n + more``, and as the floating-point number ``n``.
    """
    builder = v.state.builder
    # Adding 1.5 * 2 ** mantissa rounds to an integer, which is left in the lowest bits.
    rounding = 1.5 * 2.0**v.mantissa
    magic = v.number(rounding + more)
    shifted = v.add(v.mul(x, v.number(1.4426950408889634)), magic)
    count = builder.sub(v.bits(shifted), v.bits(v.number(rounding)))
    rounded = builder.fsub(shifted, magic)
    if v.double:
        rest = v.sub(x, v.mul(rounded, v.number(6.93145751953125e-1)))
        rest = v.sub(rest, v.mul(rounded, v.number(1.42860682030941723212e-6)))
        square = v.mul(rest, rest)
        top = v.mul(rest, v.polynomial(square, _EXP_P))
        quotient = v.div(top, v.sub(v.polynomial(square, _EXP_Q), top))
        result = v.add(v.add(quotient, quotient), v.number(1.0))
    else:
        rest = v.sub(x, v.mul(rounded, v.number(0.693359375)))
        rest = v.sub(rest, v.mul(rounded, v.number(-2.12194440e-4)))
        result = v.polynomial(rest, _EXP_SINGLE)
    return result, count, rounded


_EXP_SINGLE = (1.3819512e-3, 8.3686905e-3, 4.166828e-2, 1.6666521e-1, 4.9999994e-1, 1.0, 1.0)
"""Fitted up to ln(2) / 2, where it is off by 3.2e-9 of ``e ** x`` at most; the last two are exact."""
_EXP_P = (1.26177193074810590878e-4, 3.02994407707441961300e-2, 9.99999999999999999910e-1)
_EXP_Q = (3.00198505138664455042e-6, 2.52448340349684104192e-3, 2.27265548208155028766e-1, 2.00000000000000000005e0)


def log(v: Lanes, x: ir.Value) -> ir.Value:
    """Return the natural logarithm: that of the mantissa in [sqrt(1/2), sqrt(2)) plus that of the exponent."""
    builder = v.state.builder
    smallest = 2.0 ** (1 - v.bias)
    scaled = v.where("<", x, smallest, v.mul(x, v.number(2.0**v.mantissa)), x)
    bits = v.bits(scaled)
    # Subtracting the bits of sqrt(1/2) makes the exponent change where the range of the mantissa begins.
    root = v.bits(v.number(0.70710678118654752440))
    exponent = builder.ashr(builder.sub(bits, root), v.integer_number(v.mantissa))
    fraction = v.from_bits(builder.sub(bits, builder.shl(exponent, v.integer_number(v.mantissa))))
    power = builder.sitofp(exponent, v.type)
    power = v.where("<", x, smallest, v.sub(power, v.number(float(v.mantissa))), power)
    f = v.sub(fraction, v.number(1.0))
    square = v.mul(f, f)
    if v.double:
        series = v.mul(f, v.div(v.mul(square, v.polynomial(f, _LOG_P)), v.monic(f, _LOG_Q)))
        correction = -2.121944400546905827679e-4
    else:
        series = v.mul(v.mul(f, square), v.polynomial(f, _LOG_SINGLE))
        correction = -2.12194440e-4
    series = v.add(series, v.mul(power, v.number(correction)))
    series = v.sub(series, v.mul(v.number(0.5), square))
    result = v.add(v.add(f, series), v.mul(power, v.number(0.693359375)))
    result = v.where("==", x, float("inf"), x, result)
    result = v.where("==", x, 0.0, -float("inf"), result)
    return v.where(">=", x, 0.0, result, float("nan"))


_LOG_SINGLE = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LOG_P = (
    1.01875663804580931796e-4, 4.97494994976747001425e-1, 4.70579119878881725854e0, 1.44989225341610930846e1,
    1.79368678507819816313e1, 7.70838733755885391666e0,
)  # fmt: skip
_LOG_Q = (
    1.12873587189167450590e1, 4.52279145837532221105e1, 8.29875266912776603211e1, 7.11544750618563894466e1,
    2.31251620126765340583e1,
)  # fmt: skip


def tanh(v: Lanes, x: ir.Value) -> ir.Value:
    """Return the hyperbolic tangent."""
    if not v.double:
        return _odd_quotient(v, x, 9.02, _TANH_TOP, _TANH_BOTTOM)
    magnitude = v.abs(x)
    bounded = v.where(">", magnitude, 20.0, 20.0, magnitude)  # of more, it is 1
    square = v.mul(x, x)
    ratio = v.div(v.polynomial(square, _TANH_P), v.monic(square, _TANH_Q))
    small = v.add(v.mul(v.mul(ratio, square), magnitude), magnitude)
    power = _normal_exp(v, v.add(bounded, bounded))
    large = v.sub(v.number(1.0), v.div(v.number(2.0), v.add(power, v.number(1.0))))
    return v.with_sign(v.where("<", magnitude, 0.625, small, large), x)  # a negative zero stays one


def _odd_quotient(v: Lanes, x: ir.Value, bound: float, top: Sequence[float], bottom: Sequence[float]) -> ir.Value:
    """Return ``x * top(x * x) / bottom(x * x)``, at most 1 in magnitude, as it is beyond the bound."""
    magnitude = v.abs(x)
    bounded = v.where(">", magnitude, bound, bound, magnitude)
    square = v.mul(bounded, bounded)
    quotient = v.div(v.mul(bounded, v.polynomial(square, top)), v.polynomial(square, bottom))
    return v.with_sign(v.where(">", quotient, 1.0, 1.0, quotient), x)  # a negative zero stays one


def _between(v: Lanes, x: ir.Value, low: float, high: float) -> ir.Value:
    """Return the nearest number in the range, or x if it is not a number."""
    x = v.where(">", x, high, high, x)
    return v.where("<", x, low, low, x)


_TANH_TOP = (1.82207991e-8, 2.81586363e-5, 4.77990927e-3, 1.83037162e-1, 1.36801946)
_TANH_BOTTOM = (1.0618611e-6, 4.49133833e-4, 3.53921391e-2, 6.39043391e-1, 1.36801946)
"""Fitted by Remez's algorithm up to where it is 1, with rounded coefficients: off by 2.1e-8 of it at most."""
_TANH_P = (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
_TANH_Q = (1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)


def sigmoid(v: Lanes, x: ir.Value) -> ir.Value:
    """Return 1 / (1 + exp(-x)): of halves, since half of the largest power is one factor ``2 ** n``.

    Beyond the bounds it is 1, and 0.
    """
    low, high = (-700.0, 710.3) if v.double else (-86.0, 89.3)
    result, count, rounded = _exp_parts(v, _between(v, v.state.builder.fneg(x), low, high), v.bias - 1)
    half = v.number(0.5)
    if v.has_scaling:
        return v.div(half, v.add(half, v.mul(half, v.scaled(result, rounded))))
    return v.div(half, v.add(half, v.mul(result, v.power_of_two(count))))


def erf(v: Lanes, x: ir.Value) -> ir.Value:
    """Return the error function; of double precision, by its complement above 1."""
    if not v.double:
        return _odd_quotient(v, x, 3.925, _ERF_TOP, _ERF_BOTTOM)
    square = v.mul(x, x)
    magnitude = v.abs(x)
    small = v.mul(x, v.div(v.polynomial(square, _ERF_T), v.monic(square, _ERF_U)))
    bounded = v.where(">", magnitude, 6.0, 6.0, magnitude)
    ratio = v.div(v.polynomial(bounded, _ERFC_P), v.monic(bounded, _ERFC_Q))
    tail = v.mul(_normal_exp(v, v.state.builder.fneg(v.mul(bounded, bounded))), ratio)
    large = v.with_sign(v.sub(v.number(1.0), tail), x)
    return v.where("<", magnitude, 1.0, small, large)


_ERF_TOP = (2.93356175e-6, 4.08407766e-4, 5.40912384e-3, 7.56603107e-2, 2.7327317e-1, 1.61785805)
_ERF_BOTTOM = (5.45524963e-5, 1.66874728e-3, 2.14829110e-2, 1.63714767e-1, 7.20110953e-1, 1.43378937)
"""Fitted likewise: off by 1.9e-8 of it at most."""
_ERF_T = (
    9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
    5.55923013010394962768e4,
)  # fmt: skip
_ERF_U = (
    3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
    4.92673942608635921086e4,
)  # fmt: skip
_ERFC_P = (
    2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0, 4.86371970985681366614e1,
    1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
    5.57535335369399327526e2,
)  # fmt: skip
_ERFC_Q = (
    1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
    1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2,
)  # fmt: skip


def sin(v: Lanes, x: ir.Value) -> ir.Value:
    """Return the sine of single precision; that of double precision is the C library's."""
    if v.double or v.is_gpu:
        return v.state.call_intrinsic("llvm.sin", [x])
    value = _of_angle(v, x, 0)
    # This also keeps the sign of zero.
    return v.where("<", v.abs(x), 2.0**-12, x, v.from_bits(v.state.builder.xor(v.bits(value), v.sign(x))))


def cos(v: Lanes, x: ir.Value) -> ir.Value:
    """Return the cosine of single precision; that of double precision is the C library's."""
    return v.state.call_intrinsic("llvm.cos", [x]) if v.double or v.is_gpu else _of_angle(v, x, 1)


def _of_angle(v: Lanes, x: ir.Value, quarters: int) -> ir.Value:
    """Return the sine of a magnitude and so many quarters of a turn.

    A number is ``m * 2 ** e`` with a whole ``m``, and its turns are ``m`` times the fraction of ``2 ** e / (2 * pi)``,
    from a table: whole turns do not matter.  The high parts of fractions have so few bits that the product is exact.
    """
    builder, bits = v.state.builder, v.bits(x)
    wide = Lanes(v.state, with_lanes(ir.DoubleType(), lanes_of(v.type)))
    exponent = builder.and_(builder.lshr(bits, v.integer_number(23)), v.integer_number(255))
    mantissa = builder.or_(builder.and_(bits, v.integer_number(0x7FFFFF)), v.integer_number(0x4B000000))
    m = builder.fpext(v.from_bits(mantissa), wide.type)
    high, low = (_entry(wide, builder.add(builder.add(exponent, exponent), v.integer_number(i))) for i in (0, 1))
    turns, rest = builder.fmul(m, high), builder.fmul(m, low)
    magic = wide.number(1.5 * 2.0**52)
    turns = builder.fsub(turns, builder.fsub(builder.fadd(turns, magic), magic))
    count = builder.fadd(builder.fmul(builder.fadd(turns, rest), wide.number(4.0)), magic)
    quadrant = builder.trunc(wide.bits(count), v.integer)
    turns = builder.fsub(turns, builder.fmul(builder.fsub(count, magic), wide.number(0.25)))
    angle = builder.fptrunc(builder.fmul(builder.fadd(turns, rest), wide.number(2 * math.pi)), v.type)
    square = v.mul(angle, angle)
    sine = v.add(v.mul(v.mul(v.polynomial(square, _SIN_SINGLE), square), angle), angle)
    cosine = v.sub(v.mul(v.mul(v.polynomial(square, _COS_SINGLE), square), square), v.mul(v.number(0.5), square))
    cosine = v.add(cosine, v.number(1.0))
    quadrant = builder.add(quadrant, v.integer_number(quarters))
    odd = builder.icmp_signed("!=", builder.and_(quadrant, v.integer_number(1)), v.integer_number(0))
    sign = builder.shl(builder.and_(quadrant, v.integer_number(2)), v.integer_number(30))
    return v.from_bits(builder.xor(v.bits(builder.select(odd, cosine, sine)), sign))


_SIN_SINGLE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS_SINGLE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_INVERSE_OF_TWO_PI = 0x28BE60DB9391054A7F09D5F47D4D377036D8A5664F10E4107F9458EAF7AEF1586DC91B8E909374B8
"""``1 / (2 * pi)`` times ``2 ** 320``."""


def _entry(v: Lanes, index: ir.Value) -> ir.Value:
    """Load elements of the table of turns."""
    module, builder = v.state.shared, v.state.builder
    if module.turns is None:
        module.turns = module.constant_bytes(struct.pack("<512d", *_turns()), "turns", 64)
    double, lanes = ir.DoubleType(), lanes_of(v.type)
    address = builder.gep(module.turns, [index], inbounds=True, source_etype=double)
    if lanes == 1:
        return builder.load(address, align=8, typ=double)
    address.type = with_lanes(POINTER, lanes)
    every = constant(with_lanes(I1, lanes), 1)
    types = [address.type, I32, every.type, v.type]
    gather = module.intrinsic("llvm.masked.gather", v.type, types, [v.type, address.type])
    return builder.call(gather, [address, ir.Constant(I32, 8), every, poison(v.type)])


@cache
def _turns() -> list[float]:
    """Return two parts of the fraction of ``2 ** e / (2 * pi)``, ``e`` from -150 on: the first one has 29 bits."""
    entries = []
    for e in range(-150, 105):
        fraction = (_INVERSE_OF_TWO_PI << (e + 150)) % (1 << 470)  # in units of 2 ** -470
        bits = max(fraction.bit_length() - 29, 0)
        high = fraction >> bits << bits
        entries += [math.ldexp(high >> bits, bits - 470), _scaled(fraction - high)]
    return [*entries, math.nan, math.nan]  # infinities have no place on the circle


def _scaled(units: int) -> float:
    """Return a number of units of ``2 ** -470``, which has more bits than a float."""
    bits = max(units.bit_length() - 60, 0)
    return math.ldexp(units >> bits, bits - 470)


def power(v: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """Return ``x ** y`` of single precision, by logarithm and exponential of double precision."""
    builder = v.state.builder
    if v.double:
        return v.state.call_intrinsic("llvm.pow", [x, y])
    wide = Lanes(v.state, with_lanes(ir.DoubleType(), lanes_of(v.type)))
    base, exponent = builder.fpext(v.abs(x), wide.type), builder.fpext(y, wide.type)
    magnitude = builder.fptrunc(exp(wide, builder.fmul(log(wide, base), exponent)), v.type)
    # Whole numbers from 2 ** 24 on are even; below, the conversion is exact.
    size = v.abs(y)
    count = builder.fptosi(v.where("<", size, 2.0**24, size, 0.0), v.integer)
    is_whole = builder.or_(
        builder.fcmp_ordered("==", builder.sitofp(count, v.type), size),
        builder.fcmp_ordered(">=", size, v.number(2.0**24)),
    )
    odd = builder.and_(
        is_whole, builder.icmp_signed("!=", builder.and_(count, v.integer_number(1)), v.integer_number(0))
    )
    negated = builder.select(odd, v.sign(x), v.integer_number(0))
    result = v.from_bits(builder.xor(v.bits(magnitude), negated))
    is_root = builder.and_(builder.not_(is_whole), builder.fcmp_ordered("<", x, v.number(0.0)))
    is_root = builder.and_(is_root, builder.fcmp_ordered(">", x, v.number(-math.inf)))
    result = builder.select(is_root, v.number(math.nan), result)
    # 1 ** y and x ** 0 are 1 whatever the other is, and (-1) ** inf.
    alone = builder.and_(
        builder.fcmp_ordered("==", x, v.number(-1.0)), builder.fcmp_ordered("==", size, v.number(math.inf))
    )
    alone = builder.or_(alone, builder.fcmp_ordered("==", x, v.number(1.0)))
    return builder.select(builder.or_(alone, builder.fcmp_ordered("==", y, v.number(0.0))), v.number(1.0), result)


VECTOR_FUNCTIONS: dict[str, Callable[[Lanes, ir.Value], ir.Value]] = {
    "tir.exp": exp,
    "tir.log": log,
    "tir.tanh": tanh,
    "tir.sigmoid": sigmoid,
    "tir.erf": erf,
    "tir.sin": sin,
    "tir.cos": cos,
}
"""The vector implementations, by operator."""
