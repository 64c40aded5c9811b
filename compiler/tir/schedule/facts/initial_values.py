"""Who gives the elements of a buffer their first values."""

from __future__ import annotations

from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import nodes_of, post_order
from compiler.ir.node import Node
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import check_whole_reduction
from compiler.tir.schedule.facts.regions import facts_at
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import loops_above
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.stmt import IfThenElse, Stmt
from compiler.tir.statements.stmt_functor import statements_of


def check_made(state: ScheduleState, block: StmtSRef, buffer: Buffer) -> None:
    """Reject a block that changes elements that others wrote outside of the scope, which a copy would lack."""
    accesses = [n for n in nodes_of(block.block, BufferLoad, BufferStore) if n.buffer is buffer]
    begins = bool(accesses) and isinstance(accesses[0], BufferStore) and _happens_first(state, block, accesses[0])
    if accesses and any(isinstance(n, BufferLoad) for n in accesses) and not begins and block.block.init is None:
        refuse(f"Block {{0}} reads elements of {buffer.name} before it writes them, which the copy would lack", block)
    check_whole_reduction(state, block)


def _happens_first(state: ScheduleState, block: StmtSRef, store: Node) -> bool:
    """Return whether a store is not in a branch, or in one that the first iteration within the scope takes."""
    branches = [n for n in statements_of(block.block.body, IfThenElse) if _contains(n, store)]
    first = {sref.loop.loop_var: sref.loop.min for sref in loops_above(block)}
    pairs = zip(block.block.iter_vars, state.realize_of(block).iter_values, strict=True)
    at = {axis.var: substitute(value, first) for axis, value in pairs}
    analyzer = facts_at(block)
    return all(_contains(n.then_case, store) and analyzer.can_prove(substitute(n.condition, at)) for n in branches)


def _contains(stmt: Node, node: Node) -> bool:
    return any(n is node for n in post_order(stmt))


def stores(stmt: Stmt | None, buffer: Buffer) -> bool:
    """Return whether a statement stores to a buffer."""
    return stmt is not None and any(n.buffer is buffer for n in statements_of(stmt, BufferStore))


def scatters(block: Block, buffer: Buffer) -> bool:
    """Return whether a block stores to elements of a buffer that depend on data: its signature names all of them."""
    indices = tuple([n.indices for n in nodes_of(block, BufferStore) if n.buffer is buffer])
    return next(nodes_of(indices, BufferLoad), None) is not None
