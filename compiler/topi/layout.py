"""Layouts: which axis of a tensor means what, such as ``NCHW``, ``OHWI``, or ``NCHW16c`` with channels in blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from compiler.ir.error import ArgumentError, show
from compiler.topi.util import Extent, Index, Shape, constant

__all__ = ["Axis", "Layout", "layout"]

Array: TypeAlias = npt.NDArray[Any]

_AXIS = re.compile(r"([A-Z])|([1-9]\d*)([a-z])")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: a dimension or its blocks, or the elements inside of a block.

    Attributes
    ----------
    letter : str
        The dimension, a capital.
    factor : int
        The elements of a block; 0 for a dimension, or for the axis of its blocks.
    """

    letter: str
    factor: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of a tensor in order.

    A capital letter names a dimension.  A number with its small letter takes that many consecutive elements of the
    dimension into an axis of their own, the capital then counts blocks: element ``c`` of ``NCHW16c`` stands at
    ``[n, c // 16, h, w, c % 16]``.

    Attributes
    ----------
    name : str
    axes : tuple of Axis
    """

    name: str
    axes: tuple[Axis, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def letters(self) -> str:
        """The dimensions in their order, as capitals."""
        return "".join(a.letter for a in self.axes if not a.factor)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.axes)

    def block(self, letter: str) -> int:
        """Return how many elements of a dimension stand in one block, 1 for one that is not split."""
        return prod(a.factor for a in self.axes if a.letter == letter and a.factor)

    def extents(self, shape: Sequence[Extent]) -> dict[str, Extent]:
        """Return the extent of each dimension of a tensor.

        Parameters
        ----------
        shape : sequence of (int or PrimExpr)
            Of the tensor, in this layout.

        Returns
        -------
        dict of str to (int or PrimExpr)
            By the dimension's letter.

        Raises
        ------
        ArgumentError
            If the shape has another number of axes, or a block another size, than the layout.
        """
        if len(shape) != self.ndim:
            raise ArgumentError(f"layout {self.name} has {self.ndim} axes, the shape {tuple(shape)} has {len(shape)}")
        for axis, extent in zip(self.axes, shape, strict=True):
            if axis.factor and isinstance(extent, int) and extent != axis.factor:
                raise ArgumentError(f"layout {self.name} wants blocks of {axis.factor}, the shape is {tuple(shape)}")
        outer = {a.letter: extent for a, extent in zip(self.axes, shape, strict=True) if not a.factor}
        blocks = {letter: self.block(letter) for letter in outer}
        return {letter: e if blocks[letter] == 1 else e * blocks[letter] for letter, e in outer.items()}

    def shape(self, extents: Mapping[str, Extent]) -> Shape:
        """Return the shape of a tensor in this layout.

        Parameters
        ----------
        extents : mapping of str to (int or PrimExpr)
            Of each dimension.

        Returns
        -------
        tuple of (int or PrimExpr)

        Raises
        ------
        ArgumentError
            If an extent is no multiple of its block.
        """
        dims: list[Extent] = []
        for axis in self.axes:
            block, extent = self.block(axis.letter), extents[axis.letter]
            if isinstance(extent, int) and extent % block:
                raise ArgumentError(f"layout {self.name}: extent {extent} of {axis.letter} is no multiple of {block}")
            dims.append(axis.factor or (extent if block == 1 else extent // block))
        return tuple(dims)

    def indices(self, point: Mapping[str, Index]) -> tuple[Index, ...]:
        """Return the indices of an element along each axis.

        Parameters
        ----------
        point : mapping of str to (int or PrimExpr)
            Its index in each dimension.

        Returns
        -------
        tuple of (int or PrimExpr)
        """
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
        """Return the index in each dimension of an element.

        Parameters
        ----------
        indices : sequence of (int or PrimExpr)
            Along each axis.

        Returns
        -------
        dict of str to (int or PrimExpr)
        """
        point: dict[str, Index] = {}
        for axis, index in sorted(zip(self.axes, indices, strict=True), key=lambda pair: pair[0].factor > 0):
            letter = axis.letter
            point[letter] = point[letter] * axis.factor + index if axis.factor else index
        return point

    def to_plain(self, array: Array, letters: str) -> Array:
        """Return an array of this layout with one axis for each dimension.

        Parameters
        ----------
        array : numpy.ndarray
        letters : str
            The dimensions in their order.

        Returns
        -------
        numpy.ndarray
        """
        order = [self._places(letter) for letter in letters]
        moved = np.transpose(array, [place for places in order for place in places])
        extents = self.extents(array.shape)
        return moved.reshape([constant(extents[letter], "layout") for letter in letters])

    def from_plain(self, array: Array, letters: str) -> Array:
        """Return an array with one axis for each dimension in this layout.

        Parameters
        ----------
        array : numpy.ndarray
        letters : str
            The dimensions in the order of the axes of ``array``.

        Returns
        -------
        numpy.ndarray
        """
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
def layout(name: str) -> Layout:
    """Read a layout from its name.

    Parameters
    ----------
    name : str
        Such as ``NCHW`` or ``NCHW16c``.

    Returns
    -------
    Layout

    Raises
    ------
    ArgumentError
        If the name is not one of a layout.
    """
    axes: list[Axis] = []
    at = 0
    while at < len(name) and (m := _AXIS.match(name, at)) is not None:
        axes.append(Axis(m[1]) if m[1] else Axis(m[3].upper(), int(m[2])))
        at = m.end()
    outer = [a.letter for a in axes if not a.factor]
    split = {a.letter for a in axes if a.factor}
    if at < len(name) or not axes or len(set(outer)) < len(outer) or not split <= set(outer):
        raise ArgumentError(f"layout: expected one such as NCHW or NCHW16c, got {show(name)}")
    return Layout(name, tuple(axes))
