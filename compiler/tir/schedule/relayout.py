"""Rewriting of accesses to another layout, and filling of its padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.arith import Analyzer, iter_map_simplify
from compiler.ir.expr.primexpr import IterVar, Not, Or, PrimExpr, Range, Var, cast, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.expressions.op import assume, if_then_else
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.schedule.buffers import ReplaceBuffers, inserted, statements_of
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import with_predicate
from compiler.tir.schedule.facts.buffer_traversal import Traversal
from compiler.tir.schedule.facts.initial_values import stores
from compiler.tir.schedule.facts.regions import axis_values
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.tree import blocks_in
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.stmt import BufferStore, Evaluate, For, ForKind, Stmt


def nest_of_axes(
    block: Block, axes: Sequence[IterVar], values: Mapping[Var, PrimExpr], names: str = "ax"
) -> tuple[Stmt, Block]:
    """Return a loop for each of some axes, around a block whose old axes have values in terms of them."""
    inner = Block(
        tuple(axes),
        substitute(block.reads, values),
        substitute(block.writes, values),
        block.name_hint,
        substitute(block.body, values),
        None if block.init is None else substitute(block.init, values),
        block.alloc_buffers,
        substitute(block.match_buffers, values),
        block.annotations,
    )
    loops = [Var(f"{names}{index}", axis.var.dtype) for index, axis in enumerate(axes)]
    with derived_from(current_span() | block.span):
        stmt: Stmt = BlockRealize(tuple(loops), const(True, "bool"), inner)
        for var, axis in zip(reversed(loops), reversed(list(axes)), strict=True):
            assert axis.dom is not None
            stmt = For(var, axis.dom.min, axis.dom.extent, ForKind.SERIAL, stmt)
    return stmt, inner


class Padding:
    """The elements of a new layout that stand for none of the old one.

    There is no old one where ``free`` holds, in terms of the indices that ``inverse`` takes.
    """

    def __init__(self, inverse: IndexMap, free: PrimExpr, value: IndexMap | None) -> None:
        self.inverse = inverse
        self._free = free
        self._value = value

    def at(self, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
        """Return whether an index is free, and what it holds then."""
        assert self._value is not None
        condition = substitute(self._free, dict(zip(self.inverse.initial_indices, indices, strict=True)))
        variables = self._value.initial_indices
        places = {var: cast(var.dtype, index) for var, index in zip(variables, indices, strict=True)}
        return condition, substitute(self._value.final_indices[0], places)


class Relayout(ReplaceBuffers):
    """Accesses the elements of a buffer in another layout."""

    def __init__(self, home: StmtSRef, old: Buffer, new: Buffer, index_map: IndexMap) -> None:
        ReplaceBuffers.__init__(self, {old: new})
        self.padding: Padding | None = None  # what fills the elements that stand for none of the old layout
        self._home = home
        self._old = old
        self._new = new
        self._map = index_map
        self._ranges: dict[Var, Range] = {}
        # The loops that store all elements, which then store the padding too. Where there are none, loops of their
        # own fill it, behind what stores elements; what is only read is taken to be filled like that.
        self.traversals: list[Traversal] = []

    def _mapped(self, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        analyzer = self._facts()
        mapped = self._map.map_indices(indices, analyzer)
        used = {var: self._ranges[var] for index in mapped for var in free_vars(index) if var in self._ranges}
        return tuple(iter_map_simplify(mapped, used))

    def _facts(self) -> Analyzer:
        return Analyzer.knowing(self._ranges)

    def visit_For(self, n: For) -> Stmt:
        for traversal in self.traversals:
            if traversal.loop is n:
                return self._filled(traversal)
        self._ranges[n.loop_var] = Range.from_fields(n.min, n.extent)
        return self.visit_Node(n)

    def _filled(self, traversal: Traversal) -> Stmt:
        """Return loops over all elements of the new layout, which store the padding too."""
        old = traversal.block
        axes = self._axes()
        indices = tuple([axis.var for axis in axes])
        assert self.padding is not None
        condition, value = self.padding.at(indices)
        back = self.padding.inverse.map_indices(indices)
        own = dict(zip(traversal.axes, back, strict=True))
        element = substitute(self.visit(traversal.store.value), own)
        body = BufferStore(self._new, if_then_else(condition, value, element), indices)
        reads = tuple([self.visit(region) for region in substitute(old.reads, own)])
        block = rebuild(
            old, iter_vars=tuple(axes), reads=reads, writes=(BufferRegion.from_point(self._new, indices),), body=body
        )
        stmt, self.reuse[old] = nest_of_axes(block, axes, {}, "axis")
        return stmt

    def _axes(self) -> list[IterVar]:
        """Return an axis for each dimension of the new layout."""
        return [
            IterVar(Range.from_fields(const(0, dim.dtype), dim), Var(f"v_axis{at}", dim.dtype), IterVar.DataPar)
            for at, dim in enumerate(self._new.shape)
        ]

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        if n.buffer is not self._old:
            return ReplaceBuffers.visit_BufferLoad(self, n)
        return rebuild(n, buffer=self._new, indices=self._mapped(self._visit_tuple(n.indices)))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        if n.buffer is not self._old:
            return ReplaceBuffers.visit_BufferStore(self, n)
        indices = self._mapped(self._visit_tuple(n.indices))
        return rebuild(n, buffer=self._new, value=self.visit(n.value), indices=indices)

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        if n.buffer is not self._old:
            return ReplaceBuffers.visit_BufferRegion(self, n)
        return BufferRegion(self._new, self._map.map_ranges(n.region, self._facts()))

    def visit_MatchBufferRegion(self, n: MatchBufferRegion) -> MatchBufferRegion:
        if n.source.buffer is self._old:
            refuse(f"A region of the buffer {self._old.name} is matched in a block inside of {{0}}", self._home)
        return self.visit_Node(n)

    def rewrite_block(self, n: Block) -> Block:
        for axis in n.iter_vars:
            if axis.dom is not None:
                self._ranges[axis.var] = axis.dom
        new = ReplaceBuffers.rewrite_block(self, n)
        if self.padding is not None and not self.traversals and n is self._home.block:
            new = self._padded(new)
        return new

    def _padded(self, home: Block) -> Block:
        """Return the block that holds the buffer with a statement that fills the elements that are free."""
        axes = self._axes()
        indices = tuple([axis.var for axis in axes])
        assert self.padding is not None
        condition, value = self.padding.at(indices)
        region = (BufferRegion.from_point(self._new, indices),)
        statements = statements_of(home.body)
        writes = [at for at, stmt in enumerate(statements) if stores(stmt, self._new)]
        if writes:
            body: Stmt = BufferStore(self._new, value, indices)
            block = Block(tuple(axes), (), region, f"{self._new.name}_pad", body)
        else:
            equal = BufferLoad(self._new, indices) == value
            body = Evaluate(assume(Or(Not(condition), equal)))
            block = Block(tuple(axes), region, (), f"buffer_{self._new.name}_assumptions", body)
        stmt, _ = nest_of_axes(block, axes, {}, "axis")
        if writes:
            stmt = with_predicate(stmt, substitute(condition, _axes_to_loops(stmt)))
        return rebuild(home, body=inserted(home.body, writes[-1] + 1 if writes else 0, stmt))


def _axes_to_loops(stmt: Stmt) -> dict[Var, PrimExpr]:
    realize = next(blocks_in(stmt))
    return axis_values(realize)
