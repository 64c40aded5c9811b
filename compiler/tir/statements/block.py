"""Blocks of TensorIR: units of computation that say which elements they read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise
from typing import ClassVar

from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.expr.primexpr import EQ, And, ExprLike, IntImm, IterVar, PrimExpr, Var, as_exprs, const, convert
from compiler.ir.node import Node, node
from compiler.tir.statements.buffer import Buffer, BufferRegion, compact_strides
from compiler.tir.statements.statement import Annotations, Stmt

__all__ = [
    "ALIGNMENTS", "Block", "BlockRealize", "MatchBufferRegion", "contains_block", "element_of", "matched_pairs",
    "matched_values", "memory_extents", "reduction_begins",
]  # fmt: skip

ALIGNMENTS = "buffer_dim_align"
"""The annotation of a block that lists how dimensions are aligned: which of its writes, axis, factor, offset."""


@node
class MatchBufferRegion(Node):
    """A buffer that stands for a region of another one, within a block.

    The variables of ``buffer``, which is defined in the block, get the values that the region has. Raises ArgumentError
    if the buffer has another data type, storage or shape than the region.
    """

    children: ClassVar[tuple[str, ...]] = ("source",)
    defines: ClassVar[tuple[str, ...]] = ("buffer",)

    buffer: Buffer
    source: BufferRegion

    def __post_init__(self) -> None:
        inner, outer = self.buffer, self.source.buffer
        if inner.dtype != outer.dtype:
            raise ArgumentError(f"match_buffer: {inner.name!r} is of {inner.dtype}, {outer.name!r} of {outer.dtype}")
        if inner.storage_scope != outer.storage_scope:
            raise ArgumentError(
                f"match_buffer: {inner.name!r} is in {inner.storage_scope}, {outer.name!r} in {outer.storage_scope}"
            )
        self._check_shape()

    def _check_shape(self) -> None:
        """Check that the last dimensions are those of the region, and the ones before have one element."""
        shape, region = self.buffer.shape, [r.extent for r in self.source.region]
        if len(shape) > len(region):
            raise ArgumentError(
                f"match_buffer: {self.buffer.name!r} has {len(shape)} dimensions, its region {len(region)}"
            )
        leading = len(region) - len(shape)
        for dim, extent in zip((const(1),) * leading + shape, region, strict=True):
            size, available = getattr(dim, "value", None), getattr(extent, "value", None)
            if None not in (size, available) and size != available:
                raise ArgumentError(f"match_buffer: {self.buffer.name!r} has {size} elements, its region {available}")


@node
class Block(Stmt):
    """A unit of computation, with axes of its own.

    What it computes depends on the values of its axes only, and its signature says which elements that reads and
    writes, so that a schedule may transform what is around without looking inside.

    Parameters
    ----------
    iter_vars : sequence of IterVar
        Its axes; a :class:`BlockRealize` says which values they have.
    init : Stmt, optional
        Runs before the first iteration of the reduction axes.
    alloc_buffers : sequence of Buffer
        Buffers whose memory exists within the block.
    match_buffers : sequence of MatchBufferRegion
        Buffers that stand for regions of others.
    """

    children: ClassVar[tuple[str, ...]] = ("iter_vars", "reads", "writes", "match_buffers", "init", "body")
    defines: ClassVar[tuple[str, ...]] = ("iter_vars", "alloc_buffers", "match_buffers")
    allocates: ClassVar[tuple[str, ...]] = ("alloc_buffers",)
    labels: ClassVar[tuple[str, ...]] = ("name_hint",)

    iter_vars: tuple[IterVar, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    name_hint: str
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: tuple[Buffer, ...] = ()
    match_buffers: tuple[MatchBufferRegion, ...] = ()
    annotations: Annotations = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("iter_vars", "reads", "writes", "alloc_buffers", "match_buffers"):
            given = getattr(self, name)
            if type(given) is not tuple:
                object.__setattr__(self, name, tuple(given or ()))
        if self.annotations is None:
            object.__setattr__(self, "annotations", {})
        if not isinstance(self.body, Stmt):
            expected("Block", "body", "a statement", self.body, f"block {self.name_hint!r}")


@node
class BlockRealize(Stmt):
    """One execution of a block: a value for each of its axes, and the condition under which it runs.

    Raises ArgumentError if there are not as many values as the block has axes, or the predicate is not a condition.
    """

    children: ClassVar[tuple[str, ...]] = ("iter_values", "predicate", "block")

    iter_values: tuple[PrimExpr, ...]
    predicate: PrimExpr
    block: Block

    def __post_init__(self) -> None:
        if type(self.iter_values) is not tuple:
            object.__setattr__(self, "iter_values", as_exprs(self.iter_values))
        if not isinstance(self.predicate, PrimExpr):
            object.__setattr__(self, "predicate", _condition(self.predicate))
        if len(self.iter_values) != len(self.block.iter_vars):
            raise ArgumentError(
                f"BlockRealize: block {self.block.name_hint!r} has {len(self.block.iter_vars)} axes, "
                f"got {len(self.iter_values)} values"
            )
        if self.predicate.dtype != "bool":
            raise ArgumentError(
                f"BlockRealize: expected a condition for block {self.block.name_hint!r}, got {show(self.predicate)}"
            )


def _condition(value: ExprLike) -> PrimExpr:
    return const(bool(value), "bool") if isinstance(value, (bool, int)) else convert(value)


def reduction_begins(block: Block) -> PrimExpr | None:
    """Return whether the reduction axes of a block have their first values: where its initial values are set.

    None for a block without reduction axes, whose initial values are always set.
    """
    condition: PrimExpr | None = None
    for axis in block.iter_vars:
        if axis.iter_type != IterVar.CommReduce or axis.dom is None:
            continue
        begins = EQ(axis.var, axis.dom.min)
        condition = begins if condition is None else And(condition, begins)
    return condition


def contains_block(stmt: Stmt) -> bool:
    """Return whether there is a block in a statement."""
    todo: list[object] = [stmt]
    while todo:
        item = todo.pop()
        if isinstance(item, (Block, BlockRealize)):
            return True
        if isinstance(item, tuple):
            todo.extend(item)
        elif isinstance(item, Stmt):
            todo.extend([getattr(item, name) for name in item.children])
    return False


def memory_extents(buffer: Buffer) -> tuple[PrimExpr, ...]:
    """Return how much memory a buffer takes that a block allocates: its shape, with the gaps of its strides.

    For example (4, 17) for a shape of (4, 16) with strides (17, 1).
    """
    if not buffer.strides:
        return buffer.shape
    strides = [stride.value for stride in buffer.strides if isinstance(stride, IntImm)]
    inner = list(pairwise(strides))
    if len(strides) < len(buffer.strides) or strides[-1] != 1 or any(low <= 0 or row % low for row, low in inner):
        return (buffer.strides[0] * buffer.shape[0],)
    dtype = buffer.shape[0].dtype
    return (buffer.shape[0], *[const(row // low, dtype) for row, low in inner])


def element_of(region: BufferRegion, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    """Return where an element of a region lies in the buffer.

    The indices are those of the last dimensions; the ones before have one element.
    """
    leading = len(region.region) - len(indices)
    rest = [bound.min + index for bound, index in zip(region.region[leading:], indices, strict=True)]
    return (*[bound.min for bound in region.region[:leading]], *rest)


def matched_values(match: MatchBufferRegion) -> dict[Var, PrimExpr]:
    """Return what the variables of a matched buffer stand for: its pointer, offset, strides and shape."""
    return {var: value for var, value in matched_pairs(match) if isinstance(var, Var)}


def matched_pairs(match: MatchBufferRegion) -> list[tuple[PrimExpr, PrimExpr]]:
    """Return what the pointer, offset, strides and shape of a matched buffer must be, as pairs."""
    inner, outer, region = match.buffer, match.source.buffer, match.source.region
    strides = outer.strides or compact_strides(outer.shape)
    offset = outer.elem_offset
    for bound, stride in zip(region, strides, strict=True):
        offset = offset + bound.min * stride
    leading = len(region) - len(inner.shape)
    return [
        (inner.data, outer.data),
        (inner.elem_offset, offset),
        *zip(inner.strides, strides[leading:], strict=False),
        *zip(inner.shape, [bound.extent for bound in region[leading:]], strict=True),
    ]
