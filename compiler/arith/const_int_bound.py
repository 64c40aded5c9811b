"""The interval of integers that an expression can evaluate to.

Unbounded ends are integers far outside of every machine type, so that interval arithmetic needs no special cases for
infinity: ``UNBOUNDED * 0`` is 0, and whatever else is made of them is still far outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from compiler.arith.deep_equal import deep_equal
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import Call, PrimExpr, Var, trunc_div
from compiler.ir.functor import Functor

UNBOUNDED = 1 << 256

Interval = tuple[int, int]
EVERYTHING: Interval = (-UNBOUNDED, UNBOUNDED)


class _Bound(NamedTuple):
    min_value: int
    max_value: int


class ConstIntBound(_Bound):
    """Smallest and largest value, both included; ``POS_INF`` and ``NEG_INF`` where there is none."""

    __slots__ = ()

    POS_INF: ClassVar[int] = (1 << 63) - 1
    NEG_INF: ClassVar[int] = -POS_INF

    def __repr__(self) -> str:
        infinite = {ConstIntBound.NEG_INF: "neg_inf", ConstIntBound.POS_INF: "pos_inf"}
        return f"ConstIntBound[{','.join(str(infinite.get(end, end)) for end in self)}]"


_MANTISSA_BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


def public_bound(bound: Interval) -> ConstIntBound:
    """Return an interval with its unbounded ends as TVM writes them."""
    return ConstIntBound(max(bound[0], ConstIntBound.NEG_INF), min(bound[1], ConstIntBound.POS_INF))


def inner_bound(bound: ConstIntBound) -> Interval:
    """Return an interval of which infinite ends stay infinite, whatever is added to them."""
    low, high = bound
    return (-UNBOUNDED if low <= ConstIntBound.NEG_INF else low, UNBOUNDED if high >= ConstIntBound.POS_INF else high)


def type_interval(dtype: str) -> Interval:
    """Return the values of an integer type; 64 bits count as unbounded, and so does everything else."""
    if not dt.is_integral(dtype):
        return EVERYTHING
    if dt.bits(dtype) < 64:
        return dt.int_range(dtype)
    return (0, UNBOUNDED) if dt.is_uint(dtype) else EVERYTHING


def is_index_type(dtype: str) -> bool:
    """Return whether arithmetic in this type is taken to never overflow, as that of loop variables and indices."""
    return dtype in ("int32", "int64")


MAX_VSCALE = 16
"""Registers of scalable vectors have at most 2,048 bits."""


def _truth(low: int, high: int) -> Interval:
    """Return the truth of integers in an interval: of 0 it is 0, of all others 1."""
    return (int(low > 0 or high < 0), int((low, high) != (0, 0)))


class ConstIntBoundAnalyzer(Functor):
    """Computes intervals bottom-up, from those of the variables.

    ``extra`` holds what is known about whole expressions, from the conditions that enclose them.
    """

    def __init__(self) -> None:
        self.variables: dict[Var, Interval] = {}
        self.extra: list[tuple[PrimExpr, Interval]] = []
        self.memo: dict[PrimExpr, Interval] = {}

    def __call__(self, e: PrimExpr) -> ConstIntBound:
        """Return the bound of ``e`` with infinities as TVM writes them."""
        return public_bound(self.visit(e))

    def visit(self, n: PrimExpr, *args: object) -> Interval:
        if type(n) is expr.IntImm:
            return (n.value, n.value)
        bound = self.memo.get(n)
        if bound is None:
            bound = Functor.visit(self, n)
            if self.extra:
                bound = self._narrow(n, bound)
            self.memo[n] = bound
        return bound

    def _narrow(self, n: PrimExpr, bound: Interval) -> Interval:
        for e, extra in self.extra:
            if deep_equal(e, n):
                bound = (max(bound[0], extra[0]), min(bound[1], extra[1]))
        return bound

    def visit_PrimExpr(self, n: PrimExpr) -> Interval:
        return type_interval(n.dtype)

    def visit_Var(self, n: Var) -> Interval:
        bound = self.variables.get(n)
        return type_interval(n.dtype) if bound is None else bound

    def visit_SizeVar(self, n: expr.SizeVar) -> Interval:
        bound = self.variables.get(n)
        return (0, UNBOUNDED) if bound is None else bound

    def visit_Cast(self, n: expr.Cast) -> Interval:
        target = type_interval(n.dtype)
        value = n.value
        largest = UNBOUNDED
        if isinstance(value, expr.Cast) and dt.is_float(
            value.dtype
        ):  # integers within the mantissa come back as they are
            largest = 1 << _MANTISSA_BITS[dt.element(value.dtype)]
            value = value.value
        if not dt.is_integral(value.dtype):
            return self._rounded_logarithm(n) or target
        low, high = self.visit(value)
        if dt.is_bool(n.dtype):
            return _truth(low, high)
        return (low, high) if max(target[0], -largest) <= low and high <= min(target[1], largest) else target

    def _rounded_logarithm(self, n: expr.Cast) -> Interval | None:
        """Return the bounds of ``int(ceil(log2(float(x))))`` of an integer, where rounding cannot change them."""
        if not isinstance(n.value, Call) or getattr(n.value.op, "name", "") != "tir.ceil":
            return None
        operand = log2_operand(n.value.args[0])
        if not isinstance(operand, expr.Cast) or not dt.is_integral(operand.value.dtype):
            return None
        low, high = self.visit(operand.value)
        mantissa = _MANTISSA_BITS[dt.element(operand.dtype)]
        return (ceil_log2(low), ceil_log2(high)) if low > 0 and high <= 1 << mantissa // 2 else None

    def visit_Add(self, n: expr.Add) -> Interval:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return _fit(n.dtype, a + c, b + d)

    def visit_Sub(self, n: expr.Sub) -> Interval:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return _fit(n.dtype, a - d, b - c)

    def visit_Mul(self, n: expr.Mul) -> Interval:
        return _fit(n.dtype, *_corners(lambda x, y: x * y, self.visit(n.a), self.visit(n.b)))

    def visit_Div(self, n: expr.Div) -> Interval:
        if not dt.is_integral(n.dtype):
            return EVERYTHING
        return _fit(n.dtype, *_quotient(trunc_div, self.visit(n.a), self.visit(n.b)))

    def visit_FloorDiv(self, n: expr.FloorDiv) -> Interval:
        return _fit(n.dtype, *_quotient(lambda x, y: x // y, self.visit(n.a), self.visit(n.b)))

    def visit_Mod(self, n: expr.Mod) -> Interval:
        if not dt.is_integral(n.dtype):
            return EVERYTHING
        (low, high), (c, d) = self.visit(n.a), self.visit(n.b)
        largest = max(abs(c), abs(d)) - 1
        if c > 0 and -c < low and high < c:
            return low, high
        return (max(-largest, low) if low < 0 else 0), (min(largest, high) if high > 0 else 0)

    def visit_FloorMod(self, n: expr.FloorMod) -> Interval:
        (low, high), (c, d) = self.visit(n.a), self.visit(n.b)
        if c > 0 or (c == 0 and d > 0):  # a divisor of zero has no remainder
            if c == d and low // c == high // c:
                return low % c, high % c
            if low >= 0:
                return (low, high) if high < c else (0, min(high, d - 1))
            return 0, d - 1
        return min(c + 1, 0), max(d - 1, 0)

    def visit_Min(self, n: expr.Min) -> Interval:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return min(a, c), min(b, d)

    def visit_Max(self, n: expr.Max) -> Interval:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return max(a, c), max(b, d)

    def visit_CmpOp(self, n: expr.CmpOp | expr.Not) -> Interval:
        return 0, 1

    visit_Not = visit_CmpOp

    def visit_Select(self, n: expr.Select) -> Interval:
        return self._either(n.condition, n.true_value, n.false_value)

    def visit_Ramp(self, n: expr.Ramp) -> Interval:
        (a, b), (c, d) = self.visit(n.base), self.visit(n.stride)
        if dt.is_scalable(n.dtype):
            return _fit(n.dtype, a if c >= 0 else -UNBOUNDED, b if d <= 0 else UNBOUNDED)
        last = dt.lanes(n.dtype) - 1
        return _fit(n.dtype, a + min(0, c * last), b + max(0, d * last))

    def visit_Broadcast(self, n: expr.Broadcast) -> Interval:
        return self.visit(n.value)

    def visit_Let(self, n: expr.Let) -> Interval:
        self.variables[n.var] = self.visit(n.value)
        return self.visit(n.body)

    def visit_Call(self, n: Call) -> Interval:
        rule = _CALLS.get(getattr(n.op, "name", ""))
        return type_interval(n.dtype) if rule is None else rule(self, n)

    def _vscale(self, n: Call) -> Interval:
        return 1, MAX_VSCALE

    def _bitwise_and(self, n: Call) -> Interval:
        (a, b), (c, d) = self.visit(n.args[0]), self.visit(n.args[1])
        if a >= 0 and c >= 0:
            return 0, min(b, d)
        if a >= 0 or c >= 0:
            return 0, b if a >= 0 else d
        return type_interval(n.dtype)

    def _bitwise_or(self, n: Call) -> Interval:
        (a, b), (c, d) = self.visit(n.args[0]), self.visit(n.args[1])
        return (0, (1 << max(b, d).bit_length()) - 1) if a >= 0 and c >= 0 else type_interval(n.dtype)

    def _shift_right(self, n: Call) -> Interval:
        (a, b), (c, d) = self.visit(n.args[0]), self.visit(n.args[1])
        if c >= 0 and d < 64:
            return _corners(lambda x, y: x >> y, (a, b), (c, d))
        return type_interval(n.dtype)

    def _shift_left(self, n: Call) -> Interval:
        (a, b), (c, d) = self.visit(n.args[0]), self.visit(n.args[1])
        if c >= 0 and d < 64:
            low, high = _corners(lambda x, y: x << y, (a, b), (c, d))
            target = type_interval(n.dtype)
            if target[0] <= low and high <= target[1]:
                return low, high
        return type_interval(n.dtype)

    def _if_then_else(self, n: Call) -> Interval:
        return self._either(*n.args)

    def _either(self, condition: PrimExpr, then: PrimExpr, other: PrimExpr) -> Interval:
        """Return the interval of a choice: each part has a shorter range of the variable compared."""
        if not isinstance(condition, (expr.LT, expr.LE, expr.GT, expr.GE)):
            return union(self.visit(then), self.visit(other))
        a, b, strict = condition.a, condition.b, isinstance(condition, (expr.LT, expr.GT))
        if isinstance(condition, (expr.GT, expr.GE)):
            a, b = b, a
        if isinstance(a, Var) and isinstance(b, expr.IntImm):
            last = b.value - strict
            return self._within(a, (-UNBOUNDED, last), then, (last + 1, UNBOUNDED), other)
        if isinstance(b, Var) and isinstance(a, expr.IntImm):
            first = a.value + strict
            return self._within(b, (first, UNBOUNDED), then, (-UNBOUNDED, first - 1), other)
        return union(self.visit(then), self.visit(other))

    def _within(self, var: Var, range_: Interval, then: PrimExpr, rest: Interval, other: PrimExpr) -> Interval:
        """Return the interval of ``then`` and ``other``, where a variable lies in one range and in the other."""
        known, memo, found = self.variables.get(var), self.memo, []
        low, high = self.visit(var)
        for (least, most), e in ((range_, then), (rest, other)):
            if max(low, least) <= min(high, most):
                self.variables[var], self.memo = (max(low, least), min(high, most)), {}
                found.append(self.visit(e))
        if known is None:
            del self.variables[var]
        else:
            self.variables[var] = known
        self.memo = memo
        return union(found[0], found[-1])


class TrustingConstIntBound(ConstIntBoundAnalyzer):
    """Bounds as TVM's users see them: nothing overflows, and what is converted fits the new type."""

    def __init__(self, exact: ConstIntBoundAnalyzer) -> None:
        super().__init__()
        self.variables, self.extra = exact.variables, exact.extra

    def visit_Cast(self, n: expr.Cast) -> Interval:
        target = type_interval(n.dtype)
        value = n.value
        while isinstance(value, expr.Cast) and dt.is_float(value.dtype):
            value = value.value
        if not dt.is_integral(value.dtype):
            return self._rounded_logarithm(n) or target
        low, high = self.visit(value)
        if dt.is_bool(n.dtype):
            return _truth(low, high)
        low, high = max(low, target[0]), min(high, target[1])
        return (low, high) if low <= high else target


