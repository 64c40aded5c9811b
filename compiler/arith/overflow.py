"""Which rewrites could let values from memory overflow.

Loop variables, sizes and indices are far from the ends of their types, so rules may move terms between the operands of
comparisons, quotients, minima and maxima.  A value from memory may be any of its type: with the start of a maximum in
``B[0]``, ``B[0] >= 0 - A[0]`` compares -2147483648 with a negative number, and ``0 <= B[0] + A[0]`` overflows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from compiler.arith.const_int_bound import ConstIntBoundAnalyzer
from compiler.arith.deep_equal import deep_equal
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var, as_exprs
from compiler.ir.op import CallEffect

WRAPPING = (expr.Add, expr.Sub, expr.Mul)
"""Operations that are the same in any order, even where what is in between wraps around."""

INDEX_NODES = (
    Var,
    expr.IntImm,
    expr.FloatImm,
    expr.StringImm,
    expr.BinaryOp,
    expr.Not,
    expr.Select,
    expr.Cast,
    expr.Ramp,
    expr.Broadcast,
    expr.Shuffle,
    expr.Let,
)
"""What index arithmetic is made of, calls of pure functions aside."""

EXACT = (expr.CmpOp, expr.Min, expr.Max, expr.FloorDiv, expr.FloorMod, expr.Div, expr.Mod)
"""Operations whose operands must not have wrapped around."""


def may_overflow_after(
    old: PrimExpr, new: PrimExpr, bounds: ConstIntBoundAnalyzer, loaded: Collection[Var] = ()
) -> bool:
    """Return whether an operand in ``new``, which ``old`` was rewritten to, may overflow where none in ``old`` does.

    So it is if ``new`` compares, divides, or takes the minimum or maximum of a sum or product of values from memory
    that may exceed its type, and that ``old`` does not use so.
    """
    risky = [operand for operand in _exact_operands(new) if _may_wrap(operand, bounds, loaded)]
    if not risky:
        return False
    before = list(_exact_operands(old))
    return any(all(not deep_equal(operand, known) for known in before) for operand in risky)


def is_loaded(e: PrimExpr, loaded: Collection[Var] = ()) -> bool:
    """Return whether the value of ``e`` depends on what memory holds, or on a call that can answer anything."""
    todo: list[object] = [e]
    while todo:
        part = todo.pop()
        if type(part) is expr.IntImm:
            continue
        if isinstance(part, Var):
            if part in loaded:
                return True
        elif isinstance(part, expr.BinaryOp):
            todo += (part.a, part.b)
        elif isinstance(part, expr.Call):
            if getattr(part.op, "effect", CallEffect.UPDATE_STATE).value > CallEffect.PURE.value:
                return True
            todo += part.args
        elif not isinstance(part, INDEX_NODES):
            return True
        else:
            todo += [child for name in part.children for child in as_exprs(getattr(part, name))]
    return False


def _exact_operands(e: PrimExpr) -> Iterator[PrimExpr]:
    """Yield the operands of the comparisons, quotients, minima and maxima in an expression, not those in indices."""
    todo: list[object] = [e]
    while todo:
        part = todo.pop()
        if isinstance(part, expr.BinaryOp):
            if isinstance(part, EXACT):
                yield part.a
                yield part.b
            todo += (part.a, part.b)
        elif isinstance(part, (expr.Call, *INDEX_NODES)):
            todo += [child for name in part.children for child in as_exprs(getattr(part, name))]


def _may_wrap(e: PrimExpr, bounds: ConstIntBoundAnalyzer, loaded: Collection[Var]) -> bool:
    if not isinstance(e, WRAPPING) or not dt.is_integral(e.dtype) or not is_loaded(e, loaded):
        return False
    low, high = bounds.visit(e)
    least, most = dt.int_range(dt.element(e.dtype))
    return low < least or high > most
