"""Arrays of vectors: memory that is only accessed a vector at a time."""

from __future__ import annotations

from typing import Any

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.functor import Mutator, Visitor
from compiler.ir.node import rebuild
from compiler.ir.primexpr import FloorDiv, IntImm, PrimExpr, Ramp, Var, const
from compiler.tir.buffer import Buffer, BufferLoad
from compiler.tir.stmt import Allocate, AttrStmt, BufferStore, Stmt
from compiler.tir.transform.flat_memory import pointer_to


def use_vector_types(body: Stmt) -> Stmt:
    """Make memory that is only accessed by vectors of one length, all of them aligned, an array of vectors.

    ``B[i * 8:i * 8 + 8]`` of float32 becomes element ``i`` of an array of float32x8: the alignment is then part of
    the type, and loads and stores need not allow for less.
    """
    accesses = _Accesses()
    accesses.visit(body)
    lanes = {data: count for data, count in accesses.lanes.items() if count > 1 and data in accesses.allocated}
    return _Retype(lanes).visit(body) if lanes else body


class _Accesses(Visitor):
    """Finds the number of lanes of all accesses to each pointer; 0 where they differ or may be misaligned."""

    def __init__(self) -> None:
        self.lanes: dict[Var, int] = {}
        self.allocated: set[Var] = set()
        self._sizes: dict[Var, int] = {}
        self._analyzer = Analyzer()

    def visit_Allocate(self, n: Allocate) -> None:
        if len(n.extents) == 1 and isinstance(n.extents[0], IntImm) and dt.lanes(n.dtype) == 1:
            self.allocated.add(n.buffer_var)
            self._sizes[n.buffer_var] = n.extents[0].value
        self.visit_Node(n)

    def visit_Var(self, n: Var) -> None:
        if n in self._sizes:
            self.lanes[n] = 0

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if isinstance(n.node, Var) and n.node in self._sizes and n.attr_key != "double_buffer_write":
            self.lanes[n.node] = 0
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._access(n.buffer, n.indices)
        self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._access(n.buffer, n.indices)
        self.visit_Node(n)

    def _access(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> None:
        data = buffer.data
        size = self._sizes.get(data)
        if size is None or self.lanes.get(data) == 0:
            return
        count = self._aligned_lanes(indices, size)
        self.lanes[data] = count if self.lanes.get(data, count) == count else 0

    def _aligned_lanes(self, indices: tuple[PrimExpr, ...], size: int) -> int:
        index = indices[0]
        if len(indices) != 1 or not isinstance(index, Ramp):
            return 0
        count = dt.lanes(index.dtype)
        if not isinstance(index.stride, IntImm) or index.stride.value != 1 or count < 0 or size % count:
            return 0
        alignment = self._analyzer.exact_modular_set(index.base)
        return count if alignment.coeff % count == 0 and alignment.base % count == 0 else 0


class _Retype(Mutator):
    """Makes arrays of vectors of some pointers' memory: of the allocation, the pointer, and the views of it."""

    def __init__(self, lanes: dict[Var, int]) -> None:
        self._lanes = lanes
        self._pointers: dict[Var, Var] = {}
        self._buffers: dict[Buffer, Buffer] = {}

    def visit_Allocate(self, n: Allocate) -> Stmt:
        count = self._lanes.get(n.buffer_var)
        if count is None:
            return rebuild(n, body=self.visit(n.body))
        dtype = dt.with_lanes(n.dtype, count)
        pointer = self._pointers[n.buffer_var] = pointer_to(dtype, n.buffer_var)
        extent: Any = n.extents[0]
        extents = (const(extent.value // count, extent.dtype),)
        return rebuild(n, buffer_var=pointer, dtype=dtype, extents=extents, body=self.visit(n.body))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        subject = self._pointers.get(n.node, n.node) if isinstance(n.node, Var) else n.node
        return rebuild(n, node=subject, value=self.visit(n.value), body=self.visit(n.body))

    def _element(self, buffer: Buffer, indices: tuple[PrimExpr, ...], count: int) -> Any:
        view = self._buffers.get(buffer)
        if view is None:
            shape = tuple(
                FloorDiv(d, const(count, d.dtype)) if not isinstance(d, IntImm) else const(d.value // count, d.dtype)
                for d in buffer.shape
            )
            dtype, data = dt.with_lanes(buffer.dtype, count), self._pointers[buffer.data]
            view = self._buffers[buffer] = rebuild(buffer, data=data, dtype=dtype, shape=shape)
        ramp: Any = indices[0]
        return view, (FloorDiv(ramp.base, const(count, ramp.base.dtype)),)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        count = self._lanes.get(n.buffer.data)
        if count is None:
            return rebuild(n, indices=indices, predicate=self._visit_optional(n.predicate))
        buffer, element = self._element(n.buffer, indices, count)
        return rebuild(n, buffer=buffer, indices=element)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        count = self._lanes.get(n.buffer.data)
        if count is None:
            return rebuild(n, value=value, indices=indices, predicate=self._visit_optional(n.predicate))
        buffer, element = self._element(n.buffer, indices, count)
        return rebuild(n, buffer=buffer, value=value, indices=element)
