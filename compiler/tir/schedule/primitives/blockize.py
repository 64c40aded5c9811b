"""``blockize``: turns the loops inside a loop into a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from compiler.arith import Analyzer
from compiler.arith.deep_equal import deep_equal
from compiler.arith.int_set import IntervalSet, union
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.iterators.iter_map import IterMark, IterSumExpr, normalize_iter_map_to_expr
from compiler.arith.iterators.subspace_divide import subspace_divide
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute, uses_var
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.conditions import check_whole_reduction, scope_root
from compiler.tir.schedule.facts.loop_kinds import loop_again
from compiler.tir.schedule.facts.roles import TARGET
from compiler.tir.schedule.primitives.loop_nest import replace_statement
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import hold_only, loop_ranges, loops_above, lowest_common_ancestor
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferRegion
from compiler.tir.statements.stmt import For, SeqStmt, Stmt, seq


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

    Raises ScheduleError if the axes of a block are not sums of outer and inner loops; if blocks do not follow each
    other, reduce, or differ in what the loops around all of them are to them.

    Parameters
    ----------
    target : LoopRV, or list of BlockRV
        A loop with nothing but loops around one block inside; or blocks that follow each other in loops of their own,
        which become one block around these loops.
    """
    if isinstance(target, StmtSRef):
        return blockize_loop(state, target, preserve_unit_iters)
    if not target:
        raise ArgumentError("blockize: expected a loop or blocks, got no block")
    if len(target) == 1:
        return _blockized(state, target[0], [], preserve_unit_iters)
    return _blockized_together(state, target, preserve_unit_iters)


def blockize_loop(state: ScheduleState, loop: StmtSRef, preserve_unit_iters: bool = True) -> StmtSRef:
    """Make one block of what is inside of a loop; see :func:`blockize`."""
    blocks = state.child_blocks(loop)
    inner = loops_above(blocks[0])
    inner = inner[inner.index(loop) :]
    if not hold_only(inner, state.realize_of(blocks[0])):
        refuse("The loop {0} must have nothing but loops around one block inside", loop)
    return _blockized(state, blocks[0], inner, preserve_unit_iters)


@dataclass(frozen=True, slots=True)
class _Part:
    """An axis of the new block, or of the old one in it."""

    axis: IterVar
    value: PrimExpr


@dataclass(frozen=True, slots=True, eq=False)
class _Division:
    """How the axes of a block are divided."""

    # the axes of the new block, and those that the old one gets
    outer: list[_Part]
    inner: list[_Part]
    values: dict[Var, PrimExpr]  # what the old axes are, in terms of both
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
    state: ScheduleState, block: StmtSRef, realize: BlockRealize, inner: Sequence[StmtSRef], preserve_unit_iters: bool
) -> _Division:
    loops = loop_ranges(loops_above(block))
    inside = [sref.loop.loop_var for sref in inner]
    _check_regions(block.block, inner)
    if block.block.init is not None:
        check_whole_reduction(state, block)
    marks = subspace_divide(
        realize.iter_values, loops, inside, realize.predicate, simplify_trivial_iterators=not preserve_unit_iters
    )
    if not marks or _moves(marks, inside):
        refuse(
            "The bindings of the inner block {0} can not be blockized by the loops starting at {1}.",
            block,
            inner[0].loop if inner else block.block,
        )
    division = _Division([], [], {}, *_divided_predicate(block, realize, set(inside)))
    for axis, (first, second) in zip(realize.block.iter_vars, marks[:-1], strict=True):
        outer_one, inner_one = is_const_int(first.extent, 1), is_const_int(second.extent, 1)
        outer_value = normalize_iter_map_to_expr(first.source)
        # What neither part runs over, as the axis of a block further out, is added where the old axis is used.
        assert isinstance(second.source, IterSumExpr)
        base = second.source.base
        inner_value = normalize_iter_map_to_expr(rebuild(second.source, base=const(0, base.dtype)))
        outer = _axis(axis, "_o", first.extent)
        # An axis of one iteration that need not stay is 0 inside.
        value: PrimExpr = const(0, axis.var.dtype) if outer_one and not preserve_unit_iters else outer.var
        division.outer.append(_Part(outer, const(0, axis.var.dtype) if outer_one else outer_value))
        if not inner_one:
            own = _axis(axis, "_i", second.extent)
            division.inner.append(_Part(own, inner_value))
            value = own.var if outer_one else outer.var * second.extent + own.var
        division.values[axis.var] = value if is_const_int(base, 0) else value + base
    return division


def _check_regions(block: Block, inner: Sequence[StmtSRef]) -> None:
    """Reject a block with regions that only inside of the inner loops can be said, as in parts of a triangle."""
    used = set(free_vars((block.reads, block.writes)))
    for sref in inner:
        if sref.loop.loop_var in used:
            refuse(
                "The bindings of the inner block {0} can not be blockized: what it reads or writes depends on loop "
                "{1} without an axis for it",
                block,
                sref,
            )


