"""Flattening the buffers of loop IR that allocates its memory already."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.primexpr import PrimExpr, Range, Var, const
from compiler.ir.transform import PassContext
from compiler.tir.block import Block
from compiler.tir.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import Allocate, AttrStmt, BufferStore, DeclBuffer, Stmt
from compiler.tir.stmt_functor import StmtExprMutator
from compiler.tir.transform.flat_memory import FlatMemory, storage_dtype
from compiler.tir.transform.pass_base import PrimFuncPass


class FlattenBuffer(PrimFuncPass):
    """Give multi-dimensional buffers one dimension, where memory is allocated already.

    The counterpart of ``StorageFlatten`` for programs that were not made from a schedule::

        B = T.allocate([4, 8], "float32")        B = T.allocate([32], "float32")
        B_1 = T.Buffer((4, 8), data=B)      →    B_1 = T.Buffer((32,), data=B)
        B_1[i, j] = 0.0                          B_1[i * 8 + j] = 0.0

    The buffers that blocks allocate, read and write become flat with the accesses.

    Parameters
    ----------
    keep_axis_separators : bool
        Whether a buffer keeps a dimension for each group of dimensions between its axis separators, for memory that
        has several; without that every buffer becomes one row of elements.
    """

    keep_axis_separators: bool = True

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if func.is_from_schedule:
            return func
        memory = _GroupedMemory(Analyzer()) if self.keep_axis_separators else FlatMemory(Analyzer())
        return func.with_body(_Flatten(memory).visit(func.body))


class _GroupedMemory(FlatMemory):
    """Lays out buffers with axis separators with one dimension for each group of dimensions."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__(analyzer)
        self._grouped: dict[Buffer, Buffer] = {}

    def flat(self, buffer: Buffer) -> Buffer:
        if not buffer.axis_separators:
            return super().flat(buffer)
        if buffer not in self._grouped:
            grouped = buffer.get_flattened_buffer()
            dtype, data = storage_dtype(buffer.dtype), self.pointer(buffer.data)
            self._grouped[buffer] = rebuild(grouped, dtype=dtype, data=data)
        return self._grouped[buffer]

    def is_flat(self, buffer: Buffer) -> bool:
        return self.flat(buffer) is buffer if buffer.axis_separators else super().is_flat(buffer)

    def flat_indices(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        return tuple(buffer.offset_of(indices)) if buffer.axis_separators else super().flat_indices(buffer, indices)


class _Flatten(StmtExprMutator):
    def __init__(self, memory: FlatMemory) -> None:
        self._memory = memory

    def visit_Allocate(self, n: Allocate) -> Stmt:
        dtype = storage_dtype(n.dtype)
        pointer = self._memory.allocate(n.buffer_var, n.dtype)
        size: PrimExpr = n.extents[0] if n.extents else const(1)
        for extent in n.extents[1:]:
            size = size * extent
        extents: tuple[PrimExpr, ...] = n.extents if len(n.extents) == 1 else (self._memory.simplify(size),)
        if isinstance(n.body, DeclBuffer) and n.body.buffer.data is n.buffer_var and n.body.buffer.axis_separators:
            extents = self._memory.flat(n.body.buffer).shape
        return rebuild(n, buffer_var=pointer, dtype=dtype, extents=extents, body=self.visit(n.body))

    def visit_Block(self, n: Block) -> Stmt:
        allocated = tuple([self._allocated(buffer) for buffer in n.alloc_buffers])
        return rebuild(
            n,
            reads=self._visit_tuple(n.reads),
            writes=self._visit_tuple(n.writes),
            alloc_buffers=allocated,
            init=None if n.init is None else self.visit(n.init),
            body=self.visit(n.body),
        )

    def _allocated(self, buffer: Buffer) -> Buffer:
        self._memory.allocate(buffer.data, buffer.dtype)
        return self._memory.flat(buffer)

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        bounds = self._visit_tuple(n.region)
        if self._memory.is_flat(n.buffer):
            return rebuild(n, region=bounds)
        first = self._memory.flat_indices(n.buffer, tuple([bound.min for bound in bounds]))
        last = self._memory.flat_indices(n.buffer, tuple([bound.min + (bound.extent - 1) for bound in bounds]))
        ends = zip(first, last, strict=True)
        region = tuple([Range.from_fields(low, self._memory.simplify(high - low + 1)) for low, high in ends])
        return BufferRegion(self._memory.flat(n.buffer), region)

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._memory.pointer(n)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        subject = self._memory.pointer(n.node) if isinstance(n.node, Var) else n.node
        return rebuild(n, node=subject, value=self.visit(n.value), body=self.visit(n.body))

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        return self.visit(n.body)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        if indices is n.indices and self._memory.is_flat(n.buffer):
            return n
        return self._memory.load(n, indices)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        if value is n.value and indices is n.indices and self._memory.is_flat(n.buffer):
            return n
        return self._memory.store(n, value, indices)
