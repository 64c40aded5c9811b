"""Making one block of the loops inside of a loop: ``blockize``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from compiler.arith import Analyzer, subspace_divide
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.iter_map import normalize_iter_map_to_expr
from compiler.ir.error import ArgumentError
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.ir.primexpr import IterVar, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.substitute import free_vars, substitute
from compiler.tir.block import Block, BlockRealize
from compiler.tir.buffer import Buffer, BufferRegion
from compiler.tir.schedule.bindings import conjunction, conjuncts
from compiler.tir.schedule.conditions import scope_root
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.primitives.loop_nest import replace_statement
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.roles import TARGET
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import loop_ranges, loops_above
from compiler.tir.stmt import For, Stmt

__all__ = ["blockize", "blockize_loop"]


@primitive("Blockize", target=TARGET)
def blockize(state: ScheduleState, target: StmtSRef | Sequence[StmtSRef], preserve_unit_iters: bool = True) -> StmtSRef:
    """Make one block of what is inside of a loop, which then has axes for the loops around it only.

    For example ``sch.blockize(i_1)``::

        for i_0, i_1 in T.grid(8, 16):                     for i_0 in range(8):
            with T.block("B"):                                 with T.block("B_o"):
                vi = T.axis.spatial(128, i_0 * 16 + i_1)  →        vi_o = T.axis.spatial(8, i_0)
                B[vi] = A[vi] * 2.0                                for i_1 in range(16):
                                                                       with T.block("B"):
                                                                           vi_i = T.axis.spatial(16, i_1)
                                                                           … B[vi_o * 16 + vi_i] = …

    Parameters
    ----------
    target : LoopRV, or list of BlockRV
        A loop with nothing but loops around one block inside.  Of blocks there can be just one.
    preserve_unit_iters : bool
        Whether axes of one iteration stay.

    Returns
    -------
    BlockRV
        The new block.

    Raises
    ------
    ScheduleError
        If the axes of the block are not sums of outer and inner loops.
    """
    if isinstance(target, StmtSRef):
        return blockize_loop(state, target, preserve_unit_iters)
    if len(target) != 1:
        raise ArgumentError(f"blockize: expected a loop or one block, got {len(target)} blocks")
    return _blockized(state, target[0], [], preserve_unit_iters)


def blockize_loop(state: ScheduleState, loop: StmtSRef, preserve_unit_iters: bool = True) -> StmtSRef:
    """Make one block of what is inside of a loop; see :func:`blockize`.

    Parameters
    ----------
    state : ScheduleState
    loop : StmtSRef
    preserve_unit_iters : bool

    Returns
    -------
    StmtSRef
    """
    blocks = state.child_blocks(loop)
    inner = loops_above(blocks[0])
    inner = inner[inner.index(loop) :]
    chain = all(a.loop.body is b.loop for a, b in pairwise(inner))
    if len(blocks) != 1 or not chain or inner[-1].loop.body is not state.realize_of(blocks[0]):
        refuse(
            state.mod,
            "The loop must have a single block inside",
            "The loop {0} must have nothing but loops around one block inside",
            loop.loop,
        )
    return _blockized(state, blocks[0], inner, preserve_unit_iters)


@dataclass(frozen=True, slots=True)
class _Part:
    """An axis of the new block, or of the old one in it."""

    axis: IterVar
    value: PrimExpr


@dataclass(frozen=True, slots=True, eq=False)
class _Division:
    """How the axes of a block are divided.

    Attributes
    ----------
    outer, inner : list of _Part
        The axes of the new block, and those that the old one gets.
    values : dict of Var to PrimExpr
        What the old axes are, in terms of both.
    outer_predicate, inner_predicate : PrimExpr
    """

    outer: list[_Part]
    inner: list[_Part]
    values: dict[Var, PrimExpr]
    outer_predicate: PrimExpr
    inner_predicate: PrimExpr


def _blockized(state: ScheduleState, block: StmtSRef, inner: Sequence[StmtSRef], preserve_unit_iters: bool) -> StmtSRef:
    scope_root(state, block)
    realize = state.realize_of(block)
    division = _divided(state, block, realize, inner, preserve_unit_iters)
    with derived_from(current_span() | realize.span):
        outer, new_block = _outer_block(realize, inner, division)
    top = inner[0] if inner else block
    above = top.parent
    assert above is not None
    old: Stmt = inner[0].loop if inner else realize
    replace_statement(state, above, old, outer, {block.block: new_block})
    state.rebound(block)
    return state.sref_of(outer)


def _divided(
    state: ScheduleState,
    block: StmtSRef,
    realize: BlockRealize,
    inner: Sequence[StmtSRef],
    preserve_unit_iters: bool,
) -> _Division:
    loops = loop_ranges(loops_above(block))
    inside = [sref.loop.loop_var for sref in inner]
    marks = subspace_divide(
        realize.iter_values, loops, inside, realize.predicate, simplify_trivial_iterators=not preserve_unit_iters
    )
    if not marks:
        refuse(
            state.mod,
            "The bindings of the inner block can not be blockized",
            "The bindings of the inner block {0} can not be blockized by the loops starting at {1}.",
            block.block,
            inner[0].loop if inner else block.block,
        )
    division = _Division([], [], {}, *_divided_predicate(state, block, realize, set(inside)))
    for axis, (first, second) in zip(realize.block.iter_vars, marks[:-1], strict=True):
        outer_one, inner_one = is_const_int(first.extent, 1), is_const_int(second.extent, 1)
        outer_value = normalize_iter_map_to_expr(first.source)
        inner_value = normalize_iter_map_to_expr(second.source)
        outer = _axis(axis, "_o", first.extent)
        value: PrimExpr = outer.var
        division.outer.append(_Part(outer, const(0, axis.var.dtype) if outer_one else outer_value))
        if not inner_one:
            own = _axis(axis, "_i", second.extent)
            division.inner.append(_Part(own, inner_value))
            value = own.var if outer_one else outer.var * second.extent + own.var
        division.values[axis.var] = value
    return division


def _divided_predicate(
    state: ScheduleState, block: StmtSRef, realize: BlockRealize, inside: set[Var]
) -> tuple[PrimExpr, PrimExpr]:
    """Return the conditions on the outer loops and those on the inner ones."""
    outer: PrimExpr = const(True, "bool")
    inner: PrimExpr = const(True, "bool")
    for condition in conjuncts(realize.predicate):
        used = set(free_vars(condition))
        if used <= inside:
            inner = conjunction(inner, condition)
        elif not used & inside:
            outer = conjunction(outer, condition)
        else:
            refuse(
                state.mod,
                "The bindings of the inner block can not be blockized",
                f"The bindings of the inner block {{0}} can not be blockized: {condition} is about outer and inner "
                "loops",
                block.block,
            )
    return outer, inner


def _axis(axis: IterVar, suffix: str, extent: PrimExpr) -> IterVar:
    dtype = axis.var.dtype
    return IterVar(Range.from_fields(const(0, dtype), extent), Var(f"{axis.var.name}{suffix}", dtype), axis.iter_type)


def _outer_block(realize: BlockRealize, inner: Sequence[StmtSRef], division: _Division) -> tuple[BlockRealize, Block]:
    """Return the realization of the new block, and what the old one becomes."""
    old = realize.block
    reduces = old.init is not None
    body = rebuild(
        old,
        iter_vars=tuple([part.axis for part in division.inner]),
        reads=substitute(old.reads, division.values),
        writes=substitute(old.writes, division.values),
        body=substitute(old.body, division.values),
        init=None,
        match_buffers=substitute(old.match_buffers, division.values),
    )
    if reduces:
        written = tuple([r for r in body.writes if all(r.buffer is not other.buffer for other in body.reads)])
        body = rebuild(body, reads=(*written, *body.reads))
    values = tuple([part.value for part in division.inner])
    nest: Stmt = BlockRealize(values, division.inner_predicate, body)
    for sref in reversed(inner):
        nest = rebuild(sref.loop, body=nest)
    ranges = {part.axis.var: part.axis.dom for part in division.inner if part.axis.dom is not None}
    block = Block(
        tuple([part.axis for part in division.outer]),
        _hulls(substitute(old.reads, division.values), ranges),
        _hulls(substitute(old.writes, division.values), ranges),
        f"{old.name_hint}_o",
        nest,
        _init(old, inner, division) if reduces else None,
    )
    return BlockRealize(tuple([part.value for part in division.outer]), division.outer_predicate, block), body


def _init(old: Block, inner: Sequence[StmtSRef], division: _Division) -> Stmt:
    """Return the loops and the block that set the initial values of the new block."""
    spatial = [part for part in division.inner if part.axis.iter_type == IterVar.DataPar]
    renamed: dict[Var, PrimExpr] = {p.axis.var: Var(f"{p.axis.var.name}_init", p.axis.var.dtype) for p in spatial}
    used = {var for part in spatial for var in free_vars(part.value)}
    loops = [sref.loop for sref in inner if sref.loop.loop_var in used]
    fresh: dict[Var, PrimExpr] = {n.loop_var: Var(n.loop_var.name, n.loop_var.dtype) for n in loops}
    assert old.init is not None
    values = {var: substitute(value, renamed) for var, value in division.values.items()}
    block = Block(
        tuple([rebuild(part.axis, var=renamed[part.axis.var]) for part in spatial]),
        (),
        substitute(old.writes, values),
        f"{old.name_hint}_init",
        substitute(old.init, values),
    )
    kept = set(fresh)
    predicate = division.inner_predicate
    if set(free_vars(predicate)) - kept:
        predicate = const(True, "bool")
    stmt: Stmt = BlockRealize(
        tuple([substitute(part.value, fresh) for part in spatial]), substitute(predicate, fresh), block
    )
    for loop in reversed(loops):
        stmt = For(fresh[loop.loop_var], loop.min, loop.extent, loop.kind, stmt)  # type: ignore[arg-type]
    return stmt


def _hulls(regions: Sequence[BufferRegion], ranges: Mapping[Var, Range]) -> tuple[BufferRegion, ...]:
    """Return a box for each buffer: what regions cover while axes run."""
    analyzer = Analyzer()
    sides: dict[Buffer, list[tuple[Range, ...]]] = {}
    for region in regions:
        box = []
        for side, dim in zip(region.region, region.buffer.shape, strict=True):
            full = Range.from_fields(const(0, dim.dtype), dim)
            box.append(eval_set(side, ranges, analyzer).cover_range(full, analyzer))
        sides.setdefault(region.buffer, []).append(tuple(box))
    return tuple([BufferRegion(buffer, box) for buffer, boxes in sides.items() for box in boxes[:1]])