_CALLS: dict[str, Callable[[ConstIntBoundAnalyzer, Call], Interval]] = {
    "tir.bitwise_and": ConstIntBoundAnalyzer._bitwise_and,
    "tir.bitwise_or": ConstIntBoundAnalyzer._bitwise_or,
    "tir.bitwise_xor": ConstIntBoundAnalyzer._bitwise_or,
    "tir.shift_right": ConstIntBoundAnalyzer._shift_right,
    "tir.shift_left": ConstIntBoundAnalyzer._shift_left,
    "tir.if_then_else": ConstIntBoundAnalyzer._if_then_else,
    "tir.vscale": ConstIntBoundAnalyzer._vscale,
}


def log2_operand(e: PrimExpr) -> PrimExpr | None:
    """Return ``x`` of ``log2(x)``, None for other expressions."""
    return e.args[0] if isinstance(e, Call) and getattr(e.op, "name", "") == "tir.log2" else None


def ceil_log2(number: float) -> int:
    """Return the smallest ``n`` for which ``2 ** n`` is not less than a positive number."""
    fraction, exponent = math.frexp(number)
    return exponent - 1 if fraction == 0.5 else exponent


def union(a: Interval, b: Interval) -> Interval:
    """Return the smallest interval around both."""
    return min(a[0], b[0]), max(a[1], b[1])