def _moves(marks: Sequence[Sequence[IterMark]], inside: Sequence[Var]) -> bool:
    """Return whether the number of values of an axis, or the first of them, depends on one of the inner loops.

    The loop ``j`` in ``for i in range(8): for j in range(i, 8)`` gives its axis such values.
    """
    sources = [mark.source for pair in marks[:-1] for mark in pair]
    bases = [source.base for source in sources if isinstance(source, IterSumExpr)]
    extents = [mark.extent for pair in marks[:-1] for mark in pair]
    return any(uses_var(expr, set(inside).__contains__) for expr in (*bases, *extents))


def _divided_predicate(block: StmtSRef, realize: BlockRealize, inside: set[Var]) -> tuple[PrimExpr, PrimExpr]:
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
                f"The bindings of the inner block {{0}} can not be blockized: {condition} is about outer and inner "
                "loops",
                block,
            )
    return outer, inner


def _axis(axis: IterVar, suffix: str, extent: PrimExpr) -> IterVar:
    dtype = axis.var.dtype
    return IterVar(Range.from_fields(const(0, dtype), extent), Var(f"{axis.var.name}{suffix}", dtype), axis.iter_type)


def _inner_nest(realize: BlockRealize, inner: Sequence[StmtSRef], division: _Division) -> tuple[Stmt, Block]:
    """Return the inner loops around what the block becomes, and that block."""
    old = realize.block
    body = rebuild(
        old,
        iter_vars=tuple([part.axis for part in division.inner]),
        reads=substitute(old.reads, division.values),
        writes=substitute(old.writes, division.values),
        body=substitute(old.body, division.values),
        init=None,
        match_buffers=substitute(old.match_buffers, division.values),
    )
    if old.init is not None:
        written = tuple([r for r in body.writes if all(r.buffer is not other.buffer for other in body.reads)])
        body = rebuild(body, reads=(*written, *body.reads))
    values = tuple([part.value for part in division.inner])
    nest: Stmt = BlockRealize(values, division.inner_predicate, body)
    for sref in reversed(inner):
        nest = rebuild(sref.loop, body=nest)
    return nest, body


def _outer_block(realize: BlockRealize, inner: Sequence[StmtSRef], division: _Division) -> tuple[BlockRealize, Block]:
    """Return the realization of the new block, and what the old one becomes."""
    old = realize.block
    nest, body = _inner_nest(realize, inner, division)
    init = None if old.init is None else _init(old, inner, division)
    return _realized([realize], [division], f"{old.name_hint}_o", nest, init), body


def _realized(
    realizes: Sequence[BlockRealize], divisions: Sequence[_Division], name: str, body: Stmt, init: Stmt | None = None
) -> BlockRealize:
    """Return the realization of a block around what some blocks became."""
    first = divisions[0]
    parts = [part for division in divisions for part in division.inner]
    ranges = {part.axis.var: part.axis.dom for part in parts if part.axis.dom is not None}
    pairs = list(zip(realizes, divisions, strict=True))
    axes = tuple([part.axis for part in first.outer])
    block = Block(
        axes,
        _hulls([r for old, division in pairs for r in substitute(old.block.reads, division.values)], ranges, axes),
        _hulls([r for old, division in pairs for r in substitute(old.block.writes, division.values)], ranges, axes),
        name,
        body,
        init,
    )
    return BlockRealize(tuple([part.value for part in first.outer]), first.outer_predicate, block)


def _init(old: Block, inner: Sequence[StmtSRef], division: _Division) -> Stmt:
    """Return the loops and the block that set the initial values of the new block."""
    spatial = [part for part in division.inner if part.axis.iter_type == IterVar.DataPar]
    renamed: dict[Var, PrimExpr] = {p.axis.var: Var(f"{p.axis.var.name}_init", p.axis.var.dtype) for p in spatial}
    kept = {var for part in spatial for var in free_vars(part.value)}
    reduced = {var for p in division.inner if p not in spatial for var in free_vars(p.value)} - kept
    predicate: PrimExpr = const(True, "bool")
    for condition in conjuncts(division.inner_predicate):
        variables = set(free_vars(condition))
        if not reduced & variables or kept & variables:  # of reduced values alone, some fulfil it
            predicate = conjunction(predicate, condition)
    used = {var for expr in (predicate, *[part.value for part in spatial]) for var in free_vars(expr)}
    loops = [sref.loop for sref in inner if sref.loop.loop_var in used]
    fresh = {n.loop_var: Var(n.loop_var.name, n.loop_var.dtype) for n in loops}
    assert old.init is not None
    values = {var: substitute(value, renamed) for var, value in division.values.items()}
    block = Block(
        tuple([rebuild(part.axis, var=renamed[part.axis.var]) for part in spatial]),
        (),
        substitute(old.writes, values),
        f"{old.name_hint}_init",
        substitute(old.init, values),
    )
    stmt: Stmt = BlockRealize(
        tuple([substitute(part.value, fresh) for part in spatial]), substitute(predicate, fresh), block
    )
    for loop in reversed(loops):
        stmt = loop_again("blockize", loop, fresh[loop.loop_var], stmt)
    return stmt


