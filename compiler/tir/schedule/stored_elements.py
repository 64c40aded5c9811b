"""Which elements of a buffer a block is sure to store, as its body says: a signature may state more."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.functor import Visitor
from compiler.ir.node import rebuild
from compiler.ir.primexpr import PrimExpr, Range, Var, const
from compiler.ir.substitute import substitute
from compiler.tir.block import BlockRealize
from compiler.tir.buffer import Buffer, BufferRegion, BufferStore
from compiler.tir.schedule.bindings import conjunction
from compiler.tir.schedule.regions import Box, axis_values, written_box
from compiler.tir.schedule.tree import loop_range
from compiler.tir.stmt import For

__all__ = ["stored_boxes"]


def stored_boxes(realize: BlockRealize, buffer: Buffer, loops: Mapping[Var, Range], analyzer: Analyzer) -> list[Box]:
    """Return boxes of elements that loops around a block are sure to store, were there no ``if`` in its body.

    Parameters
    ----------
    realize : BlockRealize
    buffer : Buffer
    loops : mapping of Var to Range
        Which loops run.
    analyzer : Analyzer

    Returns
    -------
    list of Box
        Those that the signature states, where the body stores by intrinsics or vectors, whose elements it does not
        tell.
    """
    stores = _Stores(buffer)
    stores.visit(realize.block.body)
    if stores.is_exact and stores.found:
        boxes = []
        for region, inner, predicate in stores.found:
            guarded = rebuild(realize, predicate=conjunction(realize.predicate, predicate))
            boxes.append(written_box(guarded, region, {**loops, **inner}, analyzer))
    else:
        stated = [region for region in realize.block.writes if region.buffer is buffer]
        boxes = [written_box(realize, region, loops, analyzer) for region in stated]
    return [box for box in boxes if box is not None]


class _Stores(Visitor):
    """Finds the stores to a buffer below a block, in terms of the block's axes and of the loops in it."""

    def __init__(self, buffer: Buffer) -> None:
        self.found: list[tuple[BufferRegion, dict[Var, Range], PrimExpr]] = []
        self.is_exact = True
        self._buffer = buffer
        self._axes: dict[Var, PrimExpr] = {}
        self._loops: dict[Var, Range] = {}
        self._predicate: PrimExpr = const(True, "bool")

    def visit_For(self, n: For) -> None:
        self._loops[n.loop_var] = substitute(loop_range(n), self._axes)
        self.visit(n.body)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        around = self._predicate
        self._axes.update(substitute(axis_values(n), self._axes))
        self._predicate = conjunction(around, substitute(n.predicate, self._axes))
        self.visit(n.block.body)
        self._predicate = around

    def visit_BufferStore(self, n: BufferStore) -> None:
        if n.buffer is not self._buffer:
            return
        indices = substitute(n.indices, self._axes)
        self.is_exact = self.is_exact and all(dt.lanes(index.dtype) == 1 for index in indices)
        point = BufferRegion(n.buffer, tuple([Range.from_fields(index, const(1, index.dtype)) for index in indices]))
        self.found.append((point, dict(self._loops), self._predicate))
