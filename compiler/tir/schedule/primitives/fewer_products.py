"""What algorithms of fewer products share: the sum of products that they take, and the blocks in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import Add, FloatImm, IntImm, IterVar, Mul, PrimExpr, Range, Var, const
from compiler.ir.origin import current_span, derived_from
from compiler.tir.schedule.buffers import renamed_buffer
from compiler.tir.schedule.facts.conditions import check_complete_or_reduction_block, scope_root
from compiler.tir.schedule.facts.loop_kinds import check_loop
from compiler.tir.schedule.primitives.layout import plain_nest
from compiler.tir.schedule.relayout import nest_of_axes
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import changed, loops_above, with_child
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.stmt import SeqStmt, Stmt

_DTYPES = ("float32", "float64")
"""Of numbers with fewer digits rounding errors are large."""

Indices: TypeAlias = tuple[PrimExpr, ...]


def extents_of(block: Block) -> dict[Var, int] | None:
    """Return the extents of a block's axes; None if one is no constant."""
    extents: dict[Var, int] = {}
    for axis in block.iter_vars:
        if axis.dom is None or not isinstance(axis.dom.extent, IntImm):
            return None
        extents[axis.var] = axis.dom.extent.value
    return extents


def factors_of(block: Block) -> tuple[BufferLoad, BufferLoad] | None:
    """Return the two elements whose product a block adds to a floating-point number that begins at zero."""
    out, init = block.body, block.init
    if not (isinstance(out, BufferStore) and isinstance(init, BufferStore) and out.buffer.dtype in _DTYPES):
        return None
    is_zero = isinstance(init.value, FloatImm) and init.value.value == 0
    value = out.value
    if not (is_zero and isinstance(value, Add) and isinstance(value.b, Mul)):
        return None
    own, a, b = value.a, value.b.a, value.b.b
    if not (isinstance(own, BufferLoad) and isinstance(a, BufferLoad) and isinstance(b, BufferLoad)):
        return None
    return (a, b) if own.buffer is out.buffer and [*own.indices] == [*out.indices] else None


def replace_products(state: ScheduleState, block: StmtSRef, primitive: str, make: Callable[[], Stages]) -> None:
    """Let other blocks take the place of one, which must be complete, or a reduction, and its loops its axes.

    Raises ScheduleError if it is another one; ``make`` may, too.
    """
    scope = scope_root(state, block)
    check_complete_or_reduction_block(state, block, scope)
    nest = plain_nest(state, block, state.realize_of(block))
    for loop in loops_above(block):
        check_loop(primitive, loop)
    with derived_from(current_span() | block.block.span):
        stages = make()
        body = with_child(scope.block, nest, SeqStmt(tuple(stages.statements)))
        new = changed(body, alloc_buffers=(*scope.block.alloc_buffers, *stages.buffers))
    state.replace(scope, new, {scope.block: new, block.block: stages.products})
    state.rebound(block)


class Stages:
    """The blocks that take the place of one, in their order, and the buffers between them."""

    products: Block
    """The one that stands for the block before."""

    def __init__(self, block: Block, out: Buffer) -> None:
        self.block, self._out = block, out
        self.statements: list[Stmt] = []
        self.buffers: list[Buffer] = []

    def add(self, name: str, over: Mapping[Var, int], body: Stmt, reads: BufferRegion, writes: BufferRegion) -> None:
        """Add a block that goes over some axes."""
        block = Block(iter_vars(over, IterVar.DataPar), (reads,), (writes,), name, body)
        self.statements.append(nest_of_axes(block, block.iter_vars, {}, "i")[0])

    def multiply(
        self, made: Buffer, over: Mapping[Var, int], sums: Mapping[Var, int], x: BufferLoad, y: BufferLoad
    ) -> Block:
        """Add the block of the products, which stands for the one before, and return it."""
        own: Indices = tuple(over)
        update = BufferStore(made, BufferLoad(made, own) + x * y, own)
        inner = Block(
            (*iter_vars(over, IterVar.DataPar), *iter_vars(sums, IterVar.CommReduce)),
            tuple([region(each.buffer, each.indices, each.indices) for each in (x, y)]), (region(made, own, own),),
            self.block.name_hint, update, BufferStore(made, const(0, made.dtype), own),
            annotations=self.block.annotations,
        )  # fmt: skip
        stmt, inner = nest_of_axes(inner, inner.iter_vars, {}, "i")
        self.statements.append(stmt)
        return inner

    def buffer(self, name: str, shape: Sequence[int], of: str = "") -> Buffer:
        """Return a new buffer for what is between two blocks, called after the block or after something else."""
        full = f"{of or self.block.name_hint}_{name}"
        made = renamed_buffer(self._out, full, "global", list(map(self.number, shape)))
        self.buffers.append(made)
        return made

    def axis(self, name: str) -> Var:
        """Return a new axis."""
        return Var(name, self.block.iter_vars[0].var.dtype)

    def number(self, value: int) -> PrimExpr:
        """Return a number in the data type of the axes."""
        return const(value, self.block.iter_vars[0].var.dtype)


def iter_vars(extents: Mapping[Var, int], kind: int) -> tuple[IterVar, ...]:
    """Return axes of some extents, all of one kind."""
    return tuple(
        [IterVar(Range.from_fields(const(0, v.dtype), const(n, v.dtype)), v, kind) for v, n in extents.items()]
    )


def region(buffer: Buffer, first: Sequence[PrimExpr], last: Sequence[PrimExpr]) -> BufferRegion:
    """Return the elements between two, with constant distances."""
    analyzer = Analyzer()
    extents = [analyzer.simplify(b - a + 1) for a, b in zip(first, last, strict=True)]
    return BufferRegion(buffer, tuple([Range.from_fields(*each) for each in zip(first, extents, strict=True)]))
