"""An access in a kernel: its addresses for any block, warp and iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.ir.expr.primexpr import PrimExpr, Ramp, Var
from compiler.tir.expressions.evaluation import Array
from compiler.tir.statements.stmt import LetStmt
from compiler.tir.warp_access.index_values import IndexValues
from compiler.tir.warp_access.transactions import Addresses

WARP = 32

Axis = tuple[Var, int]
"""A loop that starts at 0, and how often it runs."""


@dataclass(frozen=True, slots=True)
class StmtContext:
    """What stands around a statement of a kernel."""

    blocks: tuple[Axis, ...]
    threads: tuple[Axis, ...]
    loops: tuple[Axis, ...] = ()  # loops of each thread, outermost first
    lets: tuple[LetStmt, ...] = ()
    conditions: tuple[tuple[PrimExpr, bool], ...] = ()  # conditions, and what they must be for a thread to come here

    @property
    def thread_count(self) -> int:
        """Threads of a block."""
        return prod(extent for _, extent in self.threads)

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.thread_count // WARP)

    @property
    def extents(self) -> list[int]:
        """Of the places: those of the blocks, the warps, those of the loops."""
        return [*(extent for _, extent in self.blocks), self.warps, *(extent for _, extent in self.loops)]

    def lanes(self, places: Sequence[Array]) -> Lanes:
        """Return the values of all variables, and the lanes that come here.

        ``places`` has an array of shape (places,) for each of ``extents``.
        """
        before = len(self.blocks)
        position = places[before][:, None] * WARP + np.arange(WARP)
        outer = [*places[:before], *places[before + 1 :]]
        values = {var: at[:, None] for (var, _), at in zip((*self.blocks, *self.loops), outer, strict=True)}
        inner = 1
        for var, extent in self.threads:
            values[var] = position // inner % extent
            inner *= extent
        active = position < self.thread_count
        evaluate = IndexValues(values)
        for let in self.lets:
            values[let.var] = evaluate.visit(let.value)
        for condition, holds in self.conditions:
            active = active & (np.asarray(evaluate.visit(condition), bool) == holds)
        return Lanes(values, np.broadcast_to(active, position.shape))


@dataclass(frozen=True, slots=True)
class Lanes:
    """The values of variables at some places, and which lanes are busy there: shape (places, lanes)."""

    values: dict[Var, Array]
    active: Array


@dataclass(frozen=True, slots=True)
class AccessSite:
    """An access, and what stands around it."""

    surroundings: StmtContext
    index: PrimExpr  # into the flat buffer; of a vector, that of its elements
    element: int

    def addresses(self, places: Sequence[Array]) -> Addresses:
        """Return the bytes that the lanes access at some places, -1 for idle lanes."""
        lanes = self.surroundings.lanes(places)
        base = self.index.base if isinstance(self.index, Ramp) else self.index
        values = np.broadcast_to(IndexValues(lanes.values).visit(base), lanes.active.shape)
        return np.where(lanes.active, values * self.element, -1).astype("int64")
