"""Copies between memory and tensor-core fragments, a tile at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.arith import Analyzer
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IntImm, IterVar, PrimExpr, Range, StringImm, Var, const, is_const_int
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.tir.expressions.arithmetic import floordiv, floormod
from compiler.tir.expressions.builtin import tvm_access_ptr
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import AttrStmt, Evaluate, For, ForKind, Stmt

_LOAD, _STORE = Op.get("tir.tvm_load_matrix_sync"), Op.get("tir.tvm_store_matrix_sync")
_WMMA = "wmma."
_MMA_RESULT = "m16n8k8.matrixC"
_WARP = 32
_READ, _WRITE = 1, 2
"""How an address is accessed, as bits."""
_MMA_LANES = 2
"""How many neighbouring elements of a row a thread holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """An element of a buffer."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]


@dataclass(frozen=True, slots=True)
class Tiles:
    """The loops of a copy, by tiles."""

    around: tuple[For, ...]  # the loops outside of those over the rows and columns of a matrix
    row: For
    column: For
    row_tile: Var
    column_tile: Var
    size: int

    def within(self, row: PrimExpr | int = 0, column: PrimExpr | int = 0) -> dict[Var, PrimExpr]:
        """Return the values of the loops at a row and a column of a tile."""
        return {
            self.row.loop_var: self.row_tile * self.size + row,
            self.column.loop_var: self.column_tile * self.size + column,
        }

    def tile_loop(self, of: Var, body: Stmt) -> For:
        """Return the loop over the tiles that ``row_tile`` or ``column_tile`` counts."""
        loop = self.row if of is self.row_tile else self.column
        return For(of, const(0, of.dtype), self.count(loop), ForKind.SERIAL, body)

    def count(self, loop: For) -> PrimExpr:
        """Return how many tiles a loop over elements goes through."""
        return Analyzer().simplify(floordiv(loop.extent, const(self.size, loop.extent.dtype)))


def is_fragment(buffer: Buffer) -> bool:
    """Return whether a buffer is fragments of matrices, in the registers of a warp."""
    return buffer.scope().startswith(_WMMA) or buffer.scope() == _MMA_RESULT


def tiles_of(loops: Sequence[For], fragment: Buffer, places: Sequence[Place], copy: Stmt) -> Tiles:
    """Return the loops of a copy from or to fragments by tiles.

    The last two loops are over rows and columns, which the last two indices of what is copied follow; the scope of the
    fragment says how large tiles are. Raises LoweringError if a tile does not fit the loops or the indices.
    """
    size = 16 if fragment.scope().startswith(_WMMA) else 8
    where = f"LowerAutoCopy: {fragment.scope()} {fragment.name!r}"
    if len(loops) < 2:
        raise LoweringError(f"{where} must be copied in loops over rows and columns{user_place(copy.span)}")
    *around, row, column = loops
    for loop in (row, column):
        if not isinstance(loop.extent, IntImm) or loop.extent.value % size:
            raise LoweringError(
                f"{where} is copied in tiles of {size} x {size}: the extent of loop {loop.loop_var.name!r} must be a "
                f"multiple of {size}, got {loop.extent}{user_place(copy.span)}"
            )
    variables = [row.loop_var, column.loop_var]
    for place in places:
        steps = [detect_linear_equation(index, variables)[:2] for index in place.indices[-2:]]
        if not (_are(steps[0], 1, 0) and _are(steps[1], 0, 1)):
            raise LoweringError(
                f"{where}: the last two indices of {place.buffer.name!r} must go through rows and columns, got "
                f"[{', '.join(map(str, place.indices))}]{user_place(copy.span)}"
            )
    row_tile, column_tile = (Var(f"{loop.loop_var.name}_0", loop.loop_var.dtype) for loop in (row, column))
    return Tiles(tuple(around), row, column, row_tile, column_tile, size)


def _are(steps: Sequence[PrimExpr], *numbers: int) -> bool:
    return len(steps) == len(numbers) and all(map(is_const_int, steps, numbers))


def copy_tile(tiles: Tiles, source: Place, target: Place) -> BlockRealize:
    """Return a block that copies a tile from or to a fragment, by an instruction of tensor cores."""
    size = tiles.size
    src, tgt = _tile("src", source, size), _tile("tgt", target, size)
    if is_fragment(target.buffer):
        name, body = "wmma_load", _wmma_load(tgt.buffer, src.buffer, size)
    elif source.buffer.scope() == _MMA_RESULT:
        name, body = "mma_store", _mma_store(tgt.buffer, src.buffer)
    else:
        name, body = "wmma_store", _wmma(_STORE, src.buffer, tgt.buffer, size, _WRITE, "row_major")
    block = Block((), (src.source,), (tgt.source,), name, body, match_buffers=(src, tgt))
    return BlockRealize((), const(True), block)


def _tile(name: str, place: Place, size: int) -> MatchBufferRegion:
    dtype = place.indices[-1].dtype
    ones = [const(1, dtype)] * (len(place.indices) - 2) + [const(size, dtype)] * 2
    region = tuple(map(Range.from_fields, place.indices, ones))
    strides = () if is_fragment(place.buffer) else (Var("s1", dtype), Var("s0", dtype))
    scope, element = place.buffer.scope(), place.buffer.dtype
    buffer = decl_buffer((size, size), element, name, strides=strides, scope=scope, offset_factor=size)
    return MatchBufferRegion(buffer, BufferRegion(place.buffer, region))


def _wmma_load(fragment: Buffer, memory: Buffer, size: int) -> Stmt:
    layout = "col_major" if fragment.scope().endswith("matrix_b") else "row_major"
    return _wmma(_LOAD, fragment, memory, size, _READ, layout)


def _wmma(op: Op, fragment: Buffer, memory: Buffer, size: int, access: int, layout: str) -> Stmt:
    row = memory.strides[0]
    address = tvm_access_ptr(memory.dtype, memory.data, memory.elem_offset, row * size, access)
    extents = [const(size)] * 3
    args = (fragment.data, *extents, _number(fragment, size), address, row, StringImm(layout))
    return Evaluate(Call("handle", op, args))


def _mma_store(memory: Buffer, fragment: Buffer) -> Stmt:
    """Return the stores of a warp's threads, each of neighbouring elements of a row."""
    thread, lane = Var("tx", "int32"), Var("vec", "int32")
    element = (floordiv(thread, const(4)), floormod(thread, const(4)) * _MMA_LANES + lane)
    store = BufferStore(memory, BufferLoad(fragment, element), element)
    body = For(lane, const(0), const(_MMA_LANES), ForKind.VECTORIZED, store)
    axis = IterVar(Range.from_min_extent(0, _WARP), thread, IterVar.ThreadIndex, "threadIdx.x")
    return AttrStmt(axis, "thread_extent", const(_WARP), body)


def _number(fragment: Buffer, size: int) -> PrimExpr:
    offset, tile = fragment.elem_offset, const(size * size, fragment.elem_offset.dtype)
    return floordiv(offset, tile) + floordiv(floormod(offset, tile), const(size, offset.dtype))
