"""Data layouts, such as ``NCHW``, ``OHWI``, or ``NCHW16c`` with channels in blocks.

``tvm.tir.layout`` reads one; ``tvm.tir.bijective_layout`` maps shapes and indices between two of the same dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Range, Var, convert

__all__ = ["Axis", "BijectiveLayout", "Layout", "bijective_layout", "layout"]

Array: TypeAlias = npt.NDArray[Any]
Extent: TypeAlias = int | PrimExpr
Index: TypeAlias = int | PrimExpr
Shape: TypeAlias = tuple[Extent, ...]

_AXIS = re.compile(r"([A-Z])|([1-9]\d*)([a-z])")
_UNDEFINED = "__undef__"


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: a dimension or its blocks, or the elements inside of a block."""

    letter: str
    factor: int = 0  # the elements of a block; 0 for a dimension, or for the axis of its blocks

    @property
    def name(self) -> str:
        """The axis as TVM calls it: the elements inside of blocks have the small letter."""
        return self.letter.lower() if self.factor else self.letter

    @property
    def var(self) -> Var:
        """The variable that stands for an index along the axis, the same for all axes of one name and block."""
        return _axis_variable(self)

    @property
    def dom(self) -> Range:
        """The indices along the axis; those of a dimension end at a variable such as ``N_shape``."""
        extent = convert(self.factor) if self.factor else _extent_variable(self)
        return Range.from_min_extent(0, extent)

    def __str__(self) -> str:
        return f"{self.factor or ''}{self.name}"


@cache
def _axis_variable(axis: Axis) -> Var:
    return Var(axis.name)


