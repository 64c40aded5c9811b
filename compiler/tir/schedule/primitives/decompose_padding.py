"""``decompose_padding``: separates padding from copying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from compiler.arith import Analyzer, estimate_region_lower_bound, estimate_region_upper_bound
from compiler.ir.expr.primexpr import Call, FloatImm, IntImm, IterVar, PrimExpr, Range, Select, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.analysis.block_access import get_block_access_region
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.schedule.error import IllegalStepError, refuse
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.conditions import check_complete_block, scope_root
from compiler.tir.schedule.facts.loop_kinds import loop_again
from compiler.tir.schedule.facts.roles import BLOCK, LOOP
from compiler.tir.schedule.primitives.loop_nest import replace_statement
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import blocks_in, loop_ranges, loops_above
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.stmt import BufferStore, For, SeqStmt, Stmt


@dataclass(frozen=True, slots=True)
class _Padding:
    """A block that stores a value where a condition holds, and a constant elsewhere."""

    realize: BlockRealize
    store: BufferStore
    inside: PrimExpr  # what is stored where the condition holds
    constant: PrimExpr
    box: Mapping[Var, Range]  # for each axis, where the condition holds


@primitive("DecomposePadding", block=BLOCK, loop=LOOP)
def decompose_padding(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> StmtSRef:
    """Fill a padded tensor with its constant first, right before a loop around the block, and copy the rest after.

    For example ``sch.decompose_padding("B", i)``::

                                                           for i in range(140):
                                                               with T.block("B_pad_const"):
                                                                   vi = T.axis.spatial(140, i)
                                                                   B[vi] = 0
        for i in range(140):                               for i in range(128):
            with T.block("B"):                      →          with T.block("B"):
                vi = T.axis.spatial(140, i)                        vi = T.axis.spatial(128, i)
                B[vi] = T.if_then_else(6 <= vi and vi < 134, A[vi - 6], 0)    B[vi + 6] = A[vi]

    The block stores ``T.if_then_else(condition, value, constant)``, where the condition bounds axes; the loop has
    nothing but the block inside. Raises ScheduleError if the block is not complete or pads nothing, or the loop is not
    around it alone.
    """
    padding = _padding(state, block)
    loops = _nest(state, block, loop)
    above = loop.parent
    assert above is not None
    analyzer = Analyzer.knowing(loop_ranges(loops_above(block)))
    with derived_from(current_span() | block.block.span):
        fill = _filled(padding, loops, analyzer)
        copied, realize = _copied(padding, loops, analyzer)
    reuse = {block.block: realize.block}
    replace_statement(state, above, loop.loop, SeqStmt((fill, copied)), reuse)
    return state.sref_of(next(blocks_in(fill)))


def can_decompose_padding(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> bool:
    """Return whether :func:`decompose_padding` would do."""
    try:
        _padding(state, block)
        _nest(state, block, loop)
    except IllegalStepError:
        return False
    return True


# analysis


def _padding(state: ScheduleState, block: StmtSRef) -> _Padding:
    """Return what a block pads with what; refuse one that does not."""
    check_complete_block(state, block, scope_root(state, block))
    store = block.block.body
    choice = _choice(store.value) if isinstance(store, BufferStore) else None
    if choice is None or not isinstance(choice[2], (IntImm, FloatImm)):
        refuse("The block {0} is expected to store an `if_then_else` whose last value is a constant", block)
    assert isinstance(store, BufferStore)
    condition, inside, constant = choice
    box = _box(block.block, condition)
    if box is None:
        refuse(f"The condition {condition} of block {{0}} does not bound its axes one by one", block)
    return _Padding(state.realize_of(block), store, inside, constant, box)


def _choice(value: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr] | None:
    """Return condition, value and other value of a choice."""
    if isinstance(value, Select):
        return value.condition, value.true_value, value.false_value
    if isinstance(value, Call) and value.op is IF_THEN_ELSE:
        condition, inside, outside = value.args
        return condition, inside, outside
    return None


def _box(block: Block, condition: PrimExpr) -> dict[Var, Range] | None:
    """Return for each axis where a condition holds, None if that is not a box."""
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    if any(domains.keys().isdisjoint(free_vars(part)) for part in conjuncts(condition)):
        return None
    points = [Range.from_fields(axis.var, const(1, axis.var.dtype)) for axis in block.iter_vars]
    lower = estimate_region_lower_bound(points, domains, condition)
    if lower is None:
        return None
    upper = estimate_region_upper_bound(points, domains, condition)
    analyzer = Analyzer()
    box: dict[Var, Range] = {}
    for axis, inner, outer in zip(block.iter_vars, lower, upper, strict=True):
        ends = ((inner.min_value, outer.min_value), (inner.max_value, outer.max_value))
        if not all(analyzer.can_prove_equal(a, b) for a, b in ends):
            return None
        extent = analyzer.simplify(inner.max_value - inner.min_value + 1)
        box[axis.var] = Range.from_fields(analyzer.simplify(inner.min_value), extent)
    within = Analyzer.knowing(box)
    return box if all(within.can_prove(part) for part in conjuncts(condition)) else None


def _nest(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> list[For]:
    """Return the loops from one to a block, which must be the only thing in it."""
    loops = loops_above(block)
    if loop not in loops:
        refuse("decompose_padding expects the loop {0} to be an ancestor of block {1}", loop, block)
    nest = [sref.loop for sref in loops[loops.index(loop) :]]
    bodies: list[Stmt] = [*nest[1:], state.realize_of(block)]
    for outer, inner in zip(nest, bodies, strict=True):
        if outer.body is not inner:
            refuse(
                "decompose_padding expects loop {0} to have no other statement than the nest around block {1}",
                outer,
                block,
            )
    return nest


# building


def _filled(padding: _Padding, loops: Sequence[For], analyzer: Analyzer) -> Stmt:
    """Return the loops and the block that store the constant everywhere."""
    realize, block = padding.realize, padding.realize.block
    axes = {axis.var: Var(axis.var.name, axis.var.dtype) for axis in block.iter_vars}
    fresh = {loop.loop_var: Var(loop.loop_var.name, loop.loop_var.dtype) for loop in loops}
    fill = Block(
        tuple([IterVar(axis.dom, axes[axis.var], axis.iter_type) for axis in block.iter_vars]),
        (),
        substitute(block.writes, axes),
        f"{block.name_hint}_pad_const",
        substitute(rebuild(padding.store, value=padding.constant), axes),
        annotations=block.annotations,
    )
    values = tuple([substitute(analyzer.simplify(value), fresh) for value in realize.iter_values])
    stmt: Stmt = BlockRealize(values, substitute(realize.predicate, fresh), fill)
    for loop in reversed(loops):
        stmt = loop_again("decompose_padding", loop, fresh[loop.loop_var], stmt)
    return stmt


def _copied(padding: _Padding, loops: Sequence[For], analyzer: Analyzer) -> tuple[Stmt, BlockRealize]:
    """Return the loops and the block that store what lies inside, and the block with its values."""
    realize, block = padding.realize, padding.realize.block
    shorter: dict[Var, PrimExpr] = {}
    predicate: PrimExpr = const(True, "bool")
    values: list[PrimExpr] = []
    for axis, value in zip(block.iter_vars, realize.iter_values, strict=True):
        bounds = padding.box[axis.var]
        covers = axis.dom is not None and analyzer.can_prove_equal(bounds.extent, axis.dom.extent)
        if not covers and _runs_over(value, axis.dom, loops, analyzer) and _is_used_once(value, realize):
            shorter[value] = bounds.extent
            values.append(value)
            continue
        values.append(analyzer.simplify(value - bounds.min))
        if not covers:
            end = analyzer.simplify(bounds.min + bounds.extent)
            predicate = conjunction(conjunction(predicate, bounds.min <= value), value < end)
    copied = BlockRealize(tuple(values), conjunction(predicate, realize.predicate), _inner_block(padding))
    stmt: Stmt = copied
    for loop in reversed(loops):
        stmt = rebuild(loop, extent=shorter.get(loop.loop_var, loop.extent), body=stmt)
    return stmt, copied


def _runs_over(value: PrimExpr, dom: Range | None, loops: Sequence[For], analyzer: Analyzer) -> TypeGuard[Var]:
    """Return whether a value is the variable of a loop which runs over all of a domain."""
    loop = next((loop for loop in loops if loop.loop_var is value), None)
    if loop is None or dom is None:
        return False
    return analyzer.can_prove_equal(loop.extent, dom.extent) and analyzer.can_prove_equal(loop.min, 0)


def _is_used_once(var: Var, realize: BlockRealize) -> bool:
    """Return whether a loop's variable is the value of one axis, and of nothing else."""
    rest = [value for value in realize.iter_values if value is not var]
    marked = substitute((*rest, realize.predicate), {var: const(0, var.dtype)})
    unchanged = all(a is b for a, b in zip(marked, (*rest, realize.predicate), strict=True))
    return unchanged and len(rest) + 1 == len(realize.iter_values)


