"""``loop_partition``: splits a loop into consecutive ones, in blocks of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from compiler.arith import Analyzer, estimate_region_upper_bound
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const, convert, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute, uses_var
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.analysis.block_access import get_block_read_write_region
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import scope_root
from compiler.tir.schedule.facts.loop_kinds import check_loop, loop_like
from compiler.tir.schedule.facts.regions import pointers_at
from compiler.tir.schedule.facts.roles import LOOP, VALUE, ListRole
from compiler.tir.schedule.primitives.loop_nest import replace_statement
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import LoopSRef, StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import all_blocks, ancestors, blocks_in, loop_range
from compiler.tir.statements.block import Block, BlockRealize, reduction_begins
from compiler.tir.statements.buffer import Buffer, BufferRegion
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.stmt import For, IfThenElse, SeqStmt, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator


@primitive("LoopPartition", loop=LOOP, factors=ListRole(VALUE))
def loop_partition(
    state: ScheduleState, loop: StmtSRef, factors: Sequence[int | PrimExpr | None], preserve_unit_iters: bool = True
) -> list[LoopSRef]:
    """Partition a loop into several that run one after the other, each with blocks of its own.

    For example ``sch.loop_partition(i, [2, None])``::

        for i in range(128):                        with T.block("B_i_common"):
            with T.block("B"):                          with T.block("B_i0_partition"):
                vi = T.axis.spatial(128, i)                 for i0 in range(2):
                B[vi] = A[vi] * 2.0          →                  with T.block("B_i0"): …
                                                        with T.block("B_i1_partition"):
                                                            for i1 in range(2, 128):
                                                                with T.block("B_i1"): …

    The initial value of a reduction is set in the loop in which an element begins: the first, as a rule.  Where a later
    one begins some elements and continues others, as after loops of both kinds of axes were fused, its block sets them
    under a condition, and is no longer a reduction. Raises ScheduleError if the loop has annotations or is bound to
    threads, more than one factor is left open, a factor is not positive, or they sum up to more iterations than the
    loop has.

    Parameters
    ----------
    loop : LoopRV
        A loop without annotations that is not bound to threads; if it is parallel, vectorized or unrolled, the new
        ones are serial, as in classic TVM.
    factors : list of int, ExprRV or None
        The number of iterations of each new loop, in order; at most one is None or -1, and gets what the others leave.
        Where none is, a last loop gets what is left.
    """
    old = loop.loop
    check_loop("loop_partition", loop)
    above = loop.parent
    assert above is not None
    name = next(blocks_in(old)).block.name_hint
    pointers = {} if _passes_values_on(old) else pointers_at(state, scope_root(state, loop))
    around = {sref.loop.loop_var for sref in ancestors(loop) if not sref.is_block}
    pieces: list[Stmt] = []
    loops: list[For] = []
    with derived_from(current_span() | old.span):
        for index, bounds in enumerate(_pieces(old, factors)):
            piece = _piece(old, index, bounds, preserve_unit_iters, _PieceContext(pointers, around))
            loops.append(piece)
            pieces.append(_plain_block(f"{name}_{piece.loop_var.name}_partition", piece))
        new = _plain_block(f"{name}_{old.loop_var.name}_common", SeqStmt(tuple(pieces)))
    replace_statement(state, above, old, new)
    return [state.sref_of(piece) for piece in loops]


def _pieces(loop: For, factors: Sequence[int | PrimExpr | None]) -> list[Range]:
    """Return what each of the new loops runs over."""
    simplify = Analyzer().simplify
    dtype = loop.loop_var.dtype
    sizes = [None if f is None or is_const_int(convert(f), -1) else convert(f).astype(dtype) for f in factors]
    if sizes.count(None) > 1:
        refuse("Only one factor can be specified as -1 or none")
    for index, size in enumerate(sizes):
        if size is not None and not Analyzer().can_prove(size > 0):
            refuse(
                "All the constant factors are required to be positive. However, the factor at position "
                f"{index} is {size}"
            )
    total = simplify(sum((size for size in sizes if size is not None), const(0, dtype)))
    left = simplify(loop.extent - total)
    if not Analyzer().can_prove(left > 0):
        exact = None not in sizes and Analyzer().can_prove(left.equal(0))
        if not exact:
            refuse("The sum of factors is larger than or equal to the extent of loop {0}", loop)
    elif None not in sizes:
        sizes.append(None)
    ranges: list[Range] = []
    start = loop.min
    for size in sizes:
        extent = left if size is None else size
        ranges.append(Range.from_fields(simplify(start), extent))
        start = start + extent
    return ranges


def _passes_values_on(loop: For) -> bool:
    """Return whether a block below a loop reads what another one writes, so that wide regions would tell lies."""
    blocks = [block for block in all_blocks(loop) if block.iter_vars]
    written = [{region.buffer for region in block.writes} for block in blocks]
    read = [{region.buffer for region in block.reads} for block in blocks]
    return any(w & r for at, w in enumerate(written) for other, r in enumerate(read) if other != at)


@dataclass(frozen=True, slots=True, eq=False)
class _PieceContext:
    """What all pieces have around them: the buffers behind pointers, and the variables of loops."""

    pointers: Mapping[Var, Buffer]
    variables: Set[Var]


def _piece(loop: For, index: int, bounds: Range, preserve_unit_iters: bool, around: _PieceContext) -> For:
    """Return one of the new loops, whose blocks have axes and names of their own."""
    var = Var(f"{loop.loop_var.name}{index}", loop.loop_var.dtype)
    is_unit = is_const_int(bounds.extent, 1) and not preserve_unit_iters
    body = substitute(loop.body, {loop.loop_var: bounds.min if is_unit else var})
    if index:
        body = RenewDefs().visit(body)
    body = _RewritePiece(f"_{var.name}", (var, bounds), around, is_first=index == 0).visit(body)
    return loop_like("loop_partition", loop, var, (bounds.min, bounds.extent), body)


class _RewritePiece(StmtMutator):
    """Renames blocks, and narrows their axes to the loops that they are, unless the extents depend on other loops."""

    def __init__(self, suffix: str, loop: tuple[Var, Range], around: _PieceContext, is_first: bool) -> None:
        self._suffix = suffix
        self._var = loop[0]
        self._pointers = around.pointers
        self._is_first = is_first
        self._variables = set(around.variables)
        self._loops: dict[Var, Range] = {}
        self._enter(*loop)

    def _enter(self, var: Var, bounds: Range) -> None:
        if self._variables.isdisjoint(free_vars((bounds.min, bounds.extent))):
            self._loops[var] = bounds
        self._variables.add(var)

    def visit_For(self, n: For) -> Stmt:
        self._enter(n.loop_var, loop_range(n))
        return rebuild(n, body=self.visit(n.body))

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        axes = [
            rebuild(axis, dom=self._loops[value]) if isinstance(value, Var) and value in self._loops else axis
            for axis, value in zip(n.block.iter_vars, n.iter_values, strict=True)
        ]
        block = rebuild(
            n.block,
            iter_vars=tuple(axes),
            name_hint=n.block.name_hint + self._suffix,
            body=self.visit(n.block.body) if not axes else n.block.body,
        )
        if block.init is not None and not self._is_first and self._is_reduced(n):
            block = self._continued(n.block, block)
        return rebuild(n, block=_with_boxes(block, self._pointers) if axes and self._pointers else block)

    def _continued(self, old: Block, block: Block) -> Block:
        """Return a block of a later piece, which sets initial values only of the elements that begin in it."""
        begins = reduction_begins(old)
        assert block.init is not None
        assert begins is not None
        analyzer = Analyzer.knowing({axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None})
        read = {region.buffer for region in block.reads}
        own = tuple([region for region in block.writes if region.buffer not in read])
        begins = analyzer.simplify(begins)
        body = block.body if is_const_int(begins, 0) else seq([IfThenElse(begins, block.init), block.body])
        return rebuild(block, init=None, body=body, reads=(*own, *block.reads))

    def _is_reduced(self, n: BlockRealize) -> bool:
        """Return whether the loop belongs to a reduction, which the first piece begins."""
        pairs = zip(n.block.iter_vars, n.iter_values, strict=True)
        return any(axis.iter_type == IterVar.CommReduce and uses_var(value, self._var) for axis, value in pairs)


def _with_boxes(block: Block, pointers: Mapping[Var, Buffer]) -> Block:
    """Return a block that states all the elements which it accesses while its axes run over their domains."""
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    always = const(True, "bool")

    def box(region: BufferRegion) -> BufferRegion:
        sides = estimate_region_upper_bound(region.region, domains, always)
        dims = [Range.from_fields(const(0, dim.dtype), dim) for dim in region.buffer.shape]
        return BufferRegion(
            region.buffer, tuple([side.cover_range(dim) for side, dim in zip(sides, dims, strict=True)])
        )

    reads, writes = get_block_read_write_region(block, pointers)
    return rebuild(
        block, reads=tuple([box(region) for region in reads]), writes=tuple([box(region) for region in writes])
    )


def _plain_block(name: str, body: Stmt) -> BlockRealize:
    return BlockRealize((), const(True, "bool"), Block((), (), (), name, body))