def _hulls(
    regions: Sequence[BufferRegion], ranges: Mapping[Var, Range], axes: Sequence[IterVar]
) -> tuple[BufferRegion, ...]:
    """Return a box for each buffer: what regions cover while the inner axes run, given those of the new block."""
    analyzer = Analyzer()
    within = Analyzer.knowing({axis.var: axis.dom for axis in axes if axis.dom is not None})
    boxes: dict[Buffer, list[list[IntervalSet]]] = {}
    for region in regions:
        sides = [eval_set(side, ranges, analyzer) for side in region.region]
        boxes.setdefault(region.buffer, []).append(sides)
    hulls = []
    for buffer, several in boxes.items():
        box = []
        for dim, *sides in zip(buffer.shape, *several, strict=True):
            full = Range.from_fields(const(0, dim.dtype), dim)
            side = sides[0] if len(sides) == 1 else union(sides, within)
            box.append(side.cover_range(full, analyzer))
        hulls.append(BufferRegion(buffer, tuple(box)))
    return tuple(hulls)


# several blocks


def _blockized_together(state: ScheduleState, blocks: Sequence[StmtSRef], preserve_unit_iters: bool) -> StmtSRef:
    scope_root(state, blocks[0])
    above = lowest_common_ancestor(list(blocks))
    body = above.stmt.body if isinstance(above.stmt, For | Block) else None
    statements = list(body.seq) if isinstance(body, SeqStmt) else []
    nests = sorted([_Nest.below(state, above, statements, block) for block in blocks], key=lambda nest: nest.position)
    first, last = nests[0].position, nests[-1].position
    if [nest.position for nest in nests] != list(range(first, last + 1)):
        _refuse_together(blocks[0].block, "do not follow each other in loops of their own")
    divisions: list[_Division] = []
    for nest in nests:
        division = _divided(state, nest.block, nest.realize, nest.inner, preserve_unit_iters)
        divisions.append(_shared(divisions[0], division, nest.block.block) if divisions else division)
    realizes = [nest.realize for nest in nests]
    with derived_from(frozenset().union(current_span(), *[realize.span for realize in realizes])):
        changed = [
            _inner_nest(nest.realize, nest.inner, division) for nest, division in zip(nests, divisions, strict=True)
        ]
        name = f"outer_{''.join(f'{block.block.name_hint}_' for block in blocks)}"
        outer = _realized(realizes, divisions, name, seq([inner for inner, _ in changed]))
    new = [*statements[:first], outer, *statements[last + 1 :]]
    reuse = {nest.block.block: inner for nest, (_, inner) in zip(nests, changed, strict=True)}
    assert body is not None
    replace_statement(state, above, body, seq(new), reuse)
    for nest in nests:
        state.rebound(nest.block)
    return state.sref_of(outer)


@dataclass(frozen=True, slots=True, eq=False)
class _Nest:
    """A block in loops of its own, at its position among the statements of a loop or block."""

    block: StmtSRef
    realize: BlockRealize
    inner: list[StmtSRef]
    position: int

    @staticmethod
    def below(state: ScheduleState, above: StmtSRef, statements: Sequence[Stmt], block: StmtSRef) -> _Nest:
        realize = state.realize_of(block)
        inner = loops_above(block)
        if above in inner:
            inner = inner[inner.index(above) + 1 :]
        statement: Stmt = inner[0].loop if inner else realize
        position = next((at for at, each in enumerate(statements) if each is statement), None)
        if not hold_only(inner, realize) or position is None:
            _refuse_together(block.block, "do not follow each other in loops of their own")
        if realize.block.init is not None:
            _refuse_together(block.block, "reduce; decompose_reduction gives their initial values a block")
        return _Nest(block, realize, inner, position)


def _shared(first: _Division, division: _Division, block: Block) -> _Division:
    """Return a division with the outer axes of another one, which have to run over the same values."""
    same = len(first.outer) == len(division.outer) and all(
        deep_equal(a.value, b.value) and a.axis.iter_type == b.axis.iter_type
        for a, b in zip(first.outer, division.outer, strict=False)
    )
    if not same or not deep_equal(first.outer_predicate, division.outer_predicate):
        _refuse_together(block, "differ in what the loops around all of them are to them")
    axes: dict[Var, PrimExpr] = {b.axis.var: a.axis.var for a, b in zip(first.outer, division.outer, strict=True)}
    values = {var: substitute(value, axes) for var, value in division.values.items()}
    return _Division(first.outer, division.inner, values, first.outer_predicate, division.inner_predicate)


def _refuse_together(block: Block, reason: str) -> NoReturn:
    refuse(f"The block {{0}} cannot become one with the others: blocks cannot that {reason}", block)
