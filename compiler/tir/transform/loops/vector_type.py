"""Retypes memory that is only accessed in whole vectors."""

from __future__ import annotations

from typing import Any

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import BinaryOp, Call, Div, FloorDiv, IntImm, PrimExpr, Ramp, Shuffle, Var, binary, const
from compiler.ir.functor import Visitor
from compiler.ir.node import rebuild
from compiler.tir.expressions.builtin import ADDRESS_OF
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, DeclBuffer, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.memory.flat_memory import pointer_to


def use_vector_types(body: Stmt) -> Stmt:
    """Make allocated memory that is only accessed by vectors of one length, all of them aligned, an array of vectors.

    ``B[i * 8:i * 8 + 8]`` of float32 becomes element ``i`` of an array of float32x8: the alignment is then part of
    the type, and loads and stores need not allow for less.
    """
    lanes = _Accesses(scalar_reads=False).lanes_of_vectors(body)
    return _Retype(lanes, FloorDiv).visit(body) if lanes else body


def use_vector_types_of_parameters(func: PrimFunc) -> PrimFunc:
    """Do what ``use_vector_types`` does, with the memory of a function's parameters as well.

    A single element may be read where its lane is constant: ``B[i * 8 + 3]`` becomes lane 3 of ``B[i]``.
    """
    accesses = _Accesses(scalar_reads=True)
    for buffer in func.buffer_map.values():
        accesses.parameter(buffer)
    lanes = accesses.lanes_of_vectors(func.body)
    if not lanes:
        return func
    retype = _Retype(lanes, Div)
    buffers = {var: retype.parameter(buffer) for var, buffer in func.buffer_map.items()}
    return rebuild(func, body=retype.visit(func.body), buffer_map=buffers)


class _Accesses(Visitor):
    """Finds the number of lanes of all accesses to each pointer; 0 if they differ or may be misaligned."""

    def __init__(self, scalar_reads: bool) -> None:
        self._scalar_reads: dict[Var, list[PrimExpr]] | None = {} if scalar_reads else None
        self._lanes: dict[Var, int] = {}
        self._sizes: dict[Var, int] = {}
        self._analyzer = Analyzer()

    def lanes_of_vectors(self, body: Stmt) -> dict[Var, int]:
        """Return the lanes of the vectors that memory is accessed by, where it is accessed by nothing else."""
        self.visit(body)
        return {
            data: count for data, count in self._lanes.items() if count > 1 and self._reads_fixed_lanes(data, count)
        }

    def _reads_fixed_lanes(self, data: Var, count: int) -> bool:
        reads = (self._scalar_reads or {}).get(data, [])
        return all(self._analyzer.exact_modular_set(index).coeff % count == 0 for index in reads)

    def parameter(self, buffer: Buffer) -> None:
        """Look at the accesses to a parameter, too."""
        self._memory(buffer.data, buffer.dtype, buffer.shape)

    def _memory(self, data: Var, dtype: str, shape: tuple[PrimExpr, ...]) -> None:
        if shape and isinstance(shape[-1], IntImm) and dt.lanes(dtype) == 1:
            self._sizes[data] = shape[-1].value

    def visit_Allocate(self, n: Allocate) -> None:
        if len(n.extents) == 1:
            self._memory(n.buffer_var, n.dtype, n.extents)
        self.visit_Node(n)

    def visit_Var(self, n: Var) -> None:
        if n in self._sizes:
            self._lanes[n] = 0

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if isinstance(n.node, Var) and n.node in self._sizes and n.attr_key != "double_buffer_write":
            self._lanes[n.node] = 0
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._access(n.buffer, n.indices)
        self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        if self._scalar_reads is not None and dt.lanes(n.dtype) == 1:
            self._scalar_reads.setdefault(n.buffer.data, []).append(n.indices[-1])
        else:
            self._access(n.buffer, n.indices)
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        if n.op is ADDRESS_OF and isinstance(n.args[0], BufferLoad):
            self._lanes[n.args[0].buffer.data] = 0
        self.visit_Node(n)

    def _access(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> None:
        data = buffer.data
        size = self._sizes.get(data)
        if size is None or self._lanes.get(data) == 0:
            return
        count = self._aligned_lanes(indices, size)
        self._lanes[data] = count if self._lanes.get(data, count) == count else 0

    def _aligned_lanes(self, indices: tuple[PrimExpr, ...], size: int) -> int:
        index = indices[-1]
        if not isinstance(index, Ramp):
            return 0
        count = dt.lanes(index.dtype)
        if not isinstance(index.stride, IntImm) or index.stride.value != 1 or count < 0 or size % count:
            return 0
        alignment = self._analyzer.exact_modular_set(index.base)
        return count if alignment.coeff % count == 0 and alignment.base % count == 0 else 0


class _Retype(StmtExprMutator):
    """Makes arrays of vectors of some pointers' memory: of the allocation, the pointer, and the views of it."""

    def __init__(self, lanes: dict[Var, int], division: type[BinaryOp]) -> None:
        self._lanes = lanes
        self._division = division
        self._pointers: dict[Var, Var] = {}
        self._buffers: dict[Buffer, Buffer] = {}

    def parameter(self, buffer: Buffer) -> Buffer:
        """Return the buffer of a parameter as an array of vectors, if it is to be one."""
        count = self._lanes.get(buffer.data)
        if count is None:
            return buffer
        self._pointers[buffer.data] = pointer_to(dt.with_lanes(buffer.dtype, count), buffer.data)
        return self._view(buffer, count)

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

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        count = self._lanes.get(n.buffer.data)
        buffer = n.buffer if count is None else self._view(n.buffer, count)
        return rebuild(n, buffer=buffer, body=self.visit(n.body))

    def _view(self, buffer: Buffer, count: int) -> Buffer:
        view = self._buffers.get(buffer)
        if view is None:
            last = buffer.shape[-1]
            vectors = (
                const(last.value // count, last.dtype)
                if isinstance(last, IntImm)
                else FloorDiv(last, const(count, last.dtype))
            )
            dtype, data = dt.with_lanes(buffer.dtype, count), self._pointers[buffer.data]
            view = rebuild(buffer, data=data, dtype=dtype, shape=(*buffer.shape[:-1], vectors))
            self._buffers[buffer] = view
        return view

    def _indices(self, indices: tuple[PrimExpr, ...], count: int) -> tuple[PrimExpr, ...]:
        """Return where the vector lies that begins at, or holds, an element."""
        last = indices[-1]
        first = last.base if isinstance(last, Ramp) else last
        return (*indices[:-1], binary(self._division, first, const(count, first.dtype)))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        count = self._lanes.get(n.buffer.data)
        if count is None:
            return rebuild(n, indices=indices, predicate=self._visit_optional(n.predicate))
        vector = rebuild(n, buffer=self._view(n.buffer, count), indices=self._indices(indices, count))
        if isinstance(indices[-1], Ramp):
            return vector
        lane = Analyzer().exact_modular_set(indices[-1]).base % count
        return Shuffle((vector,), (const(lane),))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        count = self._lanes.get(n.buffer.data)
        if count is None:
            return rebuild(n, value=value, indices=indices, predicate=self._visit_optional(n.predicate))
        return rebuild(n, buffer=self._view(n.buffer, count), value=value, indices=self._indices(indices, count))
