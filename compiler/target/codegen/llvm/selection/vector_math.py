"""Elementary functions as straight-line vector code, so that loops over them stay vectorised.

Range reduction and minimax polynomials of Stephen Moshier's Cephes Mathematical Library (single and double
precision), written without branches: special values are selected at the end.  The error is at most 3 units in the last
place, as measured by the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from compiler.target.codegen.llvm.state import FunctionState
from compiler.target.codegen.llvm.types import constant, lanes_of, scalar_of, with_lanes

_CONTRACT = ("contract",)


class Lanes:
    """Arithmetic on all lanes of one floating-point type, single or double."""

    def __init__(self, state: FunctionState, typ: ir.Type) -> None:
        self.state = state
        self.type = typ
        self.double = isinstance(scalar_of(typ), ir.DoubleType)
        self.mantissa = 52 if self.double else 23
        self.bias = 1023 if self.double else 127
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

    def power_of_two(self, exponent: ir.Value) -> ir.Value:
        """Return ``2 ** exponent`` for an exponent within the normal range."""
        builder = self.state.builder
        biased = builder.add(exponent, self.integer_number(self.bias))
        return self.from_bits(builder.shl(biased, self.integer_number(self.mantissa)))

    def abs(self, x: ir.Value) -> ir.Value:
        """Return the magnitude."""
        return self.state.call_intrinsic("llvm.fabs", [x])

    def with_sign(self, magnitude: ir.Value, sign: ir.Value) -> ir.Value:
        """Return ``magnitude`` with the sign of ``sign``."""
        return self.state.call_intrinsic("llvm.copysign", [magnitude, sign])


def exp(v: Lanes, x: ir.Value) -> ir.Value:
    """Return e ** x as ``2 ** n`` times the exponential of a remainder of at most ln(2) / 2."""
    builder = v.state.builder
    low, high = (-746.0, 710.0) if v.double else (-104.0, 89.0)
    x = v.where("<", x, low, low, v.where(">", x, high, high, x))
    # Adding 1.5 * 2 ** mantissa rounds to an integer, which is left in the lowest bits.
    magic = v.number(1.5 * 2.0**v.mantissa)
    shifted = v.add(v.mul(x, v.number(1.4426950408889634)), magic)
    count = builder.sub(v.bits(shifted), v.bits(magic))
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
        result = v.add(v.add(v.mul(v.polynomial(rest, _EXP_SINGLE), v.mul(rest, rest)), rest), v.number(1.0))
    # Two factors, because 2 ** n may overflow where the result does not.
    half = builder.ashr(count, v.integer_number(1))
    return v.mul(v.mul(result, v.power_of_two(half)), v.power_of_two(builder.sub(count, half)))


_EXP_SINGLE = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
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
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_LOG_P = (
    1.01875663804580931796e-4,
    4.97494994976747001425e-1,
    4.70579119878881725854e0,
    1.44989225341610930846e1,
    1.79368678507819816313e1,
    7.70838733755885391666e0,
)
_LOG_Q = (
    1.12873587189167450590e1,
    4.52279145837532221105e1,
    8.29875266912776603211e1,
    7.11544750618563894466e1,
    2.31251620126765340583e1,
)


def tanh(v: Lanes, x: ir.Value) -> ir.Value:
    """Return the hyperbolic tangent, by a polynomial near 0 and the exponential elsewhere."""
    square = v.mul(x, x)
    if v.double:
        ratio = v.div(v.polynomial(square, _TANH_P), v.monic(square, _TANH_Q))
    else:
        ratio = v.polynomial(square, _TANH_SINGLE)
    small = v.add(v.mul(v.mul(ratio, square), x), x)
    magnitude = v.abs(x)
    grown = exp(v, v.add(magnitude, magnitude))
    large = v.sub(v.number(1.0), v.div(v.number(2.0), v.add(grown, v.number(1.0))))
    return v.where("<", magnitude, 0.625, small, v.with_sign(large, x))


_TANH_SINGLE = (
    -5.70498872745e-3,
    2.06390887954e-2,
    -5.37397155531e-2,
    1.33314422036e-1,
    -3.33332819422e-1,
)
_TANH_P = (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
_TANH_Q = (1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)


def sigmoid(v: Lanes, x: ir.Value) -> ir.Value:
    """Return 1 / (1 + exp(-x))."""
    return v.div(v.number(1.0), v.add(v.number(1.0), exp(v, v.state.builder.fneg(x))))


def erf(v: Lanes, x: ir.Value) -> ir.Value:
    """Return the error function, by an odd polynomial below 1 and its complement above."""
    square = v.mul(x, x)
    magnitude = v.abs(x)
    if v.double:
        small = v.mul(x, v.div(v.polynomial(square, _ERF_T), v.monic(square, _ERF_U)))
        bounded = v.where("<", magnitude, 6.0, magnitude, 6.0)
        ratio = v.div(v.polynomial(bounded, _ERFC_P), v.monic(bounded, _ERFC_Q))
    else:
        small = v.mul(x, v.polynomial(square, _ERF_SINGLE))
        bounded = v.where("<", magnitude, 4.0, magnitude, 4.0)
        inverse = v.div(v.number(1.0), v.where("<", bounded, 1.0, 1.0, bounded))
        terms = v.mul(inverse, inverse)
        near, far = v.polynomial(terms, _ERFC_NEAR), v.polynomial(terms, _ERFC_FAR)
        ratio = v.mul(inverse, v.where("<", bounded, 2.0, near, far))
    tail = v.mul(exp(v, v.state.builder.fneg(v.mul(bounded, bounded))), ratio)
    large = v.with_sign(v.sub(v.number(1.0), tail), x)
    result = v.where("<", magnitude, 1.0, small, large)
    return v.state.builder.select(v.state.builder.fcmp_unordered("uno", x, x), x, result)


_ERF_SINGLE = (
    7.853861353153693e-5,
    -8.010193625184903e-4,
    5.188327685732524e-3,
    -2.685381193529856e-2,
    1.128358514861418e-1,
    -3.761262582423300e-1,
    1.128379165726710e0,
)
_ERFC_NEAR = (
    2.326819970068386e-2,
    -1.387039388740657e-1,
    3.687424674597105e-1,
    -5.824733027278666e-1,
    6.210004621745983e-1,
    -4.944515323274145e-1,
    3.404879937665872e-1,
    -2.741127028184656e-1,
    5.638259427386472e-1,
)
_ERFC_FAR = (
    -1.047766399936249e1,
    1.297719955372516e1,
    -7.495518717768503e0,
    2.921019019210786e0,
    -1.015265279202700e0,
    4.218463358204948e-1,
    -2.820767439740514e-1,
    5.641895067754075e-1,
)
_ERF_T = (
    9.60497373987051638749e0,
    9.00260197203842689217e1,
    2.23200534594684319226e3,
    7.00332514112805075473e3,
    5.55923013010394962768e4,
)
_ERF_U = (
    3.35617141647503099647e1,
    5.21357949780152679795e2,
    4.59432382970980127987e3,
    2.26290000613890934246e4,
    4.92673942608635921086e4,
)
_ERFC_P = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
_ERFC_Q = (
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)

VECTOR_FUNCTIONS: dict[str, Callable[[Lanes, ir.Value], ir.Value]] = {
    "tir.exp": exp,
    "tir.log": log,
    "tir.tanh": tanh,
    "tir.sigmoid": sigmoid,
    "tir.erf": erf,
}
"""The vector implementations, by operator."""
