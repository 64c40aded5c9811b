"""Narrows index arithmetic to fewer bits where its values fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Range, Var, cast, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Visitor, leave
from compiler.ir.node import rebuild
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import BufferLoad, BufferRegion
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, BufferStore, For, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class NarrowDataType(FunctionRewrite):
    """Compute 64-bit indices in fewer bits where their values fit.

    Shapes given as int64 make every loop variable and index 64 bits wide.  From the ranges of the loops the pass
    bounds each index; the loop variables all of whose uses fit, intermediate results included, become narrower::

        for i in range(T.int64(1024)):        for i in range(1024):
            C[i] = A[i] * 2.0            →        C[i] = A[i] * 2.0

    The axes of blocks become narrower like the variables of loops.  A thread axis counts in the type of its extent: the
    variable of one whose extent is int64 becomes int64 where a use needs that many bits. Raises ArgumentError if
    ``target_bits`` is not 8, 16, 32 or 64.
    """

    target_bits: Literal[8, 16, 32, 64]

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return _narrow(func, self.target_bits)


def _narrow(func: PrimFunc, bits: int) -> PrimFunc:
    finder = _WideVariables(bits)
    finder.visit(func.body)
    replaced = {v: Var(v.name, dtype, span=v.span) for v, dtype in finder.types().items() if dtype != v.dtype}
    return func.with_body(_Retype(replaced, bits).visit(func.body)) if replaced else func


class _WideVariables(Visitor):
    """Finds the wide variables, and which of them have a use that needs their bits."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._low, self._high = dt.int_range(f"int{bits}")
        self._analyzer = Analyzer()
        self.defined: dict[Var, str] = {}  # the data type that each of them counts in where it needs its bits
        self.needed: set[Var] = set()

    def types(self) -> dict[Var, str]:
        """Return the data type that each wide variable is to have."""
        narrow = f"int{self._bits}"
        return {var: dtype if var in self.needed else narrow for var, dtype in self.defined.items()}

    def _define(self, var: Var, domain: Range) -> None:
        self._analyzer.bind(var, domain, override=True)
        types = self.defined.get(var, var.dtype), domain.extent.dtype
        dtype = max(filter(dt.is_int, types), key=dt.bits, default=var.dtype)
        if dt.is_int(var.dtype) and dt.bits(dtype) > self._bits:
            self.defined[var] = dtype
            if not self._fits(var) or not self._fits(domain.extent):
                self.needed.add(var)

    def _fits(self, e: PrimExpr) -> bool:
        bound = self._analyzer.exact_bound(e)
        return bool(self._low <= bound.min_value and bound.max_value <= self._high)

    def visit_For(self, n: For) -> None:
        self._define(n.loop_var, Range.from_min_extent(n.min, n.extent))
        self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if isinstance(n.node, expr.IterVar) and n.attr_key in THREAD_KEYS:
            self._define(n.node.var, Range.from_min_extent(const(0, n.value.dtype), n.value))
        self.visit_Node(n)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        for axis, value in zip(n.block.iter_vars, n.iter_values, strict=True):
            assert axis.dom is not None
            self._define(axis.var, axis.dom)
            self.visit(value)
            if axis.var in self.defined and not self._fits(value):
                self.needed.add(axis.var)
        self.visit(n.predicate)
        self.visit(n.block)

    def visit_Block(self, n: Block) -> None:
        for region in (*n.reads, *n.writes, *(match.source for match in n.match_buffers)):
            for part in region.region:
                self.visit(part.min)
                self.visit(part.extent)
        for match in n.match_buffers:
            self._need_all(match.buffer.elem_offset)
        for stmt in (n.init, n.body):
            if stmt is not None:
                self.visit(stmt)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._need_all(n.value)
        self.visit(n.body)

    def visit_Let(self, n: expr.Let) -> None:
        self._need_all(n)

    def visit_Cast(self, n: expr.Cast) -> None:
        self.visit(n.value)

    def visit_BinaryOp(self, n: expr.BinaryOp) -> None:
        if not dt.is_int(n.a.dtype) or dt.bits(n.a.dtype) <= self._bits or dt.lanes(n.a.dtype) > 1:
            self.visit_Node(n)
        elif isinstance(n, expr.CmpOp):  # the sides are brought to one type where only one of them becomes narrower
            for side in (n.a, n.b):
                self.visit(side) if self._fits(side) else self._need_all(side)
        elif self._fits(n.a) and self._fits(n.b) and self._fits(n):
            self.visit_Node(n)
        else:
            self._need_all(n)

    def visit_Call(self, n: expr.Call) -> None:
        self._visit_values(n.args)

    def visit_Select(self, n: expr.Select) -> None:
        self._visit_values((n.condition, n.true_value, n.false_value))

    def visit_Not(self, n: expr.Not) -> None:
        self.visit(n.a)

    def _visit_values(self, values: Sequence[PrimExpr]) -> None:
        """Look at what is taken in the type that it has: all bits of it, where it is wide itself."""
        for value in values:
            wide = dt.is_int(value.dtype) and dt.bits(value.dtype) > self._bits
            self._need_all(value) if wide else self.visit(value)

    def visit_PrimExpr(self, n: PrimExpr) -> None:
        """Only sums, products and the like are looked through: what else takes a wide variable needs all of it."""
        self._need_all(n)

    def visit_BufferLoad(self, n: BufferLoad | expr.Ramp) -> None:
        self.visit_Node(n)

    visit_Ramp = visit_BufferLoad

    def visit_Var(self, n: Var) -> None:
        """A variable alone fits if its definition does."""

    visit_IntImm = leave

    def _need_all(self, e: PrimExpr) -> None:
        if self.defined:
            self.needed.update(free_vars(e))


