"""Lays out the operands of matrix instructions in the registers of each thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, const
from compiler.ir.node import rebuild
from compiler.ir.origin import user_place
from compiler.tir.expressions.arithmetic import floordiv, floormod
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtExprMutator, statements_of
from compiler.tir.transform.pass_base import FunctionRewrite

Indices = tuple[PrimExpr, ...]


class _Layout(NamedTuple):
    """How a matrix is spread over the registers of a warp."""

    tile: tuple[int, int]  # the rows and columns that one or several instructions work on
    registers: tuple[int, int]  # what each thread has of a tile
    # where an element is in its thread; None for matrices that instructions alone access
    place: Callable[[PrimExpr, PrimExpr], Indices] | None = None


def _accumulator(row: PrimExpr, column: PrimExpr) -> Indices:
    within = floormod(row, const(16))
    return (
        floordiv(row, const(16)),
        floordiv(column, const(8)),
        floordiv(within, const(8)),
        floormod(column, const(2)),
    )


_LAYOUTS: Mapping[str, _Layout] = {
    "m16n8k8.matrixA": _Layout((32, 8), (4, 2)),
    "m16n8k8.matrixB": _Layout((8, 32), (1, 8)),
    "m16n8k8.matrixC": _Layout((16, 8), (2, 2), _accumulator),
}
"""By storage scope."""


class TransformMmaBufferLayout(FunctionRewrite):
    """Let matrices of ``m16n8k8`` instructions be the registers of a thread.

    For example::

        C = T.alloc_buffer((32, 16), scope="m16n8k8.matrixC")     C = T.alloc_buffer((2, 2, 2, 2), scope="local")
        C[i, j] = 0.0                                          →  C[i // 16, j // 8, i % 16 // 8, j % 2] = 0.0

    An accumulator of 16 x 8 elements has two neighbours in each of two rows in a thread.  The operands
    ``m16n8k8.matrixA`` and ``matrixB`` are loaded and multiplied by instructions, which take their memory as it is.
    Raises LoweringError if the shape of such a matrix is not a multiple of its tile, or an element of an operand is
    accessed by its index.

    References
    ----------
    Parallel Thread Execution ISA, "Matrix Fragments for mma.m16n8k8".
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if not any(b.scope() in _LAYOUTS for block in statements_of(func.body, Block) for b in block.alloc_buffers):
            return func
        return func.with_body(_Transform().visit(func.body))


class _Transform(StmtExprMutator):
    def __init__(self) -> None:
        self._buffers: dict[Buffer, tuple[Buffer, _Layout]] = {}
        self._data: dict[Var, Var] = {}

    def visit_Block(self, n: Block) -> Block:
        buffers = tuple(map(self._registers, n.alloc_buffers))
        init = None if n.init is None else self.visit(n.init)
        return rebuild(n, init=init, body=self.visit(n.body), alloc_buffers=buffers)

    def _registers(self, buffer: Buffer) -> Buffer:
        """Return the registers that a buffer is, the buffer itself for all other memory."""
        layout = _LAYOUTS.get(buffer.scope())
        if layout is None:
            return buffer
        tiles = _tiles(buffer, layout.tile)
        registers = decl_buffer([*tiles, *layout.registers], buffer.dtype, buffer.name, scope="local")
        self._buffers[buffer] = registers, layout
        self._data[buffer.data] = registers.data
        return registers

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._data.get(n, n)

    def _moved(self, n: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        access = self.visit_Node(n)
        buffer, indices = self._place(access)
        return rebuild(access, buffer=buffer, indices=indices)

    visit_BufferLoad = visit_BufferStore = _moved

    def _place(self, access: BufferLoad | BufferStore) -> tuple[Buffer, Indices]:
        registers, layout = self._buffers.get(access.buffer, (access.buffer, None))
        if layout is None:
            return access.buffer, access.indices
        if layout.place is None:
            raise LoweringError(
                f"TransformMmaBufferLayout: {access.buffer.name}, which is in {access.buffer.scope()}, may only"
                f" be accessed by instructions, not by index{user_place(access.span)}"
            )
        row, column = access.indices
        return registers, layout.place(row, column)


def _tiles(buffer: Buffer, tile: tuple[int, int]) -> list[int]:
    extents = [dim.value for dim in buffer.shape if isinstance(dim, IntImm)]
    if len(buffer.shape) != 2 or len(extents) != 2 or any(map(int.__mod__, extents, tile)):
        raise LoweringError(
            f"TransformMmaBufferLayout: expected the shape of {buffer.name}, which is in {buffer.scope()}, to be a "
            f"multiple of {tile[0]} x {tile[1]}, got {' x '.join(map(str, buffer.shape))}"
        )
    return [extent // part for extent, part in zip(extents, tile, strict=True)]
