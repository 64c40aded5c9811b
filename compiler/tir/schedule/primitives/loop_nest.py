"""Splitting, fusing and reordering loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import mul

from compiler.arith import Analyzer
from compiler.arith.extents import product_of_extents
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const, convert, is_const_int
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.origin import current_span, derived_from
from compiler.tir.expressions.op import ceildiv
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import simplified_bindings, with_predicate
from compiler.tir.schedule.facts.conditions import check_affine_binding
from compiler.tir.schedule.facts.loop_kinds import check_loop, loop_like
from compiler.tir.schedule.facts.regions import facts_at
from compiler.tir.schedule.facts.roles import BLOCK_OR_LOOP, LOOP, VALUE, ListRole
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import LoopSRef, StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import (
    ancestors,
    changed,
    loop_ranges,
    loops_above,
    matching_blocks,
    rewritten,
    scope_of,
    with_child,
)
from compiler.tir.statements.block import Block
from compiler.tir.statements.stmt import For, ForKind, Stmt


@primitive("Split", loop=LOOP, factors=ListRole(VALUE))
def split(
    state: ScheduleState,
    loop: StmtSRef,
    factors: Sequence[int | PrimExpr | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> list[LoopSRef]:
    """Split a loop into a nest of loops.

    For example ``sch.split(i, factors=[None, 32])``::

        for i in range(128):                   for i_0, i_1 in T.grid(4, 32):
            with T.block("B"):           →         with T.block("B"):
                vi = T.axis.spatial(128, i)            vi = T.axis.spatial(128, i_0 * 32 + i_1)

    Where the new loops have more iterations than the old one, the blocks inside get a condition. Raises ScheduleError
    if the loop has annotations, is bound to threads, or does not start at 0; if all factors are given and are not known
    to make as many iterations as the loop has; if more than one factor is None, or one is not positive.

    Parameters
    ----------
    loop : LoopRV
        A loop from 0 on, without annotations or threads; if it is parallel, vectorized or unrolled, the new ones are
        serial, as in classic TVM.
    factors : list of int, ExprRV or None
        The number of iterations of each new loop, outermost first; at most one is None, and is found from the others.
    preserve_unit_iters : bool
        Whether loops of one iteration stay in the values of the blocks' axes.
    disable_predication : bool
        Whether to leave out the condition: the new loops run further than the old one did.
    """
    old = loop.loop
    check_loop("split", loop)
    check_from_zero(loop)
    extents = _extents(old, factors)
    if all(factor is not None for factor in factors):
        _check_nothing_left_over(loop, extents)
    analyzer = Analyzer()
    variables = [Var(f"{old.loop_var.name}_{index}", old.loop_var.dtype) for index in range(len(extents))]
    index: PrimExpr = const(0, old.loop_var.dtype)
    for var, extent in zip(variables, extents, strict=True):
        analyzer.bind(var, Range.from_fields(const(0, extent.dtype), extent))
        index = var if var is variables[0] else index * extent + var
    body = substitute(old.body, {old.loop_var: index})
    if not disable_predication and not analyzer.can_prove(index < old.extent):
        body = with_predicate(body, index < old.extent)
    nest = list(zip(variables, extents, strict=True))
    return _replace_nest(state, "split", loop, old, nest, body, preserve_unit_iters)


@primitive("Fuse", loops=ListRole(LOOP))
def fuse(state: ScheduleState, *loops: StmtSRef, preserve_unit_iters: bool = True) -> LoopSRef:
    """Fuse a nest of loops into one.

    For example ``sch.fuse(i, j)``::

        for i, j in T.grid(4, 32):                 for i_j_fused in range(128):
            with T.block("B"):               →         with T.block("B"):
                vi, vj = …remap("SS", [i, j])              vi = T.axis.spatial(4, i_j_fused // 32)
                                                           vj = T.axis.spatial(32, i_j_fused % 32)

    With ``preserve_unit_iters``, loops of one iteration stay in the values of the blocks' axes. Raises ScheduleError if
    the loops are not a nest, or one is not as it must be.

    Parameters
    ----------
    *loops : LoopRV
        Loops from 0 on, without annotations or threads, each the only statement of the one before, outermost first; if
        they are parallel, vectorized or unrolled, the new one is serial, as in classic TVM.
    """
    if not loops:
        raise ArgumentError("fuse: expected loops, got none")
    _check_nest(loops)
    outer, inner = loops[0].loop, loops[-1].loop
    extents = [sref.loop.extent for sref in loops]
    total = product_of_extents(extents, facts_at(loops[0]))
    names = "_".join(sref.loop.loop_var.name for sref in loops)
    fused = Var(f"{names}_fused", outer.loop_var.dtype)
    values: dict[Var, PrimExpr] = {}
    inside: PrimExpr = const(1, fused.dtype)
    for sref, extent in zip(reversed(loops), reversed(extents), strict=True):
        around = inside * extent
        digit = fused if sref is loops[0] else fused % around
        values[sref.loop.loop_var] = const(0, extent.dtype) if is_const_int(extent, 1) else digit // inside
        inside = around
    body = substitute(inner.body, values)
    (result,) = _replace_nest(state, "fuse", loops[0], inner, [(fused, total)], body, preserve_unit_iters)
    return result


@primitive("Reorder", ordered_loops=ListRole(LOOP))
def reorder(state: ScheduleState, *ordered_loops: StmtSRef) -> None:
    """Put loops of one nest into another order; those that are not named stay where they are.

    For example ``sch.reorder(k, i)``::

        for i, j, k in T.grid(4, 8, 16): …       →       for k, j, i in T.grid(16, 8, 4): …

    Each loop stays parallel, vectorized, bound or whatever else it is. Raises ScheduleError if they are not part of one
    nest, a loop's extent depends on another loop that moves, or the blocks inside depend on the order.
    """
    if not ordered_loops:
        raise ArgumentError("reorder: expected loops, got none")
    chain = _chain(ordered_loops)
    for block in state.child_blocks(chain[-1]):
        _check_order_free(state, block)
    chosen = set(ordered_loops)
    order = iter(ordered_loops)
    new_order = [next(order) if sref in chosen else sref for sref in chain]
    _check_independent_extents(new_order)
    stmt: Stmt = chain[-1].loop.body
    for sref in reversed(new_order):
        stmt = (rewritten if sref in chosen else changed)(sref.loop, body=stmt)
    assert isinstance(stmt, For)
    state.replace(chain[0], stmt)


@primitive("AddUnitLoop", block_or_loop=BLOCK_OR_LOOP)
def add_unit_loop(state: ScheduleState, block_or_loop: StmtSRef) -> LoopSRef:
    """Put a loop of one iteration around a block or loop.

    For example ``sch.add_unit_loop(block)``::

        with T.block("B"): …       →       for u in range(1):
                                               with T.block("B"): …
    """
    is_block = block_or_loop.is_block
    inner: Stmt = state.realize_of(block_or_loop) if is_block else block_or_loop.loop
    with derived_from(current_span() | inner.span):
        loop = For(Var("u", "int32"), const(0), const(1), ForKind.SERIAL, inner)
    if not is_block:
        state.replace(block_or_loop, loop)
    else:
        above = block_or_loop.parent
        if above is None:
            refuse("Cannot add a loop around {0}", inner)
        replace_statement(state, above, inner, loop)
    sref = state.get_sref(loop)
    assert sref is not None
    return sref


def replace_statement(
    state: ScheduleState, above: StmtSRef, old: Stmt, new: Stmt, reuse: Mapping[Block, Block] | None = None
) -> None:
    """Replace a statement directly inside of a loop or block, such as the realization of a block.

    A loop or block ``above`` has it in its body; ``reuse`` says which new block takes the place of an old one.
    """
    assert above.stmt is not None
    around = with_child(above.stmt, old, new)
    blocks = dict(reuse or {})
    if isinstance(above.stmt, Block) and isinstance(around, Block):
        blocks[above.stmt] = around
    state.replace(above, around, blocks)


# conditions


def check_from_zero(sref: StmtSRef) -> None:
    """Reject a loop that does not start at 0."""
    loop = sref.loop
    if not Analyzer().can_prove_equal(loop.min, 0):
        refuse("The loop {0} does not start with 0", loop)


def _check_nest(loops: Sequence[StmtSRef]) -> None:
    """Reject loops of which each is not the only statement of the one before, or that are not as fusing needs."""
    for outer, inner in pairwise(loops):
        if inner.parent is not outer:
            refuse(
                "The loops can't be fused because the outer loop {0} is not the parent of the inner loop {1}",
                outer,
                inner,
            )
        if outer.loop.body is not inner.loop:
            refuse(
                "The loops can't be fused because the inner loop {1} is not the only child of outer loop {0}",
                outer,
                inner,
            )
    for sref in loops:
        check_loop("fuse", sref)
        check_from_zero(sref)
    variables = {sref.loop.loop_var for sref in loops}
    for sref in loops:
        if uses_var(sref.loop.extent, variables.__contains__):
            refuse("The extent of loop {0} depends on another loop to be fused", sref)


def _chain(loops: Sequence[StmtSRef]) -> list[StmtSRef]:
    """Return the loops from the outermost to the innermost one of some."""
    for index, sref in enumerate(loops):
        if sref in loops[:index]:
            refuse("Loop {0} appears more than once", sref)
    scope = scope_of(loops[0])
    for sref in loops:
        if scope_of(sref) is not scope:
            refuse("Loops {0} and {1} are not under the same block scope", loops[0], sref)
    depth = {sref: len(list(ancestors(sref))) for sref in loops}
    innermost = max(loops, key=depth.__getitem__)
    outermost = min(loops, key=depth.__getitem__)
    path = [*loops_above(innermost), innermost]
    chain = path[path.index(outermost) :] if outermost in path else []
    for sref in loops:
        if sref not in chain:
            refuse("Loops {0} and {1} are not nested in each other", innermost, sref)
    for outer, inner in pairwise(chain):
        if outer.loop.body is not inner.loop:
            refuse(
                "The loops are not in a chain because there is a non-single-branch stmt in between. Problematic "
                "stmt: {0}",
                outer,
            )
    return chain


def _check_independent_extents(new_order: Sequence[StmtSRef]) -> None:
    """Reject an order in which a loop would stand around one that its extent depends on."""
    for index, sref in enumerate(new_order):
        inner = {other.loop.loop_var: other for other in new_order[index:]}
        for bound in (sref.loop.min, sref.loop.extent):
            for var, other in inner.items():
                if uses_var(bound, var):
                    refuse(
                        "The `min` or `extent` of loop {0} depends on loop {1}, which would be inside of it",
                        sref,
                        other,
                    )


def _check_order_free(state: ScheduleState, block: StmtSRef) -> None:
    """Reject a block whose iterations must run in their order."""
    for axis in block.block.iter_vars:
        if axis.iter_type not in (IterVar.DataPar, IterVar.CommReduce):
            refuse(
                f"The block {{0}} under the loops to be reordered has axis {axis.var.name!r}, which is neither data "
                "parallel nor a reduction",
                block,
            )
    check_affine_binding(state, block)


# building


def _extents(loop: For, factors: Sequence[int | PrimExpr | None]) -> list[PrimExpr]:
    if sum(factor is None for factor in factors) > 1:
        refuse("Only one factor can be specified as -1 or none", loop)
    if not factors:
        raise ArgumentError("split: expected factors, got none")
    dtype = loop.loop_var.dtype
    given: PrimExpr = const(1, dtype)
    for position, factor in enumerate(factors):
        if isinstance(factor, int) and factor <= 0:
            refuse(
                "All the constant factors are required to be positive. However, the factor at position "
                f"{position} is {show(factor)}",
                loop,
            )
        if factor is not None:
            size = const(factor, dtype) if isinstance(factor, int) else convert(factor).astype(dtype)
            given = size if is_const_int(given, 1) else given * size
    simplify = Analyzer().simplify
    inferred = simplify(ceildiv(loop.extent, simplify(given)))
    return [inferred if factor is None else const(factor, dtype) for factor in factors]


def _check_nothing_left_over(loop: StmtSRef, extents: Sequence[PrimExpr]) -> None:
    """Reject new loops that would leave iterations of the old one out."""
    analyzer = Analyzer.knowing(loop_ranges(loops_above(loop)))
    if not analyzer.can_prove(reduce(mul, extents) >= loop.loop.extent):
        refuse(
            f"The product of factors is not larger than or equal to the extent of loop {{0}}: "
            f"{' * '.join(map(show, extents))} and {show(loop.loop.extent)}",
            loop,
        )


def _replace_nest(
    state: ScheduleState,
    primitive: str,
    top: StmtSRef,
    innermost: For,
    new: Sequence[tuple[Var, PrimExpr]],
    body: Stmt,
    preserve_unit_iters: bool,
) -> list[StmtSRef]:
    """Put new loops, each a variable and an extent, in place of a nest, whose body is rewritten already."""
    stmt = body
    with derived_from(current_span() | top.loop.span | innermost.span):
        for var, extent in reversed(new):
            stmt = loop_like(primitive, top.loop, var, (const(0, var.dtype), extent), stmt)
    stmt = simplified_bindings(stmt, loop_ranges(loops_above(top)), preserve_unit_iters)
    assert isinstance(stmt, For)
    state.replace(top, stmt, matching_blocks(top.loop, stmt))
    loops: list[StmtSRef] = []
    nest: Stmt = stmt
    for _ in new:
        loops.append(state.sref_of(nest))
        assert isinstance(nest, For)
        nest = nest.body
    return loops
