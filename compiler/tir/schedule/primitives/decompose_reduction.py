"""``decompose_reduction``: separates the initialisation of a reduction."""

from __future__ import annotations

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute, uses_var
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.schedule.buffers import BlockMutator
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.conditions import check_reduction_block, scope_root
from compiler.tir.schedule.facts.loop_kinds import loop_again
from compiler.tir.schedule.facts.roles import BLOCK, LOOP
from compiler.tir.schedule.primitives.loop_nest import replace_statement
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import ancestors, blocks_in, loops_above
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.stmt import For, SeqStmt, Stmt


@primitive("DecomposeReduction", block=BLOCK, loop=LOOP)
def decompose_reduction(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> StmtSRef:
    """Set the initial values of a reduction in a block of its own, right before a loop around it.

    For example ``sch.decompose_reduction("C", k)``::

        for i, k in T.grid(128, 128):              for i in range(128):
            with T.block("C"):                         with T.block("C_init"):
                vi, vk = …remap("SR", [i, k])              C[vi] = 0.0
                with T.init():               →         for k in range(128):
                    C[vi] = 0.0                            with T.block("C_update"):
                C[vi] = C[vi] + A[vi, vk]                      C[vi] = C[vi] + A[vi, vk]

    No loop further out than ``loop`` belongs to the reduction. Raises ScheduleError if the block is not a reduction, or
    the loop is another one.
    """
    scope = scope_root(state, block)
    check_reduction_block(state, block, scope)
    _check_loop(state, block, loop)
    realize = state.realize_of(block)
    above = loop.parent
    assert above is not None
    begin = _beginning(realize, _loops_from(block, loop))
    rewrite = _Update(block.block)
    update = rewrite.visit(loop.loop)
    replace_statement(state, above, loop.loop, SeqStmt((begin, update)), rewrite.reuse)
    return state.sref_of(next(blocks_in(begin)))


def _check_loop(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> None:
    loops = loops_above(block)
    if loop not in loops:
        refuse("decompose_reduction expect the loop {0} to be an ancestor of block {1}", loop, block)
    at = loops.index(loop)
    outside: set[Var] = set()
    for around in ancestors(loop):
        outside |= {axis.var for axis in around.block.iter_vars} if around.is_block else {around.loop.loop_var}
    realize = state.realize_of(block)
    used = set(free_vars(realize.iter_values))
    for inside in loops[at:]:
        if inside.loop.loop_var not in used and not is_const_int(inside.loop.extent, 1):
            refuse(
                "Block {1} reduces anew in each iteration of loop {0}, so its initial values cannot be set before that "
                "loop",
                inside,
                block,
            )
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if axis.iter_type == IterVar.CommReduce and uses_var(value, outside.__contains__):
            refuse(
                "decompose_reduction expect the loop {0} to be higher than all the loops related to reduce block var "
                "of block {1}",
                loop,
                block,
            )


def _loops_from(block: StmtSRef, loop: StmtSRef) -> list[For]:
    loops = loops_above(block)
    return [sref.loop for sref in loops[loops.index(loop) :]]


def _beginning(realize: BlockRealize, loops: list[For]) -> Stmt:
    """Return the loops and the block that set the initial values."""
    block = realize.block
    pairs = zip(block.iter_vars, realize.iter_values, strict=True)
    spatial = [(axis, value) for axis, value in pairs if axis.iter_type == IterVar.DataPar]
    used = {var for _, value in spatial for var in free_vars(value)}
    kept = [loop for loop in loops if loop.loop_var in used]
    fresh = {n.loop_var: Var(f"{n.loop_var.name}_init", n.loop_var.dtype) for n in kept}
    first = {loop.loop_var: loop.min for loop in loops if loop.loop_var not in fresh}
    analyzer = Analyzer()
    axes = {axis.var: Var(axis.var.name, axis.var.dtype) for axis, _ in spatial}
    values: dict[Var, PrimExpr] = {**axes, **fresh, **first}  # the block may use the loops without axes for them
    predicate: PrimExpr = const(True, "bool")
    for condition in conjuncts(substitute(realize.predicate, first)):
        if not analyzer.can_prove(condition):
            predicate = conjunction(predicate, substitute(condition, fresh))
    assert block.init is not None
    with derived_from(current_span() | block.span):
        begin = Block(
            tuple([IterVar(axis.dom, axes[axis.var], axis.iter_type) for axis, _ in spatial]),
            (),
            substitute(block.writes, values),
            f"{block.name_hint}_init",
            substitute(block.init, values),
            annotations=block.annotations,
        )
        stmt: Stmt = BlockRealize(tuple([substitute(value, fresh) for _, value in spatial]), predicate, begin)
        for loop in reversed(kept):
            stmt = loop_again("decompose_reduction", loop, fresh[loop.loop_var], stmt)
    return stmt


class _Update(BlockMutator):
    """Takes the initial values away from a block, which then reads what it writes."""

    def __init__(self, block: Block) -> None:
        BlockMutator.__init__(self)
        self._block = block

    def rewrite_block(self, n: Block) -> Block:
        if n is not self._block:
            return n
        read = {region.buffer for region in n.reads}
        own = tuple([region for region in n.writes if region.buffer not in read])
        return rebuild(n, init=None, name_hint=f"{n.name_hint}_update", reads=(*own, *n.reads))
