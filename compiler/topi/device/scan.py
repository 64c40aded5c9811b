"""Scans on devices: within a block of threads, then over the totals of the blocks.

References
----------
Hillis and Steele, "Data parallel algorithms", Communications of the ACM 29 (12), 1986: after step ``k`` each element is
combined with the ``2 ** k - 1`` before it.
Harris, Sengupta and Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, 2007: scans of any length by blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.compute import by_loops
from compiler.topi.device.rows import Launch, Rows, launched


def scanned(
    data: Tensor,
    axis: int,
    dtype: str,
    combine: Callable[[PrimExpr, PrimExpr], PrimExpr],
    first: PrimExpr | None,
    name: str,
) -> Tensor:
    """Return the combination of all elements up to each one along an axis, by kernels for a device.

    Extents are numbers, none of them zero.  ``combine``, which is associative, takes what was combined so far and an
    element; where elements themselves are left out, ``first`` is what stands first.
    """
    rows = Rows.of(data, axis)

    def loops(builder: IRBuilder, source: BufferVar, target: BufferVar) -> None:
        _Scan(builder, dtype, combine).emit(rows, source, target, first)

    return by_loops([data], [(rows.shape, dtype)], loops, name, name)[0]


@dataclass(frozen=True, slots=True)
class _Scan:
    """The kernels of one scan: what they are written with, and what elements are combined by."""

    builder: IRBuilder
    dtype: str
    combine: Callable[[PrimExpr, PrimExpr], PrimExpr]

    def emit(self, rows: Rows, source: BufferVar, target: BufferVar, first: PrimExpr | None) -> None:
        """Scan tiles of rows; where a row has several, scan their totals, and combine elements with those before."""
        if rows.tiles == 1:
            self._scan_tiles(rows, source, target, first, None)
            return
        of_tiles = Rows((rows.count, rows.tiles), 1)
        totals = self.builder.allocate(self.dtype, of_tiles.shape, "totals")
        self._scan_tiles(rows, source, target, first, totals)
        earlier = self.builder.allocate(self.dtype, of_tiles.shape, "earlier")
        self.emit(of_tiles, totals, earlier, None)
        self._combine_tiles(rows, earlier, target)

    def _scan_tiles(
        self, rows: Rows, source: BufferVar, target: BufferVar, first: PrimExpr | None, totals: BufferVar | None
    ) -> None:
        builder = self.builder
        with launched(builder, rows) as launch:
            # Two halves are read and written in turn, which saves a barrier a step.
            tile = builder.allocate(self.dtype, (2, launch.slots, rows.tile), "tile", "shared")
            tile[0, launch.slot, launch.thread] = tir.const(0, self.dtype)
            with builder.if_scope(launch.exists):
                element = source[rows.indices(launch.row, launch.place)]
                tile[0, launch.slot, launch.thread] = element.astype(self.dtype)
            half = self._doubled(launch, tile)
            with builder.if_scope(launch.exists):
                target[rows.indices(launch.row, launch.place)] = self._result(launch, tile, half, first)
            if totals is not None:
                with builder.if_scope(tir.all(launch.row < rows.count, launch.thread.equal(rows.tile - 1))):
                    totals[launch.row, launch.tile] = tile[half, launch.slot, launch.thread]

    def _doubled(self, launch: Launch, tile: BufferVar) -> int:
        """Combine each element with those before it in the tile; return the half that holds the result."""
        builder, slot, here = self.builder, launch.slot, launch.thread
        steps = launch.rows.tile.bit_length() - 1
        for step in range(steps):
            read, written, distance = step % 2, (step + 1) % 2, 1 << step
            with builder.if_scope(here >= distance):
                tile[written, slot, here] = self.combine(tile[read, slot, here - distance], tile[read, slot, here])
            with builder.else_scope():
                tile[written, slot, here] = tile[read, slot, here]
        return steps % 2

    def _result(self, launch: Launch, tile: BufferVar, half: int, first: PrimExpr | None) -> PrimExpr:
        slot, here = launch.slot, launch.thread
        if first is None:
            return tile[half, slot, here]
        return te.if_then_else(here.equal(0), first, tile[half, slot, te.max(here - 1, 0)])

    def _combine_tiles(self, rows: Rows, earlier: BufferVar, target: BufferVar) -> None:
        """Combine the elements of all tiles of a row but the first with what the tiles before have in all."""
        with launched(self.builder, rows) as launch, self.builder.if_scope(tir.all(launch.exists, launch.tile > 0)):
            at = rows.indices(launch.row, launch.place)
            target[at] = self.combine(earlier[launch.row, launch.tile - 1], target[at])
