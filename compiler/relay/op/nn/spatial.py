"""Helpers of sliding-window operators: attributes per spatial dimension, and symbolic extents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from numpy.lib.stride_tricks import as_strided

from compiler.ir.attrs import AttrKind, Attrs
from compiler.ir.attrs.integer import IntAttr
from compiler.ir.attrs.kinds import SHAPE, as_int
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.relay.op.common import has_any_dim
from compiler.relay.op.type_relations import tensor
from compiler.relay.operator import Array, RelationError
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.tir.layout.data_layout import Layout
from compiler.topi.nn.convolution.conv import window_extent


class SpatialAttrs(Attrs):
    """Attributes of an operator over images; :attr:`RANK` is their number of spatial dimensions.

    A family declares its attributes once, and a class for each number of dimensions.
    """

    RANK: ClassVar[int] = 0


def _rank(owner: type[Attrs]) -> int:
    rank = owner.RANK if issubclass(owner, SpatialAttrs) else 0
    if not rank:
        raise ValueError("given for a number of spatial dimensions")
    return rank


class _Spatial(AttrKind[tuple[int, ...]]):
    """An int for each spatial dimension; a single one is meant for all.

    ``may_have_more`` takes longer sequences, as TVM does for some attributes, and reads the first ones.
    """

    __slots__ = ("_least", "_may_have_more")

    def __init__(self, least: int | None = None, may_have_more: bool = False) -> None:
        super().__init__("int or sequence of int")
        self._least = least
        self._may_have_more = may_have_more

    def convert(self, value: object, owner: type[Attrs]) -> tuple[int, ...]:
        count = _rank(owner)
        values = _ints(value)
        if len(values) == 1:
            values *= count
        if self._may_have_more:
            values = values[:count]
        if len(values) != count:
            raise ValueError(f"an int or {count} of them")
        if self._least is not None and min(values) < self._least:
            raise ValueError("positive")
        return values


class _Extents(AttrKind[tuple[Dim, ...]]):
    """An extent for each spatial dimension, which may be symbolic."""

    __slots__ = ()

    def convert(self, value: object, owner: type[Attrs]) -> tuple[Dim, ...]:
        values = value if isinstance(value, (list, tuple)) else (value,)
        if any(isinstance(v, PrimExpr) and as_int(v) is None for v in values):
            if len(values) != _rank(owner):
                raise ValueError(f"{_rank(owner)} extents")
            return SHAPE.convert(values, owner)
        return POSITIVE_SPATIAL.convert(value, owner)


class _Padding(AttrKind[tuple[int, ...]]):
    """The padding before each dimension, then the one after each; one number is meant for all sides."""

    __slots__ = ()

    def convert(self, value: object, owner: type[Attrs]) -> tuple[int, ...]:
        count = _rank(owner)
        values = _ints(value)
        if len(values) not in (1, count, 2 * count):
            raise ValueError(f"1, {count} or {2 * count} ints")
        return (values * (2 * count // len(values)))[: 2 * count]


def _ints(value: object) -> tuple[int, ...]:
    single = as_int(value)
    values = [single] if single is not None else [as_int(v) for v in value] if isinstance(value, (list, tuple)) else []
    known = tuple(IntAttr(v) for v in values if v is not None)
    return known if len(known) == len(values) else ()


SPATIAL = _Spatial()
POSITIVE_SPATIAL = _Spatial(least=1)
SPATIAL_PREFIX = _Spatial(may_have_more=True)
PADDING = _Padding("int or sequence of int")
EXTENTS = _Extents("int, PrimExpr or sequence of such")


def extents(t: TensorType, where: Layout, what: str) -> dict[str, Dim]:
    """Return the extents of a tensor's dimensions by letter.

    Raises RelationError if the type does not have that layout.
    """
    tensor(t, what, where.ndim)
    try:
        return where.extents(t.dims)
    except ArgumentError as exc:
        raise RelationError(f"{what}: {exc}") from None


def window_dim(extent: Dim, around: int, kernel: Dim, stride: int, dilation: int, ceil: bool = False) -> Dim:
    """Return how often a window fits into an extent with ``around`` elements added.

    Raises RelationError if it does not fit once.
    """
    if has_any_dim(extent, kernel):
        return AnyDim()
    room = extent + around - (kernel - 1) * dilation - 1
    if isinstance(room, int) and room < 0:
        raise RelationError(
            f"the window of {kernel} elements, dilated by {dilation}, must fit into {extent} padded by {around}"
        )
    return (room + stride - 1 if ceil else room) // stride + 1


def broadcast_along(vector: Array, axis: int, rank: int) -> Array:
    """Return a NumPy vector with axes of extent 1 around it, so that it broadcasts along ``axis``."""
    return vector.reshape([-1 if d == axis else 1 for d in range(rank)])


def windows(x: Array, kernel: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> Array:
    """Return a view of all windows of an array ``(N, C, spatial…)``: ``(N, C, out…, kernel…)``."""
    rank = len(kernel)
    out = [window_extent(x.shape[2 + d], 0, 0, kernel[d], strides[d], dilation[d]) for d in range(rank)]
    steps = x.strides[2:]
    by_window = [step * stride for step, stride in zip(steps, strides, strict=True)]
    inside = [step * by for step, by in zip(steps, dilation, strict=True)]
    return as_strided(x, (*x.shape[:2], *out, *kernel), (*x.strides[:2], *by_window, *inside), writeable=False)