class _Retype(StmtExprMutator):
    """Puts variables of other data types in place of some, and index arithmetic in the type of its variables."""

    def __init__(self, replaced: dict[Var, Var], bits: int) -> None:
        self._replaced = replaced
        self._narrow = f"int{bits}"
        # What needs all bits of a variable that became wider takes it in its old type.
        self._as_before = {old: cast(old.dtype, new) for old, new in replaced.items()}
        self._axes: dict[expr.IterVar, expr.IterVar] = {}

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        return substitute(n, self._as_before) if n.children else n

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return self.visit_Node(n)

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        return rebuild(n, args=tuple(self._value(arg) for arg in n.args))

    def visit_Select(self, n: expr.Select) -> PrimExpr:
        then, other = self._value(n.true_value), self._value(n.false_value)
        return rebuild(n, condition=self.visit(n.condition), true_value=then, false_value=other)

    def visit_Not(self, n: expr.Not) -> PrimExpr:
        return rebuild(n, a=self.visit(n.a))

    def _value(self, e: PrimExpr) -> PrimExpr:
        """Return an operand that is taken in the type that it has."""
        value = self.visit(e)
        return e if value is e else cast(e.dtype, value)

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._replaced.get(n, n)

    def visit_For(self, n: For) -> Stmt:
        var = self._replaced.get(n.loop_var, n.loop_var)
        low, extent = cast(var.dtype, self.visit(n.min)), cast(var.dtype, self.visit(n.extent))
        return rebuild(n, loop_var=var, min=low, extent=extent, body=self.visit(n.body))

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        block = self.visit(n.block)
        values = tuple(
            cast(axis.var.dtype, self.visit(value)) for axis, value in zip(block.iter_vars, n.iter_values, strict=True)
        )
        return rebuild(n, iter_values=values, predicate=self.visit(n.predicate), block=block)

    def visit_Block(self, n: Block) -> Stmt:
        axes = tuple(self._axis(axis) if axis.var in self._replaced else axis for axis in n.iter_vars)
        reads, writes = (tuple(map(self._region, regions)) for regions in (n.reads, n.writes))
        matches = tuple(rebuild(match, source=self._region(match.source)) for match in n.match_buffers)
        init, body = self._visit_optional(n.init), self.visit(n.body)
        return rebuild(n, iter_vars=axes, reads=reads, writes=writes, match_buffers=matches, init=init, body=body)

    def _fits(self, *constants: expr.IntImm) -> bool:
        low, high = dt.int_range(self._narrow)
        wide = any(dt.bits(e.dtype) > dt.bits(self._narrow) for e in constants)
        return wide and all(low <= e.value <= high for e in constants)

    def _region(self, n: BufferRegion) -> BufferRegion:
        def part(old: Range) -> Range:
            low, extent = self.visit(old.min), self.visit(old.extent)
            if isinstance(low, expr.IntImm) and isinstance(extent, expr.IntImm) and self._fits(low, extent):
                return Range.from_fields(cast(self._narrow, low), cast(self._narrow, extent))
            if low is old.min and extent is old.extent:
                return old
            return Range.from_fields(*((low, extent) if low.dtype == extent.dtype else _matched(low, extent)))

        region = tuple(map(part, n.region))
        return n if all(a is b for a, b in zip(region, n.region, strict=True)) else BufferRegion(n.buffer, region)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if not isinstance(n.node, expr.IterVar) or n.node.var not in self._replaced:
            return self.visit_Node(n)
        axis = self._axis(n.node)
        return rebuild(n, node=axis, value=cast(axis.var.dtype, self.visit(n.value)), body=self.visit(n.body))

    def _axis(self, axis: expr.IterVar) -> expr.IterVar:
        """Return the axis of the variable that stands for another; several kernels may share one."""
        if axis not in self._axes:
            var, dom = self._replaced[axis.var], axis.dom
            if dom is not None:
                dom = Range.from_fields(*(cast(var.dtype, self.visit(e)) for e in (dom.min, dom.extent)))
            self._axes[axis] = rebuild(axis, var=var, dom=dom)
        return self._axes[axis]

    def visit_LetStmt(self, n: LetStmt) -> Stmt:
        return rebuild(n, value=self.visit_PrimExpr(n.value), body=self.visit(n.body))

    def visit_BinaryOp(self, n: expr.BinaryOp) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        if a is n.a and b is n.b:
            return n
        if a.dtype != b.dtype:
            a, b = _matched(a, b)
        return type(n)(a, b)

    def visit_Ramp(self, n: expr.Ramp) -> PrimExpr:
        base, stride = self.visit(n.base), self.visit(n.stride)
        if base is n.base and stride is n.stride:
            return n
        base, stride = (base, stride) if base.dtype == stride.dtype else _matched(base, stride)
        return expr.Ramp(base, stride, n.lanes)

    def visit_Cast(self, n: expr.Cast) -> PrimExpr:
        value = self.visit(n.value)
        return n if value is n.value else cast(n.dtype, value)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        value = n.value if value is n.value else cast(n.value.dtype, value)
        return rebuild(n, value=value, indices=indices, predicate=self._visit_optional(n.predicate))


def _matched(a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """Bring an operand that has another type now and one that kept its own together."""
    if isinstance(a, expr.IntImm):
        return cast(b.dtype, a), b
    if isinstance(b, expr.IntImm):
        return a, cast(a.dtype, b)
    wide = a.dtype if dt.bits(a.dtype) > dt.bits(b.dtype) else b.dtype
    return cast(wide, a), cast(wide, b)
