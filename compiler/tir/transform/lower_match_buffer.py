"""Replacing buffers that stand for regions of others."""

from __future__ import annotations

from compiler.ir.functor import Mutator
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.primexpr import PrimExpr, Range, Var, const
from compiler.ir.transform import PassContext
from compiler.tir.block import Block, MatchBufferRegion, element_of, matched_values
from compiler.tir.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import BufferStore, Stmt
from compiler.tir.transform.pass_base import PrimFuncPass


class LowerMatchBuffer(PrimFuncPass):
    """Access the buffers that stand for a region through the buffer that the region is of.

    For example::

        sub = T.match_buffer(A[i, 0:4], (4,))       A[i, j] = 0.0
        sub[j] = 0.0                            →

    Variables of the layout of ``sub`` get the values that the region has, and its pointer is that of ``A``.
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        return func.with_body(_LowerMatch().visit(func.body))


class _LowerMatch(Mutator):
    def __init__(self) -> None:
        self._source: dict[Buffer, BufferRegion] = {}
        self._values: dict[Var, PrimExpr] = {}

    def visit_Block(self, n: Block) -> Stmt:
        for match in n.match_buffers:
            self._match(match)
        return rebuild(
            n,
            reads=self._visit_tuple(n.reads),
            writes=self._visit_tuple(n.writes),
            match_buffers=(),
            init=None if n.init is None else self.visit(n.init),
            body=self.visit(n.body),
        )

    def _match(self, match: MatchBufferRegion) -> None:
        source = self.visit(match.source)
        self._source[match.buffer] = source
        self._values.update(matched_values(rebuild(match, source=source)))

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._values.get(n, n)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        source = self._source.get(n.buffer)
        if source is None:
            return rebuild(n, indices=indices)
        return BufferLoad(source.buffer, element_of(source, indices))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        source = self._source.get(n.buffer)
        if source is None:
            return rebuild(n, value=value, indices=indices)
        return BufferStore(source.buffer, value, element_of(source, indices))

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        region = self._visit_tuple(n.region)
        source = self._source.get(n.buffer)
        if source is None:
            return rebuild(n, region=region)
        first = element_of(source, [bound.min for bound in region])
        extents = [const(1, i.dtype) for i in first[: len(first) - len(region)]] + [bound.extent for bound in region]
        return BufferRegion(source.buffer, tuple(map(Range.from_fields, first, extents)))