def _inner_block(padding: _Padding) -> Block:
    """Return the block with its axes counted from where the condition begins to hold."""
    block = padding.realize.block
    analyzer = Analyzer()
    for var, bounds in padding.box.items():
        if is_const_int(bounds.extent, 1):
            continue  # its variable is not to be replaced by 0
        analyzer.bind(var, Range.from_fields(const(0, var.dtype), bounds.extent))
    shifted: dict[Var, PrimExpr] = {
        var: var + bounds.min for var, bounds in padding.box.items() if not analyzer.can_prove_equal(bounds.min, 0)
    }
    indices = tuple([analyzer.simplify(substitute(index, shifted)) for index in padding.store.indices])
    body = rebuild(padding.store, value=analyzer.simplify(substitute(padding.inside, shifted)), indices=indices)
    axes = tuple(
        [
            rebuild(axis, dom=Range.from_fields(const(0, axis.var.dtype), padding.box[axis.var].extent))
            for axis in block.iter_vars
        ]
    )
    inner = rebuild(block, iter_vars=axes, body=body)
    buffers = {region.buffer.data: region.buffer for region in (*block.reads, *block.writes)}
    reads, writes, _ = get_block_access_region(inner, buffers)
    return rebuild(inner, reads=tuple(reads), writes=tuple(writes))
