"""Applies the physical buffer layouts of the attribute ``layout_transform_map``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Range
from compiler.ir.node import rebuild
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import DeclBuffer, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite

ATTRIBUTE = "layout_transform_map"


class ApplyLayoutTransforms(FunctionRewrite):
    """Give buffers the layouts that the attribute ``layout_transform_map`` of a function says.

    The attribute maps buffers to lists of index maps, applied one after another.  Shapes, realized regions and indices
    follow, and the attribute goes.  With ``{B: [T.index_map(lambda i: (i // 4, i % 4))]}``::

        T.realize(B[0:16])                  T.realize(B[0:4, 0:4])
        for i in range(16):            →    for i in range(16):
            B[i] = A[i] * 2.0                   B[i // 4, i % 4] = A[i] * 2.0

    ``tvm.lower`` has no need of it: stages with ``transform_layout`` are lowered in their layouts at once. Raises
    ArgumentError if the attribute is anything else than such a map.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        layouts = func.attrs.get(ATTRIBUTE)
        if layouts is None:
            return func
        mutator = _Relayout(_checked(layouts))
        parameters = {var: mutator.buffer(buffer) for var, buffer in func.buffer_map.items()}
        return rebuild(func, buffer_map=parameters, body=mutator.visit(func.body)).without_attr(ATTRIBUTE)


def _checked(layouts: object) -> dict[Buffer, tuple[IndexMap, ...]]:
    if not isinstance(layouts, Mapping):
        raise ArgumentError(f"{ATTRIBUTE}: expected a map from buffers to lists of IndexMap, got {show(layouts)}")
    result = {}
    for buffer, maps in layouts.items():
        if not isinstance(buffer, Buffer) or not all(isinstance(index_map, IndexMap) for index_map in maps):
            raise ArgumentError(f"{ATTRIBUTE}: expected a Buffer and a list of IndexMap, got {buffer}: {show(maps)}")
        result[buffer] = tuple(maps)
    return result


class _Relayout(StmtExprMutator):
    def __init__(self, layouts: Mapping[Buffer, tuple[IndexMap, ...]]) -> None:
        self._layouts = layouts
        self._buffers: dict[Buffer, Buffer] = {}
        self._analyzer = Analyzer()

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return a buffer in its physical shape."""
        if buffer not in self._layouts:
            return buffer
        if buffer not in self._buffers:
            shape: Sequence[PrimExpr] = buffer.shape
            for index_map in self._layouts[buffer]:
                shape = index_map.map_shape(shape)
            self._buffers[buffer] = rebuild(buffer, shape=tuple(shape))
        return self._buffers[buffer]

    def visit_BufferRealize(self, n: BufferRealize) -> Stmt:
        bounds: Sequence[Range] = self._visit_tuple(n.bounds)
        for index_map in self._layouts.get(n.buffer, ()):
            bounds = index_map.map_ranges(bounds, self._analyzer)
        condition, body = self.visit(n.condition), self.visit(n.body)
        return rebuild(n, buffer=self.buffer(n.buffer), bounds=tuple(bounds), condition=condition, body=body)

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        return rebuild(n, buffer=self.buffer(n.buffer), body=self.visit(n.body))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return rebuild(self.visit_Node(n), buffer=self.buffer(n.buffer), indices=self._place(n))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        return rebuild(self.visit_Node(n), buffer=self.buffer(n.buffer), indices=self._place(n))

    def _place(self, n: BufferLoad | BufferStore) -> tuple[PrimExpr, ...]:
        """Return where an element lies in the physical layout."""
        indices: tuple[PrimExpr, ...] = self._visit_tuple(n.indices)
        for index_map in self._layouts.get(n.buffer, ()):
            indices = index_map.map_indices(indices, self._analyzer)
        return indices