def _fit(dtype: str, low: int, high: int) -> Interval:
    """Return the interval, or the whole type where the result may have wrapped around."""
    if dtype == "int32" or dtype == "int64":
        # Products of products would otherwise take longer and longer to multiply.
        return max(low, -UNBOUNDED), min(high, UNBOUNDED)
    target = type_interval(dtype)
    return (low, high) if target[0] <= low and high <= target[1] else target


def _corners(op: Callable[[int, int], int], x: Interval, y: Interval) -> Interval:
    """Return the range of an operation that is monotonic in each operand."""
    (a, b), (c, d) = x, y
    if c == d:
        p, q = op(a, c), op(b, c)
        return (p, q) if p <= q else (q, p)
    values = (op(a, c), op(a, d), op(b, c), op(b, d))
    return min(values), max(values)


def _quotient(op: Callable[[int, int], int], x: Interval, y: Interval) -> Interval:
    """Return the range of a division; a divisor of zero has no value, so it is left out."""
    parts = []
    if y[1] > 0:
        parts.append((max(y[0], 1), y[1]))
    if y[0] < 0:
        parts.append((y[0], min(y[1], -1)))
    if not parts:
        return EVERYTHING
    ranges = [_corners(op, x, part) for part in parts]
    return ranges[0] if len(ranges) == 1 else union(*ranges)
