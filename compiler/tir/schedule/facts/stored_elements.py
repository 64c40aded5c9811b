"""Which elements of a buffer a block is sure to store, as its body says: a signature may state more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Not, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import Visitor
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.regions import Box, axis_values, written_box
from compiler.tir.schedule.tree import loop_range
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferRegion, BufferStore
from compiler.tir.statements.stmt import For, IfThenElse, Stmt


class _Store(NamedTuple):
    """A store to one element: the loops inside of the block, the condition, and whether an ``if`` is part of that."""

    region: BufferRegion
    loops: dict[Var, Range]
    predicate: PrimExpr
    in_branch: bool


def stored_boxes(realize: BlockRealize, buffer: Buffer, loops: Mapping[Var, Range], analyzer: Analyzer) -> list[Box]:
    """Return boxes of elements that loops around a block are sure to store.

    Where the body stores by intrinsics or vectors, whose elements it does not tell, they are those that the signature
    states.
    """
    stores = _stores_of(realize.block, buffer)
    if stores.is_exact and stores.found:
        boxes = []
        for store in stores.found:
            condition = substitute(store.predicate, axis_values(realize))
            guarded = rebuild(realize, predicate=conjunction(realize.predicate, condition))
            inner = {var: substitute(bounds, axis_values(realize)) for var, bounds in store.loops.items()}
            running = {**loops, **inner}
            outside = (part for part in conjuncts(condition) if not uses_var(part, running.__contains__))
            if all(analyzer.can_prove(part) for part in outside):
                boxes.append(written_box(guarded, store.region, running, analyzer))
    else:
        stated = [region for region in realize.block.writes if region.buffer is buffer]
        boxes = [written_box(realize, region, loops, analyzer) for region in stated]
    return [box for box in boxes if box is not None]


def stores_conditionally(block: Block, buffer: Buffer) -> bool:
    """Return whether each store of a block to a buffer is in one branch of an ``if`` only."""
    stores = _stores_of(block, buffer).found
    return bool(stores) and all(store.in_branch for store in stores)


def _stores_of(block: Block, buffer: Buffer) -> _Stores:
    stores = _Stores(buffer)
    stores.visit_block(block)
    return stores


class _Stores(Visitor):
    """Finds the stores to a buffer below a block, in terms of the block's axes and of the loops in it."""

    def __init__(self, buffer: Buffer) -> None:
        self.found: list[_Store] = []
        self.is_exact = True
        self._buffer = buffer
        self._axes: dict[Var, PrimExpr] = {}
        self._loops: dict[Var, Range] = {}
        self._predicate: PrimExpr = const(True, "bool")
        self._in_branch = False

    def visit_block(self, block: Block) -> None:
        """Find the stores of a block, those of its initial values first."""
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)

    def visit_For(self, n: For) -> None:
        self._loops[n.loop_var] = substitute(loop_range(n), self._axes)
        self.visit(n.body)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        around = self._predicate
        self._axes.update(substitute(axis_values(n), self._axes))
        self._predicate = conjunction(around, substitute(n.predicate, self._axes))
        self.visit_block(n.block)
        self._predicate = around

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        condition = substitute(n.condition, self._axes)
        then, then_always = self._under(condition, n.then_case)
        other, other_always = ([], []) if n.else_case is None else self._under(Not(condition), n.else_case)
        self.found += then + other
        # What both branches store is stored whatever the condition.
        self.found += [
            store._replace(predicate=self._predicate, in_branch=self._in_branch)
            for store in then_always
            if any(structural_equal(store.region, stored.region) for stored in other_always)
        ]

    def _under(self, condition: PrimExpr, branch: Stmt) -> tuple[list[_Store], list[_Store]]:
        """Return the stores of a branch, and those of them that are under no other condition in it."""
        outside = self.found, self._predicate, self._in_branch
        self.found, self._predicate, self._in_branch = [], conjunction(self._predicate, condition), True
        self.visit(branch)
        within, always = self.found, [store for store in self.found if store.predicate is self._predicate]
        self.found, self._predicate, self._in_branch = outside
        return within, always

    def visit_BufferStore(self, n: BufferStore) -> None:
        if n.buffer is not self._buffer:
            return
        indices = substitute(n.indices, self._axes)
        self.is_exact = self.is_exact and all(dt.lanes(index.dtype) == 1 for index in indices)
        point = BufferRegion.from_point(n.buffer, indices)
        self.found.append(_Store(point, dict(self._loops), self._predicate, self._in_branch))
