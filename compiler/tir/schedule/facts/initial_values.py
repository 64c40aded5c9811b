"""Who gives the elements of a buffer their first values."""

from __future__ import annotations

from compiler.ir.expr.substitute import post_order_visit, substitute
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


def check_made(state: ScheduleState, block: StmtSRef, buffer: Buffer) -> None:
    """Reject a block that changes elements that others wrote outside of the scope, which a copy would lack."""
    accesses: list[Node] = []

    def collect(n: Node) -> None:
        if isinstance(n, (BufferLoad, BufferStore)) and n.buffer is buffer:
            accesses.append(n)

    post_order_visit(block.block, collect)
    begins = bool(accesses) and isinstance(accesses[0], BufferStore) and _happens_first(state, block, accesses[0])
    if accesses and any(isinstance(n, BufferLoad) for n in accesses) and not begins and block.block.init is None:
        refuse(
            state.mod,
            "The block reads what it writes before it writes it",
            f"Block {{0}} reads elements of {buffer.name} before it writes them, which the copy would lack",
            block.block,
        )
    check_whole_reduction(state, block)


def _happens_first(state: ScheduleState, block: StmtSRef, store: Node) -> bool:
    """Return whether a store is not in a branch, or in one that the first iteration within the scope takes."""
    branches: list[IfThenElse] = []

    def collect(n: Node) -> None:
        if isinstance(n, IfThenElse) and _contains(n, store):
            branches.append(n)

    post_order_visit(block.block.body, collect)
    first = {sref.loop.loop_var: sref.loop.min for sref in loops_above(block)}
    pairs = zip(block.block.iter_vars, state.realize_of(block).iter_values, strict=True)
    at = {axis.var: substitute(value, first) for axis, value in pairs}
    analyzer = facts_at(block)
    return all(_contains(n.then_case, store) and analyzer.can_prove(substitute(n.condition, at)) for n in branches)


def _contains(stmt: Node, node: Node) -> bool:
    found: list[Node] = []
    post_order_visit(stmt, lambda n: found.append(n) if n is node else None)
    return bool(found)


def stores(stmt: Stmt | None, buffer: Buffer) -> bool:
    """Return whether a statement stores to a buffer."""
    stored: list[Node] = []

    def collect(n: Node) -> None:
        if isinstance(n, BufferStore) and n.buffer is buffer:
            stored.append(n)

    if stmt is not None:
        post_order_visit(stmt, collect)
    return bool(stored)


def scatters(block: Block, buffer: Buffer) -> bool:
    """Return whether a block stores to elements of a buffer that depend on data: its signature names all of them."""
    loads: list[Node] = []

    def collect(n: Node) -> None:
        if isinstance(n, BufferStore) and n.buffer is buffer:
            for index in n.indices:
                post_order_visit(index, lambda inner: loads.append(inner) if isinstance(inner, BufferLoad) else None)

    post_order_visit(block, collect)
    return bool(loads)