@cache
def _extent_variable(axis: Axis) -> Var:
    return Var(f"{axis.name}_shape")


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a tensor in order.

    A capital letter names a dimension.  A number with its small letter takes that many consecutive elements of the
    dimension into an axis of their own, the capital then counts blocks: element ``c`` of ``NCHW16c`` stands at
    ``[n, c // 16, h, w, c % 16]``.
    """

    name: str
    axes: tuple[Axis, ...]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Layout({self.name})"

    def __len__(self) -> int:
        return len(self.axes)

    def __contains__(self, axis: object) -> bool:
        return any(a.name == axis for a in self.axes)

    def __getitem__(self, index: int) -> str:
        return self.axes[index].name

    def index_of(self, axis: str) -> int:
        """Return the position of an axis, -1 if the layout has none of this name.

        A capital stands for a dimension, a small letter for the elements inside of its blocks.
        """
        return next((at for at, a in enumerate(self.axes) if a.name == axis), -1)

    def factor_of(self, axis: str) -> int:
        """Return the number of elements in a block of a dimension (capital or small letter), -1 if it has no blocks."""
        split = any(a.letter == axis.upper() and a.factor for a in self.axes)
        return self.block(axis.upper()) if split else -1

    @property
    def letters(self) -> str:
        """The dimensions in their order, as capitals."""
        return "".join(a.letter for a in self.axes if not a.factor)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.axes)

    def block(self, letter: str) -> int:
        """Return how many elements of a dimension (a capital) stand in one block: 1 if it is not split."""
        return prod(a.factor for a in self.axes if a.letter == letter and a.factor)

    def take(self, positions: Iterable[int]) -> Layout | None:
        """Return the layout of some axes in a given order; None if the inside of blocks is taken without the blocks."""
        axes = [self.axes[at] for at in positions]
        dimensions = {a.letter for a in axes if not a.factor}
        return layout("".join(map(str, axes))) if all(a.letter in dimensions for a in axes) else None

    def extents(self, shape: Sequence[Extent]) -> dict[str, Extent]:
        """Return the extent of each dimension of a tensor of a shape in this layout.

        Raises ArgumentError if the shape has another number of axes, or a block another size, than the layout.
        """
        if len(shape) != self.ndim:
            raise ArgumentError(f"layout {self.name} has {self.ndim} axes, the shape {tuple(shape)} has {len(shape)}")
        for axis, extent in zip(self.axes, shape, strict=True):
            if axis.factor and isinstance(extent, int) and extent != axis.factor:
                raise ArgumentError(f"layout {self.name} requires blocks of {axis.factor}, the shape is {tuple(shape)}")
        outer = {a.letter: extent for a, extent in zip(self.axes, shape, strict=True) if not a.factor}
        blocks = {letter: self.block(letter) for letter in outer}
        return {letter: e if blocks[letter] == 1 else e * blocks[letter] for letter, e in outer.items()}

    def shape(self, extents: Mapping[str, Extent]) -> Shape:
        """Return the shape of a tensor in this layout, by the extents of its dimensions.

        Raises ArgumentError if an extent is not a multiple of its block.
        """
        dims: list[Extent] = []
        for axis in self.axes:
            block, extent = self.block(axis.letter), extents[axis.letter]
            if isinstance(extent, int) and extent % block:
                raise ArgumentError(f"layout {self.name}: {axis.letter} is {extent}, not a multiple of {block}")
            dims.append(axis.factor or (extent if block == 1 else extent // block))
        return tuple(dims)

    def indices(self, point: Mapping[str, Index]) -> tuple[Index, ...]:
        """Return the indices of an element along each axis, by its index in each dimension."""
        indices: list[Index] = []
        for at, axis in enumerate(self.axes):
            inner = prod(a.factor for a in self.axes[at + 1 :] if a.letter == axis.letter and a.factor)
            index = point[axis.letter]
            if not axis.factor:
                inner = self.block(axis.letter)
            index = index if inner == 1 else index // inner
            indices.append(index % axis.factor if axis.factor else index)
        return tuple(indices)

    def point(self, indices: Sequence[Index]) -> dict[str, Index]:
        """Return the index in each dimension of an element, by its indices along each axis."""
        point: dict[str, Index] = {}
        for axis, index in sorted(zip(self.axes, indices, strict=True), key=lambda pair: pair[0].factor > 0):
            letter = axis.letter
            point[letter] = point[letter] * axis.factor + index if axis.factor else index
        return point

    def to_plain(self, array: Array, letters: str) -> Array:
        """Return an array of this layout with one axis for each dimension, in the order of ``letters``."""
        order = [self._places(letter) for letter in letters]
        moved = np.transpose(array, [place for places in order for place in places])
        return moved.reshape([prod(array.shape[place] for place in places) for places in order])

    def from_plain(self, array: Array, letters: str) -> Array:
        """Return an array with one axis for each dimension, in the order of ``letters``, in this layout."""
        split: list[int] = []
        places: list[int] = []
        for letter, extent in zip(letters, array.shape, strict=True):
            factors = [self.axes[p].factor for p in self._places(letter)[1:]]
            split += [extent // prod(factors), *factors]
            places += self._places(letter)
        return np.ascontiguousarray(np.transpose(array.reshape(split), np.argsort(places)))

    def _places(self, letter: str) -> list[int]:
        outer = [p for p, a in enumerate(self.axes) if a.letter == letter and not a.factor]
        return outer + [p for p, a in enumerate(self.axes) if a.letter == letter and a.factor]


@cache
def layout(layout_str: str, dtype: str = "int32") -> Layout:
    """Read a layout from its name, such as ``NCHW`` or ``NCHW16c``; empty or ``__undef__`` is the layout of a scalar.

    Raises ArgumentError if the name is not one of a layout, or ``dtype`` is another.
    """
    if dtype != "int32":
        raise ArgumentError(f"layout: dtype must be 'int32', got {show(dtype)}")
    name = layout_str
    axes: list[Axis] = []
    at = len(name) if name == _UNDEFINED else 0
    while at < len(name) and (m := _AXIS.match(name, at)) is not None:
        axes.append(Axis(m[1]) if m[1] else Axis(m[3].upper(), int(m[2])))
        at = m.end()
    outer = [a.letter for a in axes if not a.factor]
    split = {a.letter for a in axes if a.factor}
    if at < len(name) or len(set(outer)) < len(outer) or not split <= set(outer):
        raise ArgumentError(f"layout: expected a layout such as NCHW or NCHW16c, got {show(name)}")
    return Layout(name, tuple(axes))


@dataclass(frozen=True, slots=True)
class BijectiveLayout:
    """The mapping between two layouts of the same dimensions."""

    src_layout: Layout
    dst_layout: Layout

    def __repr__(self) -> str:
        return f"BijectiveLayout({self.src_layout}->{self.dst_layout})"

    def forward_shape(self, shape: Sequence[Extent]) -> Shape:
        """Return what a shape in the layout ``src_layout`` is in ``dst_layout``.

        Raises ArgumentError if it has another number of axes, or an extent is not a multiple of its block.
        """
        return self.dst_layout.shape(self.src_layout.extents(_plain(shape)))

    def backward_shape(self, shape: Sequence[Extent]) -> Shape:
        """Return what a shape in the layout ``dst_layout`` is in ``src_layout``.

        Raises ArgumentError if it has another number of axes, or an extent is not a multiple of its block.
        """
        return self.src_layout.shape(self.dst_layout.extents(_plain(shape)))

    def forward_index(self, index: Sequence[Index]) -> tuple[Index, ...]:
        """Return the index in the layout ``dst_layout`` of an element at an index in ``src_layout``.

        Raises ArgumentError if it has another number of axes.
        """
        return self.dst_layout.indices(self.src_layout.point(_plain(index)))

    def backward_index(self, index: Sequence[Index]) -> tuple[Index, ...]:
        """Return the index in the layout ``src_layout`` of an element at an index in ``dst_layout``.

        Raises ArgumentError if it has another number of axes.
        """
        return self.src_layout.indices(self.dst_layout.point(_plain(index)))


def _plain(values: Sequence[Extent]) -> Shape:
    return tuple(v.value if isinstance(v, IntImm) else v for v in values)


def bijective_layout(src_layout: Layout | str, dst_layout: Layout | str) -> BijectiveLayout | None:
    """Return the mapping between two layouts; None if they have not the same dimensions, or none at all."""
    src, dst = (layout(each) if isinstance(each, str) else each for each in (src_layout, dst_layout))
    return BijectiveLayout(src, dst) if src and set(src.letters) == set(dst.letters) else None
