"""Simplification by rewrite rules: operands first, then the rules of :mod:`compiler.arith.rules` until none applies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from compiler.arith.and_of_ors import and_of_ors
from compiler.arith.branch_constraints import simplify_branches
from compiler.arith.const_int_bound import ceil_log2, log2_operand
from compiler.arith.deep_equal import deep_equal
from compiler.arith.extension import BOOLEAN_EXTENSIONS, Extension
from compiler.arith.facts import Facts, is_stable
from compiler.arith.rules import SCALAR, VECTOR
from compiler.arith.simplifier import Simplifier, negation
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import (
    EQ,
    LT,
    BinaryOp,
    Broadcast,
    FloatImm,
    IntImm,
    PrimExpr,
    Var,
    bitwise,
    cast,
    const,
    fold,
    of_truth_values,
)
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.ir.op import Op

Operation = TypeVar("Operation", bound=BinaryOp)

_DIVISIONS = (expr.FloorDiv, expr.FloorMod, expr.Div, expr.Mod)
_CONSTANT_RIGHT = (expr.Add, expr.Mul, EQ, expr.NE, expr.And, expr.Or)


class RewriteSimplifier(Simplifier):
    """Simplifies expressions by rules."""

    memo_name = "rewrite"

    def __init__(self, facts: Facts) -> None:
        Simplifier.__init__(self, facts)
        self._in_condition = False

    # Arithmetic

    def visit_BinaryOp(self, n: BinaryOp) -> PrimExpr:
        e = self._operands(n)
        if isinstance(e, (IntImm, FloatImm)):
            return e
        logic = of_truth_values(e)
        if logic is not None:
            return self.resimplify(logic)
        kind = type(n)
        if kind in _DIVISIONS and _is_zero(e.b):
            return e  # it has no value, and no rule
        dtype = e.a.dtype
        if dtype == "int32" or dtype == "int64":
            bounded = _BOUNDED.get(kind)
            if bounded is not None:
                result = bounded(self, e)
                if result is not None:
                    return result
            rules = SCALAR.get(kind)
        elif dt.is_vector(dtype):
            rules = VECTOR.get(kind)
            neutral = _identity(kind, e)
            if neutral is not e:
                return neutral
        else:
            return _identity(kind, e)
        return e if rules is None else self._apply(rules, e)

    def _apply(self, rules: Any, e: BinaryOp) -> PrimExpr:
        matcher = rules.matcher(type(e.a), type(e.b))
        if matcher is None or self.is_too_deep:
            return e
        try:
            result = matcher(e, self)
        except ArgumentError:  # a constant of the replacement does not fit the type
            return e
        return e if result is None else self.resimplify(result)

    def _floor_div(self, e: BinaryOp) -> PrimExpr | None:
        if type(e.b) is not IntImm:
            return None
        low, high = self.facts.bounds.visit(e.a)
        c = e.b.value
        if low // c == high // c and _fits(low // c, e.dtype):
            return const(low // c, e.dtype)
        return None

    def _floor_mod(self, e: BinaryOp) -> PrimExpr | None:
        if type(e.b) is not IntImm:
            return None
        low, high = self.facts.bounds.visit(e.a)
        c = e.b.value
        quotient = low // c
        if quotient == high // c and _fits(quotient * c, e.dtype):
            return e.a if quotient == 0 else self.resimplify(expr.Sub(e.a, const(quotient * c, e.dtype)))
        coeff, base = self.facts.modular.visit(e.a)
        return const(base % c, e.dtype) if coeff % c == 0 else None

    def _trunc_mod(self, e: BinaryOp) -> PrimExpr | None:
        if type(e.b) is not IntImm or e.b.value <= 0:
            return None
        coeff, base = self.facts.modular.visit(e.a)
        c = e.b.value
        if coeff % c == 0 and (base % c == 0 or self.facts.bounds.visit(e.a)[0] >= 0):
            return const(base % c, e.dtype)
        return None

    def _min(self, e: BinaryOp) -> PrimExpr | None:
        order = self.compare(e.a, e.b)
        return None if order is None else (e.a if order <= 0 else e.b)

    def _max(self, e: BinaryOp) -> PrimExpr | None:
        order = self.compare(e.a, e.b)
        return None if order is None else (e.a if order >= 0 else e.b)

    # Comparisons and logic

    def visit_LT(self, n: LT) -> PrimExpr:
        e = self._operands(n)
        if isinstance(e, (IntImm, FloatImm)):
            return e
        a, b = e.a, e.b
        if a.dtype != "int32" and a.dtype != "int64":
            return self._vector(e)
        truth = self.assumed_truth(e)
        if truth is not None:
            return truth
        low, high = self.difference(a, b)
        if high < 0:
            return const(True)
        if low >= 0:
            return const(False)
        if Extension.ComparisonOfProductAndSum in self.facts.extensions and self._product_is_less(a, b):
            return const(True)
        return self._apply(SCALAR[LT], e)

    def _product_is_less(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Return whether ``x * y * c1 < (x + y) * c2`` for positive ``x`` and ``y`` up to the ends of their ranges.

        ``x * y / (x + y)`` grows with each of them, and is less than either.
        """
        product, c1 = _factors(a)
        total, c2 = _factors(b)
        if not (isinstance(product, expr.Mul) and isinstance(total, expr.Add) and c1 > 0 and c2 > 0):
            return False
        x, y = product.a, product.b
        same = (deep_equal(x, total.a) and deep_equal(y, total.b)) or (
            deep_equal(x, total.b) and deep_equal(y, total.a)
        )
        (x_low, x_high), (y_low, y_high) = self.facts.bounds.visit(x), self.facts.bounds.visit(y)
        if not same or x_low <= 0 or y_low <= 0:
            return False
        smaller = min(x_high, y_high)
        return smaller * c1 <= c2 or x_high * y_high * c1 < (x_high + y_high) * c2

    def visit_GT(self, n: expr.GT) -> PrimExpr:
        return self._swapped(LT, n)

    def visit_GE(self, n: expr.GE) -> PrimExpr:
        return self._swapped(expr.LE, n)

    def _swapped(self, kind: type[BinaryOp], n: BinaryOp) -> PrimExpr:
        return self.resimplify(kind(n.b, n.a))

    def visit_LE(self, n: expr.LE) -> PrimExpr:
        e = self._operands(n)
        if isinstance(e, (IntImm, FloatImm)):
            return e
        a, b = e.a, e.b
        if a.dtype != "int32" and a.dtype != "int64":
            return self._vector(e)
        truth = self.assumed_truth(e)
        if truth is not None:
            return truth
        opposite = LT(b, a)
        result = self.resimplify(opposite)
        if isinstance(result, LT) and result.a is b and result.b is a:
            return self._stronger_order(e)
        order = negation(result)
        # The ends of symbolic ranges stay orders: other comparisons follow from them.
        return self._stronger_order(order) if isinstance(order, expr.LE) and isinstance(order.b, IntImm) else order

    def _stronger_order(self, e: expr.LE) -> PrimExpr:
        """Return ``a <= b`` as an equation where ``a`` is never less, as ``a < b`` where they are never equal."""
        if self.difference(e.a, e.b)[0] == 0:
            return self.resimplify(EQ(e.a, e.b))
        different = EQ(e.a, e.b), EQ(e.b, e.a)
        if self.facts.truths and any(self.assumed_truth(equation) is not None for equation in different):
            return self.resimplify(LT(e.a, e.b))
        return e

    def visit_EQ(self, n: EQ) -> PrimExpr:
        e = self._operands(n)
        if isinstance(e, (IntImm, FloatImm)):
            return e
        a, b = e.a, e.b
        if a.dtype == "bool" and deep_equal(a, b):
            return const(True)
        if a.dtype != "int32" and a.dtype != "int64":
            return self._vector(e)
        truth = self.assumed_truth(e)
        if truth is not None:
            return truth
        low, high = self.difference(a, b)
        if low == high == 0:
            return const(True)
        if low > 0 or high < 0 or self._never_equal(a, b):
            return const(False)
        return self._apply(SCALAR[EQ], e)

    def _never_equal(self, a: PrimExpr, b: PrimExpr) -> bool:
        coeff, base = self.facts.modular.visit(expr.Sub(a, b))
        return base != 0 if coeff == 0 else base % coeff != 0

    def visit_NE(self, n: expr.NE) -> PrimExpr:
        e = self._operands(n)
        if isinstance(e, (IntImm, FloatImm)) or not dt.is_integral(e.a.dtype):
            return e
        if dt.is_vector(e.dtype):
            return self._vector(e)
        truth = self.assumed_truth(e)
        if truth is not None:
            return truth
        a, b = e.a, e.b
        equality = EQ(a, b)
        result = self.resimplify(equality)
        if isinstance(result, EQ) and result.a is a and result.b is b:
            return self._order_of_different(e)
        different = negation(result)
        return self._order_of_different(different) if isinstance(different, expr.NE) else different

    def _order_of_different(self, e: expr.NE) -> PrimExpr:
        """Return ``a != b`` as the order that they have where they differ, if it is always the same."""
        order = self.compare(e.a, e.b) if e.a.dtype in ("int32", "int64") else None
        if order is None:
            return e
        return LT(e.a, e.b) if order < 0 else LT(e.b, e.a)

    def visit_Not(self, n: expr.Not) -> PrimExpr:
        a = self.visit(n.a)
        truth = self.assumed_truth(n)
        if truth is not None:
            return truth
        result = self._ordered(negation(a))
        return n if isinstance(result, expr.Not) and result.a is n.a else result

    def _ordered(self, e: PrimExpr) -> PrimExpr:
        """Return a negation in which what differs is compared by its order, where that is always the same."""
        if isinstance(e, (expr.And, expr.Or)):
            a, b = self._ordered(e.a), self._ordered(e.b)
            return e if a is e.a and b is e.b else type(e)(a, b)
        return self._order_of_different(e) if isinstance(e, expr.NE) else e

    def visit_And(self, n: expr.And) -> PrimExpr:
        return self._condition(n, absorbing=0)

    def visit_Or(self, n: expr.Or) -> PrimExpr:
        return self._condition(n, absorbing=1)

    def _condition(self, n: expr.And | expr.Or, absorbing: int) -> PrimExpr:
        if not self.facts.extensions & BOOLEAN_EXTENSIONS or self._in_condition or not is_stable(n):
            return self._logic(n, absorbing)
        memos = self.facts.memos
        memo = memos[self.memo_name]
        memos[self.memo_name] = memos.setdefault(f"{self.memo_name} within conditions", {})
        self._in_condition = True
        try:
            e = self.visit(n)
            if Extension.ConvertBooleanToAndOfOrs in self.facts.extensions:
                e = and_of_ors(e, self.visit)
            if Extension.ApplyConstraintsToBooleanBranches in self.facts.extensions:
                e = simplify_branches(e, self.visit, self.facts.assuming, is_stable)
            return e
        finally:
            self._in_condition = False
            memos[self.memo_name] = memo

    def _logic(self, n: expr.And | expr.Or, absorbing: int) -> PrimExpr:
        e = self._operands(n)
        if isinstance(e, (IntImm, FloatImm)):
            return e
        if isinstance(e.b, IntImm):
            return e.b if e.b.value == absorbing else e.a
        truth = self.assumed_truth(e)
        if truth is not None:
            return truth
        rules = SCALAR if dt.lanes(e.dtype) == 1 else VECTOR
        return self._apply(rules[type(n)], e)

    def _operands(self, n: Operation) -> Operation | IntImm | FloatImm:
        """Return ``n`` with its operands simplified: integers on the right, folded where both are constants."""
        kind = type(n)
        a, b = self.visit(n.a), self.visit(n.b)
        if isinstance(a, (IntImm, FloatImm)):
            if isinstance(b, (IntImm, FloatImm)):
                folded = fold(kind, a, b)
                if folded is not None:
                    return folded
            elif kind in _CONSTANT_RIGHT and isinstance(a, IntImm):
                a, b = b, a
        return n if a is n.a and b is n.b else kind(a, b)

    def _vector(self, e: BinaryOp) -> PrimExpr:
        rules = VECTOR.get(type(e))
        return e if rules is None or dt.lanes(e.dtype) == 1 else self._apply(rules, e)

    # Everything else

    def visit_Var(self, n: Var) -> PrimExpr:
        value = self.facts.values.get(n)
        if value is not None:
            return self.visit(value)
        truth = self.assumed_truth(n) if n.dtype == "bool" and self.facts.truths else None
        return n if truth is None else truth

    def visit_Cast(self, n: expr.Cast) -> PrimExpr:
        value = self.visit(n.value)
        if isinstance(value, (IntImm, FloatImm)) or value.dtype == n.dtype:
            return cast(n.dtype, value)
        if isinstance(value, Broadcast) and dt.lanes(n.dtype) == dt.lanes(value.dtype):
            return Broadcast(cast(dt.element(n.dtype), value.value), value.lanes)
        return n if value is n.value else expr.Cast(n.dtype, value)

    def visit_Ramp(self, n: expr.Ramp) -> PrimExpr:
        base, stride = self.visit(n.base), self.visit(n.stride)
        if isinstance(stride, IntImm) and stride.value == 0:
            return Broadcast(base, n.lanes)
        return n if base is n.base and stride is n.stride else expr.Ramp(base, stride, n.lanes)

    def visit_Select(self, n: expr.Select) -> PrimExpr:
        condition = self.visit(n.condition)
        same = condition.value if isinstance(condition, Broadcast) else condition
        if isinstance(same, IntImm):
            return self.visit(n.true_value if same.value else n.false_value)
        true_value, false_value = self._branches(condition, n.true_value, n.false_value)
        if deep_equal(true_value, false_value):
            return true_value
        if isinstance(condition, expr.Not):
            condition, true_value, false_value = condition.a, false_value, true_value
        if condition is n.condition and true_value is n.true_value and false_value is n.false_value:
            return n
        return expr.Select(condition, true_value, false_value)

    def _branches(self, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        if dt.is_vector(condition.dtype):
            return self.visit(a), self.visit(b)
        with self.facts.assuming(condition):
            true_value = self.visit(a)
        with self.facts.assuming(negation(condition)):
            false_value = self.visit(b)
        return true_value, false_value

    def visit_Let(self, n: expr.Let) -> PrimExpr:
        value = self.visit(n.value)
        if isinstance(value, (IntImm, FloatImm, Var)):
            return self.visit(substitute(n.body, {n.var: value}))
        self.facts.bind_let(n.var, value)
        body = self.visit(n.body)
        return n if value is n.value and body is n.body else expr.Let(n.var, value, body)

    def visit_Reduce(self, n: expr.Reduce) -> PrimExpr:
        self.facts.bind_domains(n.axis)
        condition = self.visit(n.condition)
        if isinstance(condition, IntImm):
            source = self._visit_tuple(n.source)
        else:
            with self.facts.assuming(condition):
                source = self._visit_tuple(n.source)
        return rebuild(n, source=source, condition=condition, init=self._visit_tuple(n.init))

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        name = getattr(n.op, "name", "")
        if name == "tir.if_then_else":
            return self._if_then_else(n)
        args = self._visit_tuple(n.args)
        if name == "tir.likely" and isinstance(args[0], IntImm):
            return args[0]
        if name in _BITWISE and all(isinstance(arg, IntImm) for arg in args):
            return _folded_bits(n, args)
        if name == "tir.clz" and isinstance(args[0], IntImm):
            return const(_leading_zeros(args[0]), n.dtype)
        if name == "tir.ceil" and isinstance(number := log2_operand(args[0]), FloatImm) and 0 < number.value < math.inf:
            return FloatImm(n.dtype, float(ceil_log2(number.value)))
        e = rebuild(n, args=args)
        truth = self.assumed_truth(e) if n.dtype == "bool" and self.facts.truths else None
        return e if truth is None else truth

    def _if_then_else(self, n: expr.Call) -> PrimExpr:
        condition = self.visit(n.args[0])
        if isinstance(condition, IntImm):
            return self.visit(n.args[1] if condition.value else n.args[2])
        a, b = self._branches(condition, n.args[1], n.args[2])
        if deep_equal(a, b):
            return a
        if isinstance(a, expr.Call) and a.op is n.op and deep_equal(a.args[2], b):
            return expr.Call(n.dtype, n.op, (expr.And(condition, a.args[0]), a.args[1], b))
        if condition is n.args[0] and a is n.args[1] and b is n.args[2]:
            return n
        return expr.Call(n.dtype, n.op, (condition, a, b))


def _is_zero(e: PrimExpr) -> bool:
    """Return whether an integer, or each lane of a vector of them, is the constant zero."""
    value = e.value if type(e) is Broadcast else e
    return type(value) is IntImm and value.value == 0


def _is_finite(e: PrimExpr) -> bool:
    """Return whether no value of ``e`` is an infinity or no number at all: integers, and what was made of one."""
    value = e.value if type(e) is Broadcast else e
    return dt.is_integral(value.dtype) or (type(value) is expr.Cast and dt.is_integral(value.value.dtype))


def _factors(e: PrimExpr) -> tuple[PrimExpr, int]:
    """Return an expression without its constant factor, and that."""
    return (e.a, e.b.value) if isinstance(e, expr.Mul) and isinstance(e.b, IntImm) else (e, 1)


def _leading_zeros(e: IntImm) -> int:
    bits = dt.bits(e.dtype)
    return bits - (e.value % (1 << bits)).bit_length()


def _fits(value: int, dtype: str) -> bool:
    low, high = dt.int_range(dtype)
    return low <= value <= high


def _identity(kind: type[BinaryOp], e: BinaryOp) -> PrimExpr:
    """Drop neutral operands, which every type has, in each lane: ``x + 0``, ``x * 1``."""
    x, constant = (e.b, e.a) if kind in (expr.Add, expr.Mul) and type(e.a) is FloatImm else (e.a, e.b)
    b = constant.value if type(constant) is Broadcast else constant
    if isinstance(b, (IntImm, FloatImm)):
        if kind in (expr.Mul, expr.Div, expr.FloorDiv) and b.value == 1:
            return x
        if kind in (expr.Add, expr.Sub) and b.value == 0:
            return x
        if kind is expr.Mul and b.value == 0 and _is_finite(x):
            return constant
    if kind in (expr.Min, expr.Max) and deep_equal(e.a, e.b):
        return e.a
    return _cancelled(e) if kind is expr.Sub and dt.is_integral(e.dtype) and dt.lanes(e.dtype) == 1 else e


def _cancelled(e: BinaryOp) -> PrimExpr:
    """Cancel what is subtracted from itself or from a sum with it: exact for integers that wrap around, too."""
    if deep_equal(e.a, e.b):
        return const(0, e.dtype)
    if isinstance(e.a, expr.Add):
        for subtracted, rest in ((e.a.a, e.a.b), (e.a.b, e.a.a)):
            if deep_equal(subtracted, e.b):
                return rest
    return e


_BITWISE = {
    f"tir.{name}": name
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right")
}


def _folded_bits(n: expr.Call, args: tuple[PrimExpr, ...]) -> PrimExpr:
    assert isinstance(n.op, Op), "only operators are bitwise"
    try:
        return bitwise(_BITWISE[n.op.name], *args)
    except ArgumentError:  # a shift by more bits than there are has no value
        return rebuild(n, args=args)


_BOUNDED: dict[type[BinaryOp], Callable[[RewriteSimplifier, BinaryOp], PrimExpr | None]] = {
    expr.FloorDiv: RewriteSimplifier._floor_div,
    expr.FloorMod: RewriteSimplifier._floor_mod,
    expr.Mod: RewriteSimplifier._trunc_mod,
    expr.Min: RewriteSimplifier._min,
    expr.Max: RewriteSimplifier._max,
}
