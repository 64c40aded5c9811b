"""Replaces matched buffers by accesses to their source regions."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import PrimExpr, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.tir.statements.block import Block, MatchBufferRegion, element_of, matched_pairs
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore, For, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, statements_of
from compiler.tir.transform.pass_base import FunctionRewrite


class LowerMatchBuffer(FunctionRewrite):
    """Access the buffers that stand for a region through the buffer that the region is of.

    For example::

        sub = T.match_buffer(A[i, 0:4], (4,))       A[i, j] = 0.0
        sub[j] = 0.0                            →

    Variables of the layout of ``sub`` get the values that the region has, and its pointer is that of ``A``. Raises
    LoweringError if the region has another layout than ``sub`` says, does not begin at a multiple of its offset factor
    or is in memory that is less aligned, or if the elements of ``sub`` are accessed by its pointer.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if not any(block.match_buffers for block in statements_of(func.body, Block)):
            return func
        return func.with_body(_LowerMatch(func.params).visit(func.body))


class _LowerMatch(StmtExprMutator):
    def __init__(self, params: tuple[Var, ...]) -> None:
        self._source: dict[Buffer, BufferRegion] = {}
        self._values: dict[Var, PrimExpr] = {}
        self._defined = set(params)
        self._analyzer = Analyzer()

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

    def visit_For(self, n: For) -> Stmt:
        self._analyzer.bind(n.loop_var, Range.from_fields(n.min, n.extent), override=True)
        return self.visit_Node(n)

    def _match(self, match: MatchBufferRegion) -> None:
        source = self.visit(match.source)
        self._source[match.buffer] = source
        for own, value in matched_pairs(rebuild(match, source=source)):
            if own is match.buffer.elem_offset:
                value = self._analyzer.simplify(value)
                self._check_place(match.buffer, source.buffer, value)
            if isinstance(own, Var) and own not in self._values and own not in self._defined:
                self._values[own] = value
            elif not is_const_int(own, 0):  # an offset that is not stated
                self._check(match.buffer, own, value)

    def _check_place(self, buffer: Buffer, source: Buffer, offset: PrimExpr) -> None:
        """Check that a region begins where a buffer says, and that its memory is aligned as much."""
        factor = buffer.offset_factor
        if factor > 1 and not self._analyzer.can_prove(offset % factor == 0):
            raise LoweringError(
                f"LowerMatchBuffer: {buffer.name!r} must begin at a multiple of its offset_factor {factor}; its region"
                f" begins at element {show(offset)}"
            )
        if source.data_alignment % buffer.data_alignment != 0:
            raise LoweringError(
                f"LowerMatchBuffer: {buffer.name!r} must be aligned to {buffer.data_alignment} bytes; its region is of "
                f"{source.name!r}, which is aligned to {source.data_alignment}"
            )

    def _check(self, buffer: Buffer, own: PrimExpr, value: PrimExpr) -> None:
        """Check that what a buffer says about its layout is what its region has."""
        declared = substitute(own, self._values)
        if not self._analyzer.can_prove_equal(declared, value.astype(declared.dtype)):
            raise LoweringError(
                f"LowerMatchBuffer: the layout of {buffer.name!r} declares {show(declared)} where its region has"
                f" {show(value)}"
            )

    def _check_access(self, buffer: Buffer) -> None:
        if buffer.data in self._values:
            raise LoweringError(
                f"LowerMatchBuffer: {buffer.name!r} accesses the memory of a matched buffer by its pointer; use the "
                "elements of the buffer itself"
            )

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._values.get(n, n)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        source = self._source.get(n.buffer)
        if source is None:
            self._check_access(n.buffer)
            return rebuild(n, indices=indices, predicate=self._visit_optional(n.predicate))
        return rebuild(
            n, buffer=source.buffer, indices=element_of(source, indices), predicate=self._visit_optional(n.predicate)
        )

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        source = self._source.get(n.buffer)
        if source is None:
            self._check_access(n.buffer)
            return rebuild(n, value=value, indices=indices, predicate=self._visit_optional(n.predicate))
        moved = element_of(source, indices)
        return rebuild(n, buffer=source.buffer, value=value, indices=moved, predicate=self._visit_optional(n.predicate))

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        region = self._visit_tuple(n.region)
        source = self._source.get(n.buffer)
        if source is None:
            return rebuild(n, region=region)
        first = element_of(source, [bound.min for bound in region])
        extents = [const(1, i.dtype) for i in first[: len(first) - len(region)]] + [bound.extent for bound in region]
        return BufferRegion(source.buffer, tuple(map(Range.from_fields, first, extents)))
