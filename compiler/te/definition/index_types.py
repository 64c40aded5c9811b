"""Index promotion: rewrites axes, extents and indices from 32 to 64 bits."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var, cast
from compiler.ir.functor import Mutator
from compiler.te.definition.compute_body import reads_tensors


class IndexTypes:
    """Converts what a program counts with to one integer type; None leaves everything as it is."""

    def __init__(self, dtype: str | None) -> None:
        self.dtype = dtype
        self._variables: dict[Var, Var] = {}

    def variable(self, var: Var) -> Var:
        """Return the variable that counts in its place."""
        if self.dtype is None or not dt.is_integral(var.dtype) or var.dtype == self.dtype:
            return var
        if var not in self._variables:
            self._variables[var] = type(var)(var.name, self.dtype, span=var.span)
        return self._variables[var]

    def axis(self, axis: expr.IterVar) -> expr.IterVar:
        """Return an axis over the same values."""
        dom = axis.dom
        if self.dtype is None or dom is None:
            return axis
        values = expr.Range.from_fields(self.index(dom.min), self.index(dom.extent))
        return expr.IterVar(values, self.variable(axis.var), axis.iter_type, axis.thread_tag, span=axis.span)

    def indices(self, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Return indices, or the extents of a shape, of the type."""
        return tuple(self.index(i) for i in indices)

    def index(self, e: PrimExpr) -> PrimExpr:
        """Return an index of the type."""
        if self.dtype is None:
            return e
        return cast(self.dtype, _Indices(self, self.dtype).visit(e))

    def value(self, e: PrimExpr) -> PrimExpr:
        """Return a value of its own type, with its indices of this one."""
        return e if self.dtype is None else _Values(self).visit(e)


class _Indices(Mutator):
    """Index arithmetic."""

    def __init__(self, types: IndexTypes, dtype: str) -> None:
        self._types = types
        self._dtype = dtype

    def visit_IntImm(self, n: expr.IntImm) -> PrimExpr:
        return expr.IntImm(self._dtype, n.value) if n.dtype != "bool" else n

    def visit_Var(self, n: Var | expr.SizeVar) -> PrimExpr:
        return self._types.variable(n)

    def visit_BinaryOp(self, n: expr.BinaryOp) -> PrimExpr:
        return type(n)(self.visit(n.a), self.visit(n.b))

    def visit_Select(self, n: expr.Select) -> PrimExpr:
        return expr.Select(self.visit(n.condition), self.visit(n.true_value), self.visit(n.false_value))

    def visit_Cast(self, n: expr.Cast) -> PrimExpr:
        value = self._types.value(n.value)
        return cast(self._dtype if dt.is_integral(n.dtype) else n.dtype, value)

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        return cast(self._dtype, self._types.value(n)) if n.dtype != "bool" else self._types.value(n)

    def visit_ProducerLoad(self, n: expr.ProducerLoad) -> PrimExpr:
        return cast(self._dtype, self._types.value(n))


class _Values(Mutator):
    """Values, which keep their types, and what they are selected and read by."""

    def __init__(self, types: IndexTypes) -> None:
        self._types = types

    def visit_Var(self, n: Var | expr.SizeVar) -> PrimExpr:
        return cast(n.dtype, self._types.variable(n))

    def visit_CmpOp(self, n: expr.CmpOp) -> PrimExpr:
        if dt.is_integral(n.a.dtype) and n.a.dtype != "bool" and not reads_tensors(n):
            return type(n)(self._types.index(n.a), self._types.index(n.b))
        return type(n)(self.visit(n.a), self.visit(n.b))

    def visit_ProducerLoad(self, n: expr.ProducerLoad) -> PrimExpr:
        return expr.ProducerLoad(n.producer, self._types.indices(n.indices))
