"""Facts at a point of a program: ranges and values of variables, and conditions that hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from compiler.arith.const_int_bound import (
    UNBOUNDED,
    ConstIntBoundAnalyzer,
    Interval,
    TrustingConstIntBound,
    is_index_type,
)
from compiler.arith.deep_equal import deep_equal
from compiler.arith.extension import Extension
from compiler.arith.modular_set import Congruence, ModularSetAnalyzer, TrustingModularSet, modular
from compiler.arith.overflow import INDEX_NODES, is_loaded
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.axes import IterVar
from compiler.ir.expr.primexpr import EQ, GT, LT, CmpOp, IntImm, PrimExpr, Var, as_exprs
from compiler.ir.expr.substitute import free_vars
from compiler.ir.op import CallEffect

NEGATION: dict[type[CmpOp], type[CmpOp]] = {
    LT: expr.GE,
    expr.GE: LT,
    GT: expr.LE,
    expr.LE: GT,
    EQ: expr.NE,
    expr.NE: EQ,
}


class VariableFacts(NamedTuple):
    """What is known about one variable, None where nothing is; ``symbolic`` are ends that are not constant."""

    bound: Interval | None
    congruence: Congruence | None
    value: PrimExpr | None
    symbolic: tuple[PrimExpr, PrimExpr] | None

    def agrees_with(self, other: VariableFacts) -> bool:
        """Return whether what both know is the same."""
        pairs = zip(self, other, strict=True)
        return all(a is None or b is None or _same(a, b) for a, b in pairs)

    def joined(self, other: VariableFacts) -> VariableFacts:
        """Return these facts, and those of ``other`` about what is not known here."""
        return other._replace(**{name: fact for name, fact in self._asdict().items() if fact is not None})

    def __str__(self) -> str:
        if self.value is not None:
            return str(self.value)
        if self.symbolic is not None:
            return f"in [{self.symbolic[0]}, {self.symbolic[1]}]"
        return f"in [{self.bound[0]}, {self.bound[1]}]" if self.bound is not None else str(self.congruence)


def _same(a: object, b: object) -> bool:
    """Return whether two facts of one kind are equal; expressions match by what they are written as."""
    if isinstance(a, PrimExpr) and isinstance(b, PrimExpr):
        return deep_equal(a, b)
    if type(a) is tuple and type(b) is tuple:
        return all(map(_same, a, b))
    return a == b


class Facts:
    """Facts that the analyses share, and their memos, which hold as long as the facts do not change."""

    def __init__(self) -> None:
        self.bounds = ConstIntBoundAnalyzer()
        self.modular = ModularSetAnalyzer()
        self.modular.bounds = self.bounds
        self.public_bounds = TrustingConstIntBound(self.bounds)
        self.public_modular = TrustingModularSet(self.modular)
        self.values: dict[Var, PrimExpr] = {}
        self.symbolic: dict[Var, tuple[PrimExpr, PrimExpr]] = {}
        """The smallest and largest value of each variable whose range is not constant."""
        self._symbolic_since: dict[Var, int] = {}
        self.loaded: set[Var] = set()
        """The variables that hold values from memory."""
        self.truths: list[PrimExpr] = []
        self.not_positive: list[PrimExpr] = []
        """What is at most zero, from comparisons of two expressions."""
        self.extensions = Extension.NoExtensions
        self._bindings = 0
        self.memos: dict[str, dict[PrimExpr, PrimExpr]] = {"rewrite": {}, "canonical": {}}
        self.differences: dict[tuple[object, ...], Interval] = {}

    @property
    def is_symbolic(self) -> bool:
        """Whether anything is known that is not an interval of constants."""
        return bool(self.symbolic or self.not_positive)

    def bind_range(self, var: Var, low: PrimExpr, extent: PrimExpr) -> None:
        """Let ``low <= var < low + extent`` hold, and nothing that was known about ``var`` before."""
        self._unbind(var)
        if not isinstance(low, IntImm) or not isinstance(extent, IntImm):
            self._bind_symbolic(var, (low, low + extent - 1))
        (a, b), (_, d) = self.bounds.visit(low), self.bounds.visit(extent)
        self.bounds.variables[var] = (a, max(a, b + d - 1))

    def bind_value(self, var: Var, value: PrimExpr) -> None:
        """Let ``var`` stand for ``value``."""
        self._unbind(var)
        self.values[var] = value
        self.bounds.variables[var] = self.bounds.visit(value)
        congruence = self.modular.visit(value)
        if congruence.coeff != 1:
            self.modular.variables[var] = congruence

    def bind_let(self, var: Var, value: PrimExpr) -> None:
        """Note what is known about a variable that is bound to ``value`` and stays a variable."""
        self.bounds.variables[var] = self.bounds.visit(value)
        self.modular.variables[var] = self.modular.visit(value)
        self.note_loaded(var, value)

    def note_loaded(self, var: Var, value: PrimExpr) -> None:
        """Note whether a variable that is bound to ``value`` holds what memory held."""
        if is_loaded(value, self.loaded):
            self.loaded.add(var)

    @property
    def has_congruences(self) -> bool:
        """Whether the remainders of some expressions are known."""
        return bool(self.modular.variables or self.modular.extra)

    def about(self, var: Var) -> VariableFacts:
        """Return what is known about ``var``."""
        return VariableFacts(
            self.bounds.variables.get(var),
            self.modular.variables.get(var),
            self.values.get(var),
            self.symbolic.get(var),
        )

    def replace(self, var: Var, facts: VariableFacts) -> None:
        """Let ``facts``, and nothing else, be known about ``var``."""
        self._unbind(var)
        if facts.bound is not None:
            self.bounds.variables[var] = facts.bound
        if facts.congruence is not None:
            self.modular.variables[var] = facts.congruence
        if facts.value is not None:
            self.values[var] = facts.value
        if facts.symbolic is not None:
            self._bind_symbolic(var, facts.symbolic)

    def _bind_symbolic(self, var: Var, ends: tuple[PrimExpr, PrimExpr]) -> None:
        self.symbolic[var] = ends
        self._symbolic_since[var] = self._bindings

    def symbolic_variables(self, e: PrimExpr) -> list[tuple[int, Var]]:
        """Return the variables of ``e`` whose ranges are not constant, each behind a number: larger is bound later."""
        return [(self._symbolic_since[var], var) for var in free_vars(e) if var in self.symbolic]

    def bind_domains(self, axes: Sequence[IterVar]) -> None:
        """Let the variables of axes lie in their domains, where nothing is known about them yet."""
        bound = (self.bounds.variables, self.modular.variables)
        for axis in axes:
            if axis.dom is not None and not any(axis.var in facts for facts in bound):
                self.bind_range(axis.var, axis.dom.min, axis.dom.extent)

    def bind_bound(self, var: Var, bound: Interval) -> None:
        """Let ``var`` lie in an interval."""
        self.bounds.variables[var] = bound
        self._bound_anew()

    def _bound_anew(self) -> None:
        self._bindings += 1
        self.forget()

    def _unbind(self, var: Var) -> None:
        for facts in (self.values, self.symbolic, self.bounds.variables, self.modular.variables):
            facts.pop(var, None)
        self._bound_anew()

    def bind_modular(self, var: Var, values: Congruence) -> None:
        """Let ``var`` be congruent to a constant."""
        self.modular.variables[var] = values
        self._bound_anew()

    def assume_forever(self, condition: PrimExpr) -> None:
        """Let ``condition`` hold from now on."""
        self._assume(condition)
        self._bound_anew()

    def forget(self) -> None:
        """Drop what was derived from older facts."""
        self.bounds.memo = {}
        self.modular.memo = {}
        self.public_bounds.memo = {}
        self.public_modular.memo = {}
        self.memos = {name: {} for name in self.memos}
        self.differences = {}

    @contextmanager
    def assuming(self, condition: PrimExpr) -> Iterator[None]:
        """Let ``condition`` hold inside the block."""
        bindings = self._bindings
        saved = (self.bounds.memo, self.modular.memo, self.memos, self.differences)
        lists: tuple[list[Any], ...] = (self.bounds.extra, self.modular.extra, self.truths, self.not_positive)
        counts = [len(facts) for facts in lists]
        self._assume(condition)
        self.forget()
        try:
            yield
        finally:
            for facts, count in zip(lists, counts, strict=True):
                del facts[count:]
            self.forget()  # what was remembered before the block may be about older bindings
            if self._bindings == bindings:
                self.bounds.memo, self.modular.memo, self.memos, self.differences = saved

    def _assume(self, condition: PrimExpr) -> None:
        if isinstance(condition, expr.Call) and getattr(condition.op, "name", "") == "tir.likely":
            condition = condition.args[0]
        if isinstance(condition, expr.And):
            self._assume(condition.a)
            self._assume(condition.b)
            return
        if isinstance(condition, expr.Not):
            inner = condition.a
            if isinstance(inner, expr.Or):
                self._assume(expr.Not(inner.a))
                self._assume(expr.Not(inner.b))
                return
            if isinstance(inner, CmpOp) and type(inner) in NEGATION and is_index_type(inner.a.dtype):
                self._assume(NEGATION[type(inner)](inner.a, inner.b))
                return
        if isinstance(condition, IntImm) or not is_stable(condition):
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
        if (
            kind is EQ
            and isinstance(a, (expr.FloorMod, expr.Mod))
            and isinstance(a.b, IntImm)
            and isinstance(b, IntImm)
        ):
            self.modular.extra.append((a.a, modular(a.b.value, b.value)))
        if kind is EQ and isinstance(b, IntImm):
            self.modular.extra.append((a, Congruence(0, b.value)))
        if kind is expr.NE:
            kind = self._order(self.bounds.visit(a), (low, high))
        if kind not in _BELOW:
            return
        self._narrow(a, kind, (low, high))
        if not isinstance(b, IntImm):
            self._narrow(b, _MIRROR[kind], self.bounds.visit(a))
            self._relate(a, kind, b)

    def _order(self, a: Interval, b: Interval) -> type[CmpOp]:
        """Return how two things that differ compare: one that is never beyond the other is before it."""
        if a[1] <= b[0]:
            return LT
        return GT if a[0] >= b[1] else expr.NE

    def _narrow(self, e: PrimExpr, kind: type[CmpOp], other: Interval) -> None:
        """Note the interval of ``e`` where it compares like this with something in an interval."""
        low, high = _BELOW[kind]
        bound = (-UNBOUNDED if low is None else other[0] + low, UNBOUNDED if high is None else other[1] + high)
        self.bounds.extra.append((e, bound))

    def _relate(self, a: PrimExpr, kind: type[CmpOp], b: PrimExpr) -> None:
        """Note a comparison of two expressions as differences that are not positive."""
        if kind in (LT, expr.LE, EQ):
            self.not_positive.append(a - b + 1 if kind is LT else a - b)
        if kind in (GT, expr.GE, EQ):
            self.not_positive.append(b - a + 1 if kind is GT else b - a)


def is_stable(e: PrimExpr) -> bool:
    """Return whether ``e`` stays what it is whatever is stored: whether it reads nothing but variables."""
    if isinstance(e, expr.Call):
        effect = getattr(e.op, "effect", CallEffect.UPDATE_STATE)
        return effect.value <= CallEffect.PURE.value and all(is_stable(arg) for arg in e.args)
    if not isinstance(e, _STABLE):
        return False
    return all(is_stable(part) for name in e.children for part in as_exprs(getattr(e, name)))


_STABLE = (*INDEX_NODES, expr.ProducerLoad)

_MIRROR: dict[type[CmpOp], type[CmpOp]] = {LT: GT, GT: LT, expr.LE: expr.GE, expr.GE: expr.LE, EQ: EQ}
_BELOW: dict[type[CmpOp], tuple[int | None, int | None]] = {
    LT: (None, -1),
    expr.LE: (None, 0),
    GT: (1, None),
    expr.GE: (0, None),
    EQ: (0, 0),
}
"""What ``a < b`` and so on say about ``a``: added to the lower and to the upper end of the interval of ``b``."""
