"""TVMScript syntax of blocks: ``with T.block("C"):``, ``T.axis``, ``T.reads``, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.expr.primexpr import ExprLike, IterVar, PrimExpr, Range, const, convert
from compiler.tir.script.buffer_words import new_buffer
from compiler.tir.script.definitions import Declaration, declared_in_program, extent_between, regions, unwrapped
from compiler.tir.statements.buffer import Buffer, BufferRegion

__all__ = ["alloc_buffer", "axis", "block", "block_attr", "init", "reads", "where", "writes"]

_AXIS_TYPES = {"S": IterVar.DataPar, "R": IterVar.CommReduce, "O": IterVar.DimInfo, "T": IterVar.Ordered}
"""The kinds of a block's axes, by the letter that ``T.axis.remap`` calls them by."""


@dataclass(frozen=True)
class BlockScope:
    """``T.block("C")``: the block of a ``with``."""

    name: str
    no_realize: bool  # whether the block stands alone, without values of its axes


@dataclass(frozen=True)
class InitScope:
    """``T.init()``: what the block does before the first iteration of its reduction axes."""


@dataclass(frozen=True)
class AxisDeclaration:
    """An axis of the block that is read."""

    dom: Range | None  # what it runs over; None for what the loop runs over whose variable `value` is
    value: PrimExpr
    iter_type: int


@dataclass(frozen=True)
class BlockFact:
    """What a block says about itself, once: ``T.reads``, ``T.writes``, ``T.where``, ``T.block_attr``."""

    field: str  # which part of the signature it is
    value: Any


@dataclass(frozen=True)
class AllocatedBuffer(Declaration):
    """``T.alloc_buffer(shape, dtype, …)``: its memory exists within the block."""


def block(name: str = "", no_realize: bool = False) -> BlockScope:
    """Begin a block: ``with T.block("C"):``; with ``no_realize``, it stands alone, without values of its axes.

    Raises ArgumentError if the name is not a string.
    """
    if not isinstance(name, str):
        expected("T.block", "name", "a string", name)
    return BlockScope(name, no_realize)


class _Axes:
    """``T.axis``: the axes of a block, ``vi = T.axis.spatial(128, i)``."""

    def spatial(self, dom: object, value: ExprLike, dtype: str = "int32") -> AxisDeclaration:
        """Declare an axis whose iterations write different elements; ``T.axis.S`` for short."""
        return _axis("S", dom, value, dtype)

    def reduce(self, dom: object, value: ExprLike, dtype: str = "int32") -> AxisDeclaration:
        """Declare an axis whose iterations are summed up in the same elements; ``T.axis.R`` for short."""
        return _axis("R", dom, value, dtype)

    def scan(self, dom: object, value: ExprLike, dtype: str = "int32") -> AxisDeclaration:
        """Declare an axis whose iterations run in order."""
        return _axis("T", dom, value, dtype)

    def opaque(self, dom: object, value: ExprLike, dtype: str = "int32") -> AxisDeclaration:
        """Declare an axis of which nothing is promised."""
        return _axis("O", dom, value, dtype)

    S = spatial
    R = reduce

    def remap(self, kinds: str, bindings: Sequence[PrimExpr], dtype: str = "int32") -> list[AxisDeclaration]:
        """Declare an axis for each of some loops: ``vi, vj, vk = T.axis.remap("SSR", [i, j, k])``.

        Each axis has the range and the type of its loop.
        """
        if not isinstance(kinds, str) or set(kinds) - {"S", "R"}:
            raise ArgumentError(f"T.axis.remap: the kinds must be the letters S and R, got {show(kinds)}")
        if len(kinds) != len(bindings):
            raise ArgumentError(f"T.axis.remap: {len(kinds)} kinds {kinds!r}, got {len(bindings)} loops")
        return [AxisDeclaration(None, convert(v), _AXIS_TYPES[k]) for k, v in zip(kinds, bindings, strict=True)]


axis = _Axes()


def _axis(kind: str, dom: object, value: ExprLike, dtype: str) -> AxisDeclaration:
    bound = const(value, dtype) if isinstance(value, int) else convert(value)
    return AxisDeclaration(_domain(dom, bound.dtype), bound, _AXIS_TYPES[kind])


def _domain(dom: object, dtype: str) -> Range:
    if isinstance(dom, Range):
        return dom
    if isinstance(dom, (tuple, list)) and len(dom) == 2:
        low, high = (const(end, dtype) if isinstance(end, int) else convert(end) for end in dom)
        return Range.from_fields(low, extent_between(low, high))
    if isinstance(dom, (Buffer, str, float)) or dom is None:
        raise ArgumentError(f"T.axis: the domain must be an extent or a range, got {show(dom)}")
    extent = const(dom, dtype) if isinstance(dom, int) else convert(dom)
    return Range.from_fields(const(0, extent.dtype), extent)


def reads(*buffer_regions: object) -> BlockFact:
    """Say which elements the block reads, e.g. ``A[0:16, j]``; left out, they are found from what it does."""
    return BlockFact("reads", _regions(buffer_regions))


def writes(*buffer_regions: object) -> BlockFact:
    """Say which elements the block writes, e.g. ``A[0:16, j]``; left out, they are found from what it does."""
    return BlockFact("writes", _regions(buffer_regions))


def _regions(given: Sequence[object]) -> tuple[BufferRegion, ...]:
    flat = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    return tuple([BufferRegion(*regions(region)) for region in flat])


def where(predicate: ExprLike) -> BlockFact:
    """Say where the block runs; it does everywhere where nothing is said."""
    condition = const(bool(predicate), "bool") if isinstance(predicate, int) else convert(predicate)
    return BlockFact("predicate", condition)


def block_attr(attrs: Mapping[str, object]) -> BlockFact:
    """Annotate the block.

    Raises ArgumentError if it is not a mapping.
    """
    if not isinstance(attrs, Mapping):
        expected("T.block_attr", "attrs", "a dictionary", attrs)
    return BlockFact("annotations", unwrapped(attrs))


def init() -> InitScope:
    """Begin what runs before the first iteration of the reduction axes: ``with T.init():``."""
    return InitScope()


def alloc_buffer(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: ExprLike = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
    *,
    dtypes: str | None = None,
) -> Any:
    """Allocate a buffer for the block, or for the function: ``B = T.alloc_buffer((16, 16))``.

    The parameters are those of :func:`Buffer`; ``dtypes`` is the data type in scripts of releases before 0.12.
    """
    dtype = dtypes or dtype
    given = (shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators)
    return declared_in_program(AllocatedBuffer(lambda name: new_buffer(name, *given)), "buffer")
