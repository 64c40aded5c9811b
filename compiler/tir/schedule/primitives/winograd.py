"""``winograd``: computes a convolution by fewer products, on transformed tiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from compiler.arith.minimal_filtering import Matrix, combination, transform_arrays
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import Add, IntImm, IterVar, PrimExpr, Var, const
from compiler.tir.expressions.op import all as all_of
from compiler.tir.expressions.op import if_then_else
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.roles import BLOCK
from compiler.tir.schedule.primitives.fewer_products import (
    Indices,
    Stages,
    extents_of,
    factors_of,
    region,
    replace_products,
)
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.stmt import LetStmt, SeqStmt, Stmt

_MAX_POINTS = 8
"""Of more points rounding errors are large."""


@primitive("Winograd", block=BLOCK)
def winograd(state: ScheduleState, block: StmtSRef, tile_size: int = 4) -> None:
    """Compute a convolution by Winograd's minimal filtering, of tiles of ``tile_size`` times as many results.

    The values of the data's tiles and of the weight, as polynomials, at some points are multiplied, instead of their
    elements: for tiles of 4 x 4 and windows of 3 x 3, 36 products instead of 144.  Results are rounded otherwise, and
    infinities make NaNs::

                                         data: the elements of each tile, channels last, and zeros beyond the edge
                                         C_data: their values at the points
        C[o, h, w] +=               →    C_weight: those of the weight
            D[c, h + i, w + j]           C_points[p, t, o] += C_data[p, t, c] * C_weight[p, c, o]
            * W[o, c, i, j]              C_tiles: the results of each tile, from their values
                                         C[o, h, w] = C_tiles[h, w, o]

    The block, which is that of the products then, is expected to add products of float32 or float64 up, from zero,
    with steps and dilations of 1 along two dimensions of square windows; any other index is an axis.  Raises
    ScheduleError if it is another one, and ArgumentError if there are too few or too many points.
    """

    def made() -> Stages:
        convolution = _convolution(block.block)
        if convolution is None:
            refuse(
                "The block {0} must add up products of elements D[…, h + i, …, w + j, …] and W[…, i, …, j, …] of "
                "float32 or float64, over square windows of constant extents",
                block,
            )
        points = tile_size + convolution.window - 1
        if tile_size < 2 or points > _MAX_POINTS:
            most = _MAX_POINTS - convolution.window + 1
            raise ArgumentError(f"winograd: tile_size must be from 2 to {most}, got {show(tile_size)}")
        return _Tiles(convolution, tile_size, block.block)

    replace_products(state, block, "winograd", made)


def is_winograd_possible(block: Block) -> bool:
    """Return whether the primitive takes a block, for what is inside of it."""
    return _convolution(block) is not None


# what is a convolution


@dataclass(frozen=True)
class _Convolution:
    """A sum of products ``data[…, h + i, …, w + j, …] * weight[…]`` over the taps and channels.

    ``images`` are the spatial axes of the data but for ``h`` and ``w``, some of which may be of the weight, too;
    ``kernels`` are those of the weight alone, and ``channels`` the axes that are reduced but for the ``taps``.
    """

    out: BufferStore
    data: BufferLoad
    weight: BufferLoad
    place: tuple[Var, Var]
    taps: tuple[Var, Var]
    images: list[Var]
    kernels: list[Var]
    channels: list[Var]
    extents: dict[Var, int]

    @property
    def window(self) -> int:
        """The elements along each dimension of a window."""
        return self.extents[self.taps[0]]

    def moved(self, index: PrimExpr, axes: Mapping[Var, PrimExpr]) -> PrimExpr:
        """Return an index with others in place of the axes; taps are left out."""
        parts = (index.a, index.b) if isinstance(index, Add) else (index,)
        return next((axes[part] for part in parts if isinstance(part, Var) and part in axes), index)


def _convolution(block: Block) -> _Convolution | None:
    extents, out, factors = extents_of(block), block.body, factors_of(block)
    if extents is None or factors is None or not isinstance(out, BufferStore):
        return None
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type == IterVar.CommReduce}
    for data, weight in (factors, factors[::-1]):
        found = _of_windows(out, data, weight, extents, reduced)
        if found is not None:
            return found
    return None


def _of_windows(
    out: BufferStore, data: BufferLoad, weight: BufferLoad, extents: dict[Var, int], reduced: set[Var]
) -> _Convolution | None:
    moved = [_moved(index, reduced) for index in data.indices if not isinstance(index, (Var, IntImm))]
    (h, i), (w, j) = moved if len(moved) == 2 else [(None, None)] * 2
    if h is None or w is None or i is None or j is None or not 1 < extents[i] == extents[j]:
        return None
    plain = [index for index in data.indices if isinstance(index, Var)]
    spatial = [axis for axis in extents if axis not in reduced]
    images = [axis for axis in spatial if axis in plain]
    channels = [axis for axis in extents if axis in reduced - {i, j}]
    kernels = [axis for axis in spatial if axis not in (h, w, *images)]
    of_weight = [axis for axis in images if axis in weight.indices]
    same = (
        (plain, [*images, *channels]), (weight.indices, [i, j, *of_weight, *kernels, *channels]),
        (out.indices, [h, w, *images, *kernels]),
    )  # fmt: skip
    if not channels or any(len(indices) != len(axes) or set(indices) != set(axes) for indices, axes in same):
        return None
    return _Convolution(out, data, weight, (h, w), (i, j), images, kernels, channels, extents)


def _moved(index: PrimExpr, reduced: set[Var]) -> tuple[Var | None, Var | None]:
    """Return the axis of the place and that of the tap of an index ``place + tap``."""
    if isinstance(index, Add):
        for place, tap in ((index.a, index.b), (index.b, index.a)):
            if isinstance(place, Var) and isinstance(tap, Var) and tap in reduced and place not in reduced:
                return place, tap
    return None, None


# what takes its place

Element: TypeAlias = Callable[[int, int], Indices]
"""The indices of one of the elements of a tile, a window, or their values at the points, by its row and column."""


class _Tiles(Stages):
    """The blocks that compute a convolution on transformed tiles."""

    def __init__(self, c: _Convolution, tile: int, block: Block) -> None:
        super().__init__(block, c.out.buffer)
        self._c, self._tile = c, tile
        self._points = tile + c.window - 1
        self._tiles = [-(-c.extents[axis] // tile) for axis in c.place]
        self._shared = [axis for axis in c.images if axis in c.weight.indices]
        outputs, by_data, by_weight = transform_arrays(tile, c.window)
        data = self._values_of_data(self._elements(), by_data.T)
        self.products, values = self._multiplied(data, self._values_of_weight(by_weight))
        self._stored(self._results(values, outputs.T))

    def _elements(self) -> Buffer:
        """Copy the data, channels last, as far as the tiles reach: ``(*images, rows, columns, *channels)``."""
        c = self._c
        at = self._axes(c.images, c.place, c.channels)
        ends = {axis: c.extents[axis] + c.window - 1 for axis in c.place}
        reach = {axis: count * self._tile + c.window - 1 for axis, count in zip(c.place, self._tiles, strict=True)}
        sizes = c.extents | reach
        made = self.buffer("elements", [sizes[axis] for axis in at])
        indices = tuple([c.moved(index, at) for index in c.data.indices])
        value: PrimExpr = BufferLoad(c.data.buffer, indices)
        inside = [at[axis] < ends[axis] for axis in c.place if reach[axis] > ends[axis]]
        if inside:
            value = if_then_else(all_of(*inside), value, const(0, value.dtype))
        own: Indices = tuple(at.values())
        accesses = region(c.data.buffer, indices, indices), region(made, own, own)
        self.add(made.name, {at[axis]: sizes[axis] for axis in at}, BufferStore(made, value, own), *accesses)
        return made

    def _values_of_data(self, elements: Buffer, matrix: Matrix) -> Buffer:
        """Compute the values of the data's tiles: ``(points, *images, tiles, *channels)``."""
        c, tile = self._c, self._tile
        at = self._axes(c.images, c.place, c.channels)
        before, (y, x), after = ([at[axis] for axis in axes] for axes in (c.images, c.place, c.channels))
        made = self.buffer(
            "data", [self._points**2, *self._sizes(c.images), math.prod(self._tiles), *self._sizes(c.channels)]
        )
        return self._transformed(
            made, self._over_tiles(at), matrix, elements,
            lambda r, s: (*before, y * tile + r, x * tile + s, *after),
            lambda p, q: (self._point(p, q), *before, y * self._tiles[1] + x, *after),
        )  # fmt: skip

    def _values_of_weight(self, matrix: Matrix) -> Buffer:
        """Compute the values of the weight: ``(points, *shared, *channels, *kernels)``."""
        c = self._c
        at = self._axes(self._shared, c.channels, c.kernels)
        made = self.buffer("weight", [self._points**2, *self._sizes(at)])

        def element(i: int, j: int) -> Indices:
            own = at | dict(zip(c.taps, map(self.number, (i, j)), strict=True))
            return tuple([c.moved(index, own) for index in c.weight.indices])

        return self._transformed(
            made, {at[axis]: c.extents[axis] for axis in at}, matrix, c.weight.buffer, element,
            lambda p, q: (self._point(p, q), *at.values()),
        )  # fmt: skip

    def _multiplied(self, data: Buffer, weight: Buffer) -> tuple[Block, Buffer]:
        """Multiply values point by point: ``(points, *images, tiles, *kernels)``."""
        c = self._c
        at = self._axes(c.images, c.kernels, c.channels)
        point, tile = self.axis("p"), self.axis("t")
        before, kernels, channels = ([at[axis] for axis in axes] for axes in (c.images, c.kernels, c.channels))
        sizes = [self._points**2, *self._sizes(c.images), math.prod(self._tiles), *self._sizes(c.kernels)]
        made = self.buffer("points", sizes)
        x = BufferLoad(data, (point, *before, tile, *channels))
        w = BufferLoad(weight, (point, *(at[axis] for axis in self._shared), *channels, *kernels))
        sums = dict(zip(channels, self._sizes(c.channels), strict=True))
        spatial = dict(zip([point, *before, tile, *kernels], sizes, strict=True))
        return self.multiply(made, spatial, sums, x, w), made

    def _results(self, values: Buffer, matrix: Matrix) -> Buffer:
        """Compute the results of the tiles: ``(*images, rows, columns, *kernels)``."""
        c, tile = self._c, self._tile
        at = self._axes(c.images, c.place, c.kernels)
        before, (y, x), after = ([at[axis] for axis in axes] for axes in (c.images, c.place, c.kernels))
        made = self.buffer(
            "tiles", [*self._sizes(c.images), *(count * tile for count in self._tiles), *self._sizes(c.kernels)]
        )
        return self._transformed(
            made, self._over_tiles(at), matrix, values,
            lambda p, q: (self._point(p, q), *before, y * self._tiles[1] + x, *after),
            lambda a, b: (*before, y * tile + a, x * tile + b, *after),
        )  # fmt: skip

    def _stored(self, tiles: Buffer) -> None:
        """Copy the results to where they are expected."""
        c = self._c
        at = self._axes(index for index in c.out.indices if isinstance(index, Var))
        taken: Indices = tuple([at[axis] for axis in (*c.images, *c.place, *c.kernels)])
        own: Indices = tuple(at.values())
        body = BufferStore(c.out.buffer, BufferLoad(tiles, taken), own)
        accesses = region(tiles, taken, taken), region(c.out.buffer, own, own)
        self.add(f"{self.block.name_hint}_result", {at[axis]: c.extents[axis] for axis in at}, body, *accesses)

    # shared by them

    def _transformed(
        self, made: Buffer, over: Mapping[Var, int], matrix: Matrix, source: Buffer, taken: Element, put: Element
    ) -> Buffer:
        """Add a block that takes what is computed from elements by a matrix along rows and along columns."""
        outputs, inputs = matrix.shape
        rows: list[Stmt] = []
        for p in range(outputs):
            columns = [Var(f"column{s}", made.dtype) for s in range(inputs)]
            stores = [BufferStore(made, combination(columns, matrix[q]), put(p, q)) for q in range(outputs)]
            row: Stmt = SeqStmt(tuple(stores))
            for s, column in reversed([*enumerate(columns)]):
                elements = [BufferLoad(source, taken(r, s)) for r in range(inputs)]
                row = LetStmt(column, combination(elements, matrix[p]), row)
            rows.append(row)
        body = SeqStmt(tuple(rows))
        last = (inputs - 1,) * 2, (outputs - 1,) * 2
        accesses = region(source, taken(0, 0), taken(*last[0])), region(made, put(0, 0), put(*last[1]))
        self.add(made.name, over, body, *accesses)
        return made

    def _point(self, p: int, q: int) -> PrimExpr:
        return self.number(p * self._points + q)

    def _axes(self, *groups: Iterable[Var]) -> dict[Var, Var]:
        """Return new axes in place of those of the convolution."""
        return {axis: self.axis(axis.name) for group in groups for axis in group}

    def _sizes(self, axes: Iterable[Var]) -> list[int]:
        return [self._c.extents[axis] for axis in axes]

    def _over_tiles(self, at: Mapping[Var, Var]) -> dict[Var, int]:
        tiles = dict(zip(self._c.place, self._tiles, strict=True))
        return {var: tiles.get(axis, self._c.extents[axis]) for axis, var in at.items()}
