"""Flattens the buffers of functions whose allocations are explicit."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import expected
from compiler.ir.expr.primexpr import PrimExpr, Range, Var, const
from compiler.ir.node import rebuild
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, DeclBuffer, For, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.memory.flat_memory import FlatMemory, storage_dtype
from compiler.tir.transform.memory.grouped_memory import GroupedMemory, compact_parameters
from compiler.tir.transform.pass_base import FunctionRewrite


class FlattenBuffer(FunctionRewrite):
    """Give multi-dimensional buffers one dimension, where memory is allocated already.

    The counterpart of ``StorageFlatten`` for programs that were not made from a schedule::

        B = T.allocate([4, 8], "float32")        B = T.allocate([32], "float32")
        B_1 = T.Buffer((4, 8), data=B)      →    B_1 = T.Buffer((32,), data=B)
        B_1[i, j] = 0.0                          B_1[i * 8 + j] = 0.0

    The buffers that blocks allocate, read and write become flat with the accesses.

    Parameters
    ----------
    separated : {"all", "parameters", "none"}
        Which buffers keep a dimension for each group of dimensions between their axis separators, for memory that has
        several; every other buffer becomes one row of elements.  Of the parameters it is those that are compact.
    """

    separated: str = "all"

    def __post_init__(self) -> None:
        if self.separated not in ("all", "parameters", "none"):
            expected("FlattenBuffer", "separated", "'all', 'parameters' or 'none'", self.separated)

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if func.is_from_schedule and self.separated != "none":
            return func
        memory = GroupedMemory(Analyzer(), None if self.separated == "all" else self._kept(func))
        return func.with_body(_Flatten(memory).visit(func.body))

    def _kept(self, func: PrimFunc) -> set[Buffer]:
        return compact_parameters(func) if self.separated == "parameters" else set()


class _Flatten(StmtExprMutator):
    def __init__(self, memory: FlatMemory) -> None:
        self._memory = memory

    def visit_For(self, n: For) -> Stmt:
        self._memory.loops[n.loop_var] = Range.from_fields(n.min, n.extent)
        new: Stmt = self.visit_Node(n)
        self._memory.loops.pop(n.loop_var)
        return new

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
