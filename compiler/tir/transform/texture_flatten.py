"""Flattens textures: two-dimensional memory of short vectors."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import LoweringError
from compiler.ir.module import IRModule
from compiler.ir.primexpr import Call, PrimExpr, StringImm, Var, const, is_const_int
from compiler.ir.transform import PassContext
from compiler.ir.types import PointerType, PrimType
from compiler.tir.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.builtin import STACK_MAKE_SHAPE
from compiler.tir.device_ops import ND_MEM_ALLOC_WITH_SCOPE, TEXTURE_LOAD, TEXTURE_STORE
from compiler.tir.function import PrimFunc
from compiler.tir.producer_stmt import BufferRealize
from compiler.tir.stmt import Evaluate, LetStmt, Stmt
from compiler.tir.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import PrimFuncPass

__all__ = ["TextureFlatten"]

_TEXTURE = "texture"
_CHANNELS = (1, 4)
"""How many numbers an element of a texture has."""


class TextureFlatten(PrimFuncPass):
    """Lay buffers in texture memory out in two dimensions of vectors of four numbers.

    Their scopes are ``global.texture``, ``global.texture-nhwc`` and ``global.texture-weight``.
    The last dimension of a buffer is the vector; of the others, the first ones are the row of the texture and the rest
    the column.  All but one are the row of ``texture``, the first alone that of ``texture-weight``, and half of them
    that of ``texture-nhwc``, at the least one::

        T.realize(B[0:6, 0:8, 0:4], "global.texture")     B = T.nd_mem_alloc_with_scope(
                                                              "global.texture", 2, T.tvm_stack_make_shape(8, 6))
        B[y, x, c] = A[y, x, c]                      →    T.texture2d_store(B, x, y, A[y, x, c])
        C[y, x, c] = B[y, x, c] + 1.0                     C[y, x, c] = T.texture2d_load(B, x, y, c) + 1.0

    Parameters of such a scope are read and written through their pointers. Raises LoweringError if such a buffer has
    fewer than three dimensions, or the last one is not of one or four elements.
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        return func.with_body(_Flatten(set(func.buffer_map.values())).visit(func.body))


class _Flatten(StmtExprMutator):
    def __init__(self, parameters: set[Buffer]) -> None:
        self._parameters = parameters
        self._pointers: dict[Var, Var] = {}
        self._analyzer = Analyzer()

    def visit_BufferRealize(self, n: BufferRealize) -> Stmt:
        if n.buffer in self._parameters:
            return self.visit(n.body)
        if not _is_texture(n.buffer):
            return self.visit_Node(n)
        extents = tuple([bound.extent for bound in n.bounds])
        _check_shape(n.buffer, extents)
        scope, rows = n.buffer.scope(), _row_dimensions(n.buffer)
        height, width = self._product(extents[:rows]), self._product(extents[rows:-1])
        pointer = Var(n.buffer.data.name, "handle", PointerType(PrimType(n.buffer.dtype), scope))
        self._pointers[n.buffer.data] = pointer
        shape = Call("handle", STACK_MAKE_SHAPE, (width, height))
        memory = Call("handle", ND_MEM_ALLOC_WITH_SCOPE, (StringImm(scope), const(2, "int64"), shape))
        return LetStmt(pointer, memory, self.visit(n.body))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        if not _is_texture(n.buffer):
            return self.visit_Node(n)
        return Evaluate(Call("handle", TEXTURE_STORE, (*self._place(n), self.visit(n.value))))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        if not _is_texture(n.buffer):
            return self.visit_Node(n)
        return Call(n.buffer.dtype, TEXTURE_LOAD, (*self._place(n), self.visit(n.indices[-1])))

    def _place(self, n: BufferLoad | BufferStore) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
        """Return the pointer to the texture, the column and the row of an access."""
        indices, rows = self._visit_tuple(n.indices), _row_dimensions(n.buffer)
        row = self._offset(n.buffer.shape[:rows], indices[:rows])
        column = self._offset(n.buffer.shape[rows:-1], indices[rows:-1])
        return self._pointers.get(n.buffer.data, n.buffer.data), column, row

    def _offset(self, shape: Sequence[PrimExpr], indices: Sequence[PrimExpr]) -> PrimExpr:
        offset: PrimExpr = const(0, "int32")
        for dim, index in zip(shape, indices, strict=True):
            offset = self._analyzer.simplify(offset * dim + index)
        return offset

    def _product(self, extents: Sequence[PrimExpr]) -> PrimExpr:
        product: PrimExpr = const(1, "int32")
        for extent in extents:
            product = self._analyzer.simplify(product * extent)
        return product


def _is_texture(buffer: Buffer) -> bool:
    return _TEXTURE in buffer.scope()


def _row_dimensions(buffer: Buffer) -> int:
    """Return how many dimensions of a buffer, counted from the first one, are the rows of its texture."""
    rank, convention = len(buffer.shape), buffer.scope().partition("-")[2]
    if convention == "weight":
        return 1
    return max(1, rank // 2) if convention == "nhwc" else rank - 2


def _check_shape(buffer: Buffer, extents: Sequence[PrimExpr]) -> None:
    place = f"TextureFlatten: the {buffer.scope()} buffer {buffer.name!r}"
    if len(extents) < 3:
        raise LoweringError(f"{place} must have at least three dimensions, got {len(extents)}")
    if not any(is_const_int(extents[-1], channels) for channels in _CHANNELS):
        raise LoweringError(f"{place} must have a last dimension of 1 or 4 elements (RGBA), got {extents[-1]}")
