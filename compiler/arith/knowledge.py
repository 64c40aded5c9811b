"""What is known at a point of a program: ranges and values of variables, and the conditions that hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.arith.const_int_bound import UNBOUNDED, ConstIntBoundAnalyzer, Interval, is_index_type
from compiler.arith.modular_set import ModularSet, ModularSetAnalyzer, modular
from compiler.ir.primexpr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Call,
    CmpOp,
    FloorMod,
    IntImm,
    Mod,
    Not,
    Or,
    PrimExpr,
    Var,
)

NEGATION: dict[type[CmpOp], type[CmpOp]] = {LT: GE, GE: LT, GT: LE, LE: GT, EQ: NE, NE: EQ}


class Knowledge:
    """Facts that the analyses share, and their memos, which hold as long as the facts do not change."""

    def __init__(self) -> None:
        self.bounds = ConstIntBoundAnalyzer()
        self.modular = ModularSetAnalyzer()
        self.values: dict[Var, PrimExpr] = {}
        self.symbolic: dict[Var, tuple[PrimExpr, PrimExpr]] = {}
        """The smallest and largest value of each variable whose range is not constant, in order of binding."""
        self.truths: list[PrimExpr] = []
        self.memos: dict[str, dict[PrimExpr, PrimExpr]] = {"rewrite": {}, "canonical": {}}

    def bind_range(self, var: Var, low: PrimExpr, extent: PrimExpr) -> None:
        """Let ``low <= var < low + extent`` hold."""
        if not isinstance(low, IntImm) or not isinstance(extent, IntImm):
            self.symbolic[var] = (low, low + extent - 1)
        (a, b), (_, d) = self.bounds.visit(low), self.bounds.visit(extent)
        self.bounds.variables[var] = (a, max(a, b + d - 1))
        self.forget()

    def bind_value(self, var: Var, value: PrimExpr) -> None:
        """Let ``var`` stand for ``value``."""
        self.values[var] = value
        self.bounds.variables[var] = self.bounds.visit(value)
        self.modular.variables[var] = self.modular.visit(value)
        self.forget()

    def bind_bound(self, var: Var, bound: Interval) -> None:
        """Let ``var`` lie in an interval."""
        self.bounds.variables[var] = bound
        self.forget()

    def bind_modular(self, var: Var, values: ModularSet) -> None:
        """Let ``var`` be congruent to a constant."""
        self.modular.variables[var] = values
        self.forget()

    def assume_forever(self, condition: PrimExpr) -> None:
        """Let ``condition`` hold from now on."""
        self._assume(condition)
        self.forget()

    def forget(self) -> None:
        """Drop what was derived from older facts."""
        self.bounds.memo = {}
        self.modular.memo = {}
        self.memos = {name: {} for name in self.memos}

    @contextmanager
    def assuming(self, condition: PrimExpr) -> Iterator[None]:
        """Let ``condition`` hold inside the block."""
        saved = (self.bounds.memo, self.modular.memo, self.memos)
        counts = (len(self.bounds.extra), len(self.modular.extra), len(self.truths))
        self._assume(condition)
        self.forget()
        try:
            yield
        finally:
            del self.bounds.extra[counts[0] :], self.modular.extra[counts[1] :], self.truths[counts[2] :]
            self.bounds.memo, self.modular.memo, self.memos = saved

    def _assume(self, condition: PrimExpr) -> None:
        if isinstance(condition, Call) and getattr(condition.op, "name", "") == "tir.likely":
            condition = condition.args[0]
        if isinstance(condition, And):
            self._assume(condition.a)
            self._assume(condition.b)
            return
        if isinstance(condition, Not):
            inner = condition.a
            if isinstance(inner, Or):
                self._assume(Not(inner.a))
                self._assume(Not(inner.b))
                return
            if type(inner) in NEGATION and is_index_type(inner.a.dtype):  # type: ignore[attr-defined]
                self._assume(NEGATION[type(inner)](inner.a, inner.b))  # type: ignore[index, attr-defined]
                return
        if isinstance(condition, IntImm):
            return
        self.truths.append(condition)
        if isinstance(condition, CmpOp) and is_index_type(condition.a.dtype):
            self._compare(condition)

    def _compare(self, condition: CmpOp) -> None:
        """Read bounds and congruences off a comparison."""
        kind, a, b = type(condition), condition.a, condition.b
        if isinstance(a, IntImm) and kind in _MIRROR:
            kind, a, b = _MIRROR[kind], b, a
        low, high = self.bounds.visit(b)
        if kind is EQ and isinstance(a, (FloorMod, Mod)) and isinstance(a.b, IntImm) and isinstance(b, IntImm):
            self.modular.extra.append((a.a, modular(a.b.value, b.value)))
        if kind is EQ and isinstance(b, IntImm):
            self.modular.extra.append((a, ModularSet(0, b.value)))
        interval = _BELOW.get(kind)
        if interval is not None:
            shift_low, shift_high = interval
            self.bounds.extra.append(
                (
                    a,
                    (
                        -UNBOUNDED if shift_low is None else low + shift_low,
                        UNBOUNDED if shift_high is None else high + shift_high,
                    ),
                )
            )
            if not isinstance(b, IntImm):
                other_low, other_high = self.bounds.visit(a)
                back_low, back_high = _BELOW[_MIRROR[kind]]
                self.bounds.extra.append(
                    (
                        b,
                        (
                            -UNBOUNDED if back_low is None else other_low + back_low,
                            UNBOUNDED if back_high is None else other_high + back_high,
                        ),
                    )
                )


_MIRROR: dict[type[CmpOp], type[CmpOp]] = {LT: GT, GT: LT, LE: GE, GE: LE, EQ: EQ}
_BELOW: dict[type[CmpOp], tuple[int | None, int | None]] = {
    LT: (None, -1),
    LE: (None, 0),
    GT: (1, None),
    GE: (0, None),
    EQ: (0, 0),
}
"""What ``a < b`` and so on say about ``a``: added to the lower and to the upper end of the interval of ``b``."""
