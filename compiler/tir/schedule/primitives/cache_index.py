"""``cache_index``: precomputes the indices of a block into a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.ir.expr.primexpr import Call, Div, FloorDiv, FloorMod, IntImm, IterVar, Mod, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import nodes_of, parts_of
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal, structural_hash
from compiler.tir.analysis.side_effect import is_pure
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.schedule.buffers import ReplaceBuffers
from compiler.tir.schedule.facts.conditions import scope_root
from compiler.tir.schedule.facts.roles import BLOCK
from compiler.tir.schedule.primitives.cache import Insertion, Place, insert_stage
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.relayout import nest_of_axes
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import loops_above
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, compact_strides
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import BufferStore, Stmt


@primitive("CacheIndex", block=BLOCK)
def cache_index(state: ScheduleState, block: StmtSRef, storage_scope: str, cse_thresh: int = 0) -> list[StmtSRef]:
    """Compute the indices by which a block reads ahead of it, into buffers of indices.

    For example ``sch.cache_index("B", "global")``::

                                            for ax0 in range(80):
                                                with T.block("index_0"):
                                                    v0 = T.axis.spatial(80, ax0)
                                                    index_var_0[v0] = v0 // 3
        for i in range(80):                 for i in range(80):
            with T.block("B"):       →          with T.block("B"):
                B[vi] = A[vi // 3]                  B[vi] = A[index_var_0[vi]]

    An index is computed ahead where it depends on the axes of the block alone, and can be computed for all their
    values: it reads no buffer, and divides by constants only. The indices of the buffers that the block writes stay. An
    expression is computed ahead that occurs ``cse_thresh`` times: up to 1 each index as a whole, from 2 on common
    subexpressions, the largest first. It returns the blocks that compute the indices. Raises ScheduleError if the block
    is the root block.
    """
    scope = scope_root(state, block)
    roots = list(_index_expressions(block.block))
    loops = {sref.loop.loop_var for sref in loops_above(block)}
    axes = {axis.var: axis for axis in block.block.iter_vars if loops.isdisjoint(free_vars((axis.dom,)))}
    chosen = _repeated(roots, axes, cse_thresh) if cse_thresh > 1 else _distinct(roots, axes)
    stages: list[StmtSRef] = []
    for number, expr in enumerate(chosen):
        used = [axis for axis in block.block.iter_vars if axis.var in free_vars(expr)]
        table, stage = _table(expr, used, number, storage_scope)
        rewrite = _ReadTable(expr, BufferLoad(table, _places(used)), _written(block.block))
        insertion = Insertion(Place(scope, number), stage, table)
        stages.append(insert_stage(state, scope, insertion, rewrite, [block]))
    return stages


def _written(block: Block) -> set[Buffer]:
    return {region.buffer for region in block.writes}


def _index_expressions(block: Block) -> Iterator[PrimExpr]:
    """Yield the indices of what a block only reads, and the conditions under which it reads."""
    written = _written(block)
    for n in nodes_of((block.init, block.body), BufferLoad, Call):
        if isinstance(n, BufferLoad) and n.buffer not in written:
            yield from n.indices
        elif isinstance(n, Call) and n.op is IF_THEN_ELSE:
            yield n.args[0]


class _Expression:
    """An expression as a key: equal to all that are written alike."""

    def __init__(self, expr: PrimExpr) -> None:
        self.expr = expr
        self._hash = structural_hash(expr)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Expression) and structural_equal(self.expr, other.expr)


def _subexpressions(expr: PrimExpr) -> Iterator[PrimExpr]:
    """Yield an expression and all that it is made of, each as often as it occurs; not what is inside of loads."""
    yield expr
    if not isinstance(expr, BufferLoad):
        for operand in parts_of(expr, PrimExpr):
            yield from _subexpressions(operand)


def _can_precede(expr: PrimExpr, axes: dict[Var, IterVar]) -> bool:
    """Return whether an expression is more than a variable and can be computed for all values of some axes."""
    if isinstance(expr, Var) or not is_pure(expr):
        return False
    variables = free_vars(expr)
    if not variables or any(var not in axes for var in variables):
        return False
    divisions = (e for e in _subexpressions(expr) if isinstance(e, (Div, FloorDiv, FloorMod, Mod)))
    return all(isinstance(division.b, IntImm) for division in divisions)


def _size(expr: PrimExpr) -> int:
    return sum(1 for _ in _subexpressions(expr))


def _distinct(roots: Sequence[PrimExpr], axes: dict[Var, IterVar]) -> list[PrimExpr]:
    """Return expressions as wholes, the largest first."""
    keys = dict.fromkeys(_Expression(root) for root in roots if _can_precede(root, axes))
    return sorted((key.expr for key in keys), key=_size, reverse=True)


def _repeated(roots: Sequence[PrimExpr], axes: dict[Var, IterVar], threshold: int) -> list[PrimExpr]:
    """Return common subexpressions, the largest first; what lies inside of a chosen one does not count any more."""
    keys = dict.fromkeys(_Expression(e) for root in roots for e in _subexpressions(root) if _can_precede(e, axes))
    chosen: dict[_Expression, None] = {}

    def occurrences(expr: PrimExpr, of: _Expression) -> int:
        key = _Expression(expr)
        if key == of:
            return 1
        if key in chosen or isinstance(expr, BufferLoad):
            return 0
        return sum(occurrences(operand, of) for operand in parts_of(expr, PrimExpr))

    for key in sorted(keys, key=lambda k: _size(k.expr), reverse=True):
        if sum(occurrences(root, key) for root in roots) >= threshold:
            chosen[key] = None
    return [key.expr for key in chosen]


def _places(axes: Sequence[IterVar]) -> tuple[PrimExpr, ...]:
    """Return where the table keeps what belongs to the values of some axes: counted from their first values."""
    return tuple(axis.var if axis.dom is None else axis.var - axis.dom.min for axis in axes)


def _table(expr: PrimExpr, axes: Sequence[IterVar], number: int, storage_scope: str) -> tuple[Buffer, Stmt]:
    """Return a buffer for the values of an expression, and the stage that fills it."""
    own = [IterVar(axis.dom, Var(f"v{i}", axis.var.dtype), IterVar.DataPar) for i, axis in enumerate(axes)]
    shape = [axis.dom.extent for axis in axes if axis.dom is not None]
    name = f"index_var_{number}"
    buffer = decl_buffer(shape, expr.dtype, name, strides=compact_strides(shape), scope=storage_scope)
    values = {axis.var: new.var for axis, new in zip(axes, own, strict=True)}
    places = _places(own)
    point = BufferRegion.from_point(buffer, places)
    body = BufferStore(buffer, substitute(expr, values), places)
    stage, _ = nest_of_axes(Block(tuple(own), (), (point,), f"index_{number}", body), own, {})
    return buffer, stage


class _ReadTable(ReplaceBuffers):
    """Replaces an expression, except where a block accesses what it writes."""

    def __init__(self, expr: PrimExpr, load: BufferLoad, written: set[Buffer]) -> None:
        ReplaceBuffers.__init__(self, {})
        self._expr = expr
        self._load = load
        self._written = written

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        if type(n) is type(self._expr) and structural_equal(n, self._expr):
            return self._load
        return ReplaceBuffers.visit_PrimExpr(self, n)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return n if n.buffer in self._written else ReplaceBuffers.visit_BufferLoad(self, n)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        return rebuild(n, value=self.visit(n.value))

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        return n
