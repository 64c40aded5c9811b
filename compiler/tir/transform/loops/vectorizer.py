"""The vectoriser: rewrites a loop body for a vector of all values of the loop variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.lanes import lanes_of_count
from compiler.ir.expr.primexpr import Broadcast, PrimExpr, Ramp, Var, const, convert, is_const_int
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import Mutator, parts_of
from compiler.ir.node import Node, rebuild
from compiler.ir.op import CallEffect, Op
from compiler.tir.expressions.builtin import (
    ACCESS_PTR,
    ADDRESS_OF,
    CALL_LLVM_PURE_INTRIN,
    CALL_PURE_EXTERN,
    IF_THEN_ELSE,
    ISNULLPTR,
    TUPLE,
    TYPE_ANNOTATION,
    VECTOR_COMBINE,
    VECTOR_HIGH,
    VECTOR_LOW,
)
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.stmt import Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.loops.predication import ACTIVE_LANES, NoVectorForm, predicated
from compiler.tir.transform.loops.vector_memory import widen_allocation


def lanes_of(e: PrimExpr) -> int:
    """Return the number of lanes of a value."""
    return dt.lanes(e.dtype)


def broadcast_to(e: PrimExpr, lanes: int) -> PrimExpr:
    """Return ``e`` as a vector of that many lanes.

    Raises NoVectorForm if it is a vector of another length, unless all its lanes are the same.
    """
    own = lanes_of(e)
    if own == lanes:
        return e
    if isinstance(e, Broadcast) and own > 0 and lanes % own == 0:
        return Broadcast(e.value, lanes_of_count(lanes))
    if own != 1:
        raise NoVectorForm
    return Broadcast(e, lanes_of_count(lanes))


def widest(values: Iterable[PrimExpr]) -> int:
    """Return the lanes of the vectors among values, 1 if they are scalars."""
    return next((lanes for lanes in map(lanes_of, values) if lanes != 1), 1)


L = TypeVar("L", expr.Let, tir.LetStmt)


class Vectorizer(StmtExprMutator):
    """Rewrites the body of one loop; what comes back scalar is the same in all lanes.

    It has ``lanes`` values, a negative number for multiples of ``vscale``. With ``predication``, branches that differ
    from lane to lane become predicates of the accesses in them.
    """

    def __init__(self, var: Var, low: PrimExpr, lanes: int, predication: bool = False) -> None:
        self._predication = predication
        self._var = var
        self._low = low
        self._lanes = lanes
        self._ramp = Ramp(low, const(1, var.dtype), lanes_of_count(lanes))
        self._lets: dict[Var, tuple[Var, PrimExpr]] = {}

    # Expressions

    def visit_Var(self, n: Var) -> PrimExpr:
        if n is self._var:
            return self._ramp
        bound = self._lets.get(n)
        return n if bound is None else bound[0]

    def visit_Add(self, n: expr.Add) -> PrimExpr:
        return self._sum(n, lambda x, y: x + y)

    def visit_Sub(self, n: expr.Sub) -> PrimExpr:
        return self._sum(n, lambda x, y: x - y)

    def _sum(self, n: expr.Add | expr.Sub, combine: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        if a is n.a and b is n.b:
            return n
        if lanes_of(a) == 1 and isinstance(b, Ramp):
            zero = const(0, b.stride.dtype)
            return Ramp(combine(a, b.base), combine(zero, b.stride), b.lanes)
        if lanes_of(b) == 1 and isinstance(a, Ramp):
            return Ramp(combine(a.base, b), a.stride, a.lanes)
        return self._join(n, a, b)

    def visit_Mul(self, n: expr.Mul) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        if a is n.a and b is n.b:
            return n
        if lanes_of(b) == 1 and isinstance(a, Ramp):
            return Ramp(a.base * b, a.stride * b, a.lanes)
        if lanes_of(a) == 1 and isinstance(b, Ramp):
            return Ramp(a * b.base, a * b.stride, b.lanes)
        return self._join(n, a, b)

    def visit_BinaryOp(self, n: expr.BinaryOp) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        return n if a is n.a and b is n.b else self._join(n, a, b)

    def _join(self, n: expr.BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        lanes = widest((a, b))
        return type(n)(broadcast_to(a, lanes), broadcast_to(b, lanes))

    def visit_Not(self, n: expr.Not) -> PrimExpr:
        a = self.visit(n.a)
        return n if a is n.a else expr.Not(a)

    def visit_Cast(self, n: expr.Cast) -> PrimExpr:
        value = self.visit(n.value)
        return n if value is n.value else expr.Cast(dt.with_lanes(n.dtype, lanes_of(value)), value)

    def visit_Select(self, n: expr.Select) -> PrimExpr:
        parts = [self.visit(n.condition), self.visit(n.true_value), self.visit(n.false_value)]
        if parts[0] is n.condition and parts[1] is n.true_value and parts[2] is n.false_value:
            return n
        lanes = widest(parts)
        return expr.Select(*[broadcast_to(p, lanes) for p in parts])

    def visit_Ramp(self, n: Ramp) -> PrimExpr:
        base, lanes = self.visit(n.base), lanes_of(n)
        if isinstance(base, Ramp) and isinstance(n.stride, expr.IntImm) and min(lanes, lanes_of(base)) > 0:
            joins = is_const_int(base.stride, n.stride.value * lanes)  # each one begins where the one before ends
            return Ramp(base.base, n.stride, lanes * lanes_of(base)) if joins else self._vector_already(n)
        return self._vector_already(n)

    def visit_Broadcast(self, n: Broadcast) -> PrimExpr:
        value = self.visit(n.value)
        if value is n.value:
            return n
        if isinstance(value, Broadcast):
            return Broadcast(value.value, lanes_of_count(lanes_of(value) * lanes_of(n)))
        raise NoVectorForm

    def visit_Shuffle(self, n: expr.Shuffle) -> PrimExpr:
        return self._vector_already(n)

    def _vector_already(self, n: PrimExpr) -> PrimExpr:
        """A vector that differs from iteration to iteration would be a matrix."""
        if any(uses_var(n, v) for v in (self._var, *self._lets)):
            raise NoVectorForm
        return n

    def _let(self, n: L) -> L:
        value = self.visit(n.value)
        if lanes_of(value) == lanes_of(n.value):
            return rebuild(n, value=value, body=self.visit(n.body))
        wide = Var(n.var.name, value.dtype)
        self._lets[n.var] = (wide, n.value)
        body = self.visit(n.body)
        del self._lets[n.var]
        return rebuild(n, var=wide, value=value, body=body)

    visit_Let = visit_LetStmt = _let

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        args = [self.visit(a) for a in n.args]
        if all(a is b for a, b in zip(args, n.args, strict=True)):
            return n
        if n.op is IF_THEN_ELSE:
            return self._choice(args)
        if not _elementwise(n):
            raise NoVectorForm
        lanes = widest(args)
        return expr.Call(dt.with_lanes(n.dtype, lanes), n.op, tuple([broadcast_to(a, lanes) for a in args]))

    def _choice(self, args: list[PrimExpr]) -> PrimExpr:
        """Only the chosen side may be evaluated, so that all lanes must choose alike."""
        condition, then, other = args
        if isinstance(condition, Broadcast):
            condition = condition.value
        if lanes_of(condition) != 1:
            raise NoVectorForm
        lanes = widest((then, other))
        then, other = broadcast_to(then, lanes), broadcast_to(other, lanes)
        return expr.Call(then.dtype, IF_THEN_ELSE, (condition, then, other))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        self._refuse_predicate(n)
        return rebuild(n, indices=self._indices(n.indices))

    def _refuse_predicate(self, n: BufferLoad | tir.BufferStore) -> None:
        """A vector access that differs from iteration to iteration has no vector form."""
        if n.predicate is not None:
            self._vector_already(n.predicate)

    def _indices(self, old: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        """Only the last index may be a vector: rows apart are not one access."""
        new = self._visit_tuple(old)
        if new is not old and any(lanes_of(i) != 1 for i in new[:-1]):
            raise NoVectorForm
        return new

    # Statements

    def visit(self, n: object, *args: object) -> Any:
        if not isinstance(n, Stmt):
            return Mutator.visit(self, n, *args)
        try:
            return Mutator.visit(self, n, *args)
        except NoVectorForm:
            return self._scalarised(n)

    def _scalarised(self, n: Stmt) -> Stmt:
        """Run a statement lane by lane; lets around it are repeated for the lane."""
        lane = Var(self._var.name + ".s", self._var.dtype)
        body = n
        for var, (_, scalar) in reversed(self._lets.items()):
            body = tir.LetStmt(var, scalar, body)
        body = substitute(body, {self._var: lane})
        lanes = convert(lanes_of_count(self._lanes)).astype(lane.dtype)
        return tir.For(lane, self._low, lanes, tir.ForKind.SERIAL, body, is_lanes=True)

    def visit_BufferStore(self, n: tir.BufferStore) -> Stmt:
        self._refuse_predicate(n)
        indices, value = self._indices(n.indices), self.visit(n.value)
        if indices is n.indices:
            if value is not n.value or _reads(n.value, n.buffer.data):
                raise NoVectorForm  # all lanes store to one element, and the order matters
            return n
        lanes = lanes_of(indices[-1]) * dt.lanes(n.buffer.dtype)
        return rebuild(n, value=broadcast_to(value, lanes), indices=indices)

    def visit_For(self, n: tir.For) -> Stmt:
        low, extent = self.visit(n.min), self.visit(n.extent)
        if low is not n.min or extent is not n.extent:
            raise NoVectorForm
        body = self.visit(n.body)
        return rebuild(n, body=body)

    def visit_IfThenElse(self, n: tir.IfThenElse) -> Stmt:
        condition = self.visit(n.condition)
        if lanes_of(condition) != 1:
            return self._predicated(n, condition)
        then = self.visit(n.then_case)
        other = None if n.else_case is None else self.visit(n.else_case)
        if condition is n.condition and then is n.then_case and other is n.else_case:
            return n
        return tir.IfThenElse(condition, then, other)

    def _predicated(self, n: tir.IfThenElse, condition: PrimExpr) -> Stmt:
        """Return the branch of some lanes as accesses with a predicate: ``i < n`` says which lanes are active."""
        if not self._predication or n.else_case is not None or not isinstance(condition, expr.LT):
            raise NoVectorForm
        lane, limit = condition.a, condition.b
        if not isinstance(lane, Ramp) or not is_const_int(lane.stride, 1) or not isinstance(limit, Broadcast):
            raise NoVectorForm
        mask = expr.Call(condition.dtype, ACTIVE_LANES, (lane.base, limit.value))
        return predicated(self.visit(n.then_case), mask)

    def _uniform(self, e: PrimExpr) -> PrimExpr:
        """Return a value that is the same in all lanes, as a scalar."""
        new: PrimExpr = self.visit(e)
        if lanes_of(new) != 1:
            raise NoVectorForm
        return new

    def visit_While(self, n: tir.While) -> Stmt:
        raise LoweringError("VectorizeLoop: A while loop inside a vectorized loop not supported")

    def _touches(self, n: Stmt) -> bool:
        return any(uses_var(n, v) for v in (self._var, *self._lets))

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        value, body = self._uniform(n.value), self.visit(n.body)
        return rebuild(n, value=value, body=body)

    def visit_AssertStmt(self, n: tir.AssertStmt) -> Stmt:
        condition, body = self._uniform(n.condition), self.visit(n.body)
        return rebuild(n, condition=condition, body=body)

    def visit_Evaluate(self, n: tir.Evaluate) -> Stmt:
        value = self.visit(n.value)
        if value is not n.value:
            raise NoVectorForm
        return n

    def visit_Allocate(self, n: tir.Allocate) -> Stmt:
        if self._lanes < 0 or any(self.visit(e) is not e for e in (*n.extents, n.condition)):
            raise NoVectorForm
        body, size = widen_allocation(n, self._var, self._low, self._lanes)
        return rebuild(n, extents=(size,), body=self.visit(body))


def _elementwise(n: expr.Call) -> bool:
    """Return whether a call on vectors is the calls on their lanes."""
    op = n.op
    return isinstance(op, Op) and op.effect.value <= CallEffect.PURE.value and op not in _NOT_ELEMENTWISE


_NOT_ELEMENTWISE = frozenset(
    {
        ACCESS_PTR,
        ADDRESS_OF,
        CALL_LLVM_PURE_INTRIN,
        CALL_PURE_EXTERN,
        ISNULLPTR,
        TUPLE,
        TYPE_ANNOTATION,
        VECTOR_COMBINE,
        VECTOR_HIGH,
        VECTOR_LOW,
    }
)


def _reads(e: Node, data: Var) -> bool:
    """Return whether an expression loads from the memory behind a pointer."""
    if isinstance(e, BufferLoad) and e.buffer.data is data:
        return True
    return any(_reads(c, data) for c in parts_of(e, Node))
