"""Shrinks buffers to the region that is accessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.node import rebuild, same_items
from compiler.tir.analysis.block_access import accessed_boxes
from compiler.tir.schedule.facts.thread_scope import is_shared_among
from compiler.tir.statements.block import ALIGNMENTS, Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, BufferStore, For, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, statements_of
from compiler.tir.transform.memory.flat_memory import align_strides
from compiler.tir.transform.pass_base import FunctionRewrite

Region = tuple[Range, ...]


class CompactBufferAllocation(FunctionRewrite):
    """Shrink the buffers of blocks to the box of elements that is accessed, and count from where that begins.

    For example::

        B = T.alloc_buffer((16, 16))             B = T.alloc_buffer((1, 16))
        for j in range(16):                 →    for j in range(16):
            B[i, j] = A[i, j] + 1.0                  B[0, j] = A[i, j] + 1.0

    Buffers with strides stay as they are, and so do those that are used by their pointers, unless the block around says
    in its signature that only the first of their rows are accessed.  The rows of a buffer with the annotation
    ``buffer_dim_align``, by ``storage_align``, get strides.  Memory that threads share holds
    what all of them access: ``B`` in ``shared`` memory keeps its 16 elements where each thread accesses ``B[tx]``,
    though the block that allocates it is inside the loop of ``threadIdx.x``.

    With ``is_strict`` buffers never become larger.  Otherwise those that are accessed beyond their shapes grow to hold
    that.
    """

    is_strict: bool = True

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        compact = _Compact(self.is_strict, _alignments(func.body))
        return func.with_body(compact.visit(func.body))


def _alignments(body: Stmt) -> dict[Buffer, dict[int, tuple[int, int]]]:
    """Return how the dimensions of buffers are aligned, by the blocks that write them."""
    of_buffers: dict[Buffer, dict[int, tuple[int, int]]] = {}
    for n in statements_of(body, Block):
        for entry in n.annotations.get(ALIGNMENTS, ()):
            position, axis, factor, offset = (int(number) for number in entry)
            if position < len(n.writes):  # it is not a part of a loop that never runs
                of_buffers.setdefault(n.writes[position].buffer, {})[axis] = factor, offset
    return of_buffers


class _Compact(StmtExprMutator):
    def __init__(self, is_strict: bool, align: Mapping[Buffer, dict[int, tuple[int, int]]]) -> None:
        self._is_strict = is_strict
        self._align = align
        self._analyzer = Analyzer()
        self._compacted: dict[Buffer, tuple[Buffer, Region]] = {}
        self._threads: list[tuple[str, Var, Range]] = []

    def visit_For(self, n: For) -> Stmt:
        if n.thread_binding is None:
            return self.visit_Node(n)
        return self._in_threads(n, n.thread_binding.thread_tag, n.loop_var, Range.from_fields(n.min, n.extent))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key not in THREAD_KEYS:
            return self.visit_Node(n)
        return self._in_threads(n, n.node.thread_tag, n.node.var, Range.from_fields(const(0, n.value.dtype), n.value))

    def _in_threads(self, n: Stmt, tag: str, var: Var, threads: Range) -> Stmt:
        self._threads.append((tag, var, threads))
        new: Stmt = self.visit_Node(n)
        self._threads.pop()
        return new

    def visit_Block(self, n: Block) -> Stmt:
        boxes = self._boxes(n)
        allocated = tuple([self._shrunk(buffer, boxes.get(buffer)) for buffer in n.alloc_buffers])
        return rebuild(
            n,
            reads=self._visit_tuple(n.reads),
            writes=self._visit_tuple(n.writes),
            match_buffers=self._visit_tuple(n.match_buffers),
            alloc_buffers=allocated,
            init=None if n.init is None else self.visit(n.init),
            body=self.visit(n.body),
        )

    def _boxes(self, n: Block) -> dict[Buffer, Region]:
        """Return what of its buffers a block accesses, by all threads that see the same memory of their scopes."""
        boxes: dict[Buffer, Region] = {}
        for threads, buffers in self._groups(n.alloc_buffers).items():
            domains = {var: span for _, var, span in threads}
            boxes |= accessed_boxes(n.body, {buffer.data: buffer for buffer in buffers}, domains)
        return boxes

    def _groups(self, buffers: Iterable[Buffer]) -> dict[tuple[tuple[str, Var, Range], ...], list[Buffer]]:
        """Return buffers by the threads around them that share their memory."""
        groups: dict[tuple[tuple[str, Var, Range], ...], list[Buffer]] = {}
        for buffer in buffers:
            threads = tuple([thread for thread in self._threads if is_shared_among(buffer.scope(), thread[0])])
            groups.setdefault(threads, []).append(buffer)
        return groups

    def _shrunk(self, buffer: Buffer, box: Region | None) -> Buffer:
        if buffer.strides or not is_const_int(buffer.elem_offset, 0):
            return buffer
        region = tuple([Range.from_fields(const(0, dim.dtype), dim) for dim in buffer.shape])
        if box is not None:
            region = tuple([self._part(bound, dim) for bound, dim in zip(box, buffer.shape, strict=True)])
        shape = tuple([bound.extent for bound in region])
        align = self._align.get(buffer)
        if not align and same_items(shape, buffer.shape):
            return buffer
        small = rebuild(buffer, shape=shape, strides=align_strides(shape, align) if align else ())
        self._compacted[buffer] = (small, region)
        return small

    def _part(self, bound: Range, dim: PrimExpr) -> Range:
        """Return the part of a dimension that is allocated: all of it, unless a constant number will do."""
        larger = self._is_strict and self._analyzer.can_prove(bound.extent >= dim)
        # Nothing says how a constant compares with most symbolic extents: it is enough, and known ahead.
        if isinstance(bound.extent, IntImm) and not larger:
            return bound
        return Range.from_fields(IntImm(dim.dtype, 0), dim)

    def _counted(self, indices: Iterable[PrimExpr], region: Region) -> tuple[PrimExpr, ...]:
        simplify = self._analyzer.simplify
        pairs = zip(indices, region, strict=True)
        return tuple([i if is_const_int(r.min, 0) else simplify(i - r.min) for i, r in pairs])

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        if n.buffer not in self._compacted:
            return rebuild(n, indices=indices, predicate=self._visit_optional(n.predicate))
        small, region = self._compacted[n.buffer]
        return rebuild(
            n, buffer=small, indices=self._counted(indices, region), predicate=self._visit_optional(n.predicate)
        )

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        if n.buffer not in self._compacted:
            return rebuild(n, value=value, indices=indices, predicate=self._visit_optional(n.predicate))
        small, region = self._compacted[n.buffer]
        counted = self._counted(indices, region)
        return rebuild(n, buffer=small, value=value, indices=counted, predicate=self._visit_optional(n.predicate))

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        bounds = self._visit_tuple(n.region)
        if n.buffer not in self._compacted:
            return rebuild(n, region=bounds)
        small, region = self._compacted[n.buffer]
        first = self._counted([bound.min for bound in bounds], region)
        return BufferRegion(small, tuple(map(Range.from_fields, first, [bound.extent for bound in bounds])))
