"""Image resizing: which source elements contribute, and with which weights.

The arithmetic serves numbers, NumPy arrays and expressions alike.

References
----------
The ONNX operator Resize, version 19: coordinates and rounding.
Keys, "Cubic Convolution Interpolation for Digital Image Processing", IEEE TASSP 29(6), 1981: cubic weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import floor
from operator import add
from typing import Any, TypeAlias, TypeVar

import numpy.typing as npt

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import compute
from compiler.topi.operands import Index, dims, replaced
from compiler.topi.tag import Tag

__all__ = ["METHODS", "MODES", "ROUNDING", "AxisResize", "resize"]

Real = TypeVar("Real", float, npt.NDArray[Any], PrimExpr)
"""What coordinates and weights are computed in."""
Tap: TypeAlias = tuple[Callable[..., PrimExpr], Callable[..., PrimExpr] | None]
"""The element that a new one reads, and its weight, None for one; both by the indices of the new element."""

MODES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)  # fmt: skip
METHODS = ("nearest_neighbor", "linear", "cubic")
ROUNDING = ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


@dataclass(frozen=True, slots=True)
class AxisResize:
    """How one axis changes its extent.

    Attributes
    ----------
    method : str
        One of :data:`METHODS`.
    mode : str
        How coordinates are mapped, one of :data:`MODES`.
    rounding : str
        How ``nearest_neighbor`` rounds, one of :data:`ROUNDING`; empty for the usual way of the mode.
    cubic_alpha : float
        Keys' parameter ``a``.
    exclude_outside : bool
        Whether elements outside of the source have no weight, and the others sum to one.
    antialias : bool
        Whether windows grow where the axis shrinks.
    scale : float or None
        Elements of the target for one of the source, where that is not the quotient of the extents.
    region : (float, float)
        The part of the source that is shown, from 0 to 1; for ``tf_crop_and_resize``.
    """

    source: int
    target: int
    method: str
    mode: str
    rounding: str = ""
    cubic_alpha: float = -0.75
    exclude_outside: bool = False
    scale: float | None = None
    region: tuple[float, float] = (0.0, 1.0)
    antialias: bool = False

    @property
    def keeps(self) -> bool:
        """Whether the axis stays as it is."""
        return self.source == self.target and self.scale in (None, 1.0) and self.mode != "tf_crop_and_resize"

    @property
    def factor(self) -> float:
        """Elements of the target for one of the source."""
        return self.target / self.source if self.scale is None else self.scale

    def shrunk(self, x: Real) -> Real:
        """Return a length of the target as one of the source; exact where the quotient is."""
        return x * self.source / self.target if self.scale is None else x / self.scale

    def coordinate(self, i: Real) -> Real:
        """Return the coordinate in the source of an element of the target."""
        extent = self.source * self.factor
        match self.mode:
            case "half_pixel":
                return self.shrunk(i + 0.5) - 0.5
            case "half_pixel_symmetric":
                return self.source / 2 * (1 - self.target / extent) + self.shrunk(i + 0.5) - 0.5
            case "pytorch_half_pixel":
                return self.shrunk(i + 0.5) - 0.5 if extent > 1 else i * 0.0
            case "align_corners":
                return i * (self.source - 1) / (extent - 1) if extent != 1 else i * 0.0
            case "asymmetric":
                return self.shrunk(i)
            case "tf_half_pixel_for_nn":
                return self.shrunk(i + 0.5)
        begin, end = self.region
        if extent <= 1:
            return i * 0.0 + 0.5 * (begin + end) * (self.source - 1)
        return begin * (self.source - 1) + i * ((end - begin) * (self.source - 1) / (extent - 1))

    @property
    def repeats(self) -> int:
        """How often each element is repeated, 0 if resizing is more than a repetition."""
        factor, rest = divmod(self.target, self.source)
        starts_at_element = self.mode == "asymmetric" and self.rounding in ("floor", "")
        rounds_half = self.mode == "half_pixel" and self.rounding.startswith("round")
        if rest or self.method != "nearest_neighbor" or self.scale not in (None, factor):
            return 0
        return factor if starts_at_element or rounds_half else 0

    def nearest(self, x: Real, down: Callable[[Real], Real], up: Callable[[Real], Real]) -> Real:
        """Return the index of the element that is nearest to a coordinate, by the mode's rounding."""
        how = self.rounding or ("round" if self.mode == "align_corners" else "floor")
        match how:
            case "floor":
                return down(x)
            case "ceil":
                return up(x)
            case "round_prefer_floor":
                return up(x - 0.5)
        return down(x + 0.5)

    def first_tap(self) -> int:
        """Return the first element that counts, relative to the one at or before a coordinate."""
        reach = 1 if self.method == "linear" else 2
        return floor(-reach / min(self.factor, 1.0)) + 1 if self.antialias else 1 - reach

    def weights(self, ratio: Real, smallest: Callable[..., Real], largest: Callable[..., Real]) -> list[Real]:
        """Return the weights of elements from :meth:`first_tap` on, for a coordinate ``ratio`` after one of them."""
        first = self.first_tap()
        count = 2 - 2 * first
        narrow = min(self.factor, 1.0) if self.antialias else 1.0
        weights: list[Real] = []
        for tap in range(first, first + count):
            away = (tap - ratio) * narrow
            distance = largest(away, away * -1.0)
            if self.method == "linear":
                weights.append(largest(1.0 - distance, 0.0 * distance))
            else:
                weights.append(self._cubic(distance, smallest, largest))
        return weights

    def _cubic(self, x: Real, smallest: Callable[..., Real], largest: Callable[..., Real]) -> Real:
        """Return Keys' weight at a distance: one polynomial up to 1, another one up to 2, where both are zero."""
        a = self.cubic_alpha
        near, far = smallest(x, 1.0), smallest(largest(x, 1.0), 2.0)
        inner = ((a + 2) * near - (a + 3)) * near * near + 1.0
        outer = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
        weight: Real = inner + outer
        return weight


def resize(
    data: Tensor, name: str, axes: Sequence[AxisResize], letters: str, extrapolation: float, dtype: str
) -> Tensor:
    """Return ``data`` with its spatial axes resized one after the other, those that stay left out.

    There is one of ``axes`` for each of ``letters``; what is not a float is blended as float32; ``extrapolation`` is
    what ``tf_crop_and_resize`` shows outside of the source.
    """
    blend = any(not a.keeps and a.method != "nearest_neighbor" for a in axes)
    value = data
    if blend and not data.dtype.startswith("float"):
        value = compute(dims(data), lambda *i: data(*i).astype("float32"), name="real", tag=Tag.ELEMWISE)
    for letter, axis in zip(letters, axes, strict=True):
        if not axis.keeps:
            at = next(p for p, a in enumerate(layout(name).axes) if a.letter == letter)
            value = _resize_axis(value, at, axis, extrapolation)
    if value.dtype == dtype and value is not data:
        return value
    return compute(dims(value), lambda *i: value(*i).astype(dtype), name="resized", tag=Tag.ELEMWISE)


def _resize_axis(x: Tensor, at: int, axis: AxisResize, extrapolation: float) -> Tensor:
    """Return ``x`` with one axis resized; what an element is made of does not depend on the other axes."""
    taps = None if axis.repeats else _taps(axis, x.dtype)

    def element(*i: Var) -> PrimExpr:
        def read(index: Index) -> PrimExpr:
            return x(*replaced(i, at, index))

        if taps is None:
            return read(i[at] // axis.repeats)
        terms: list[PrimExpr] = []
        for index, weight in taps:
            value = read(te.max(te.min(index(i[at]), axis.source - 1), 0))
            terms.append(value if weight is None else value * weight(i[at]))
        value = reduce(add, terms)
        if axis.mode != "tf_crop_and_resize":
            return value
        place = axis.coordinate(i[at].astype("float64"))
        there = te.all(place >= tir.const(0.0, "float64"), place <= tir.const(axis.source - 1.0, "float64"))
        return te.if_then_else(there, value, tir.const(extrapolation, x.dtype))

    return compute(replaced(dims(x), at, axis.target), element, name="resize", tag=Tag.STAGED)


def _taps(axis: AxisResize, dtype: str) -> list[Tap]:
    """Return for each element of the target, as vectors, the elements that it is made of and their weights."""

    def place(i: Var) -> PrimExpr:
        return axis.coordinate(i.astype("float64"))

    def vector(element: Callable[[Var], PrimExpr], name: str) -> Tensor:
        return compute((axis.target,), element, name=name, tag=Tag.STAGED)

    if axis.method == "nearest_neighbor":
        return [(vector(lambda i: axis.nearest(place(i), te.floor, te.ceil).astype("int32"), "tap"), None)]
    first = axis.first_tap()
    bases = vector(lambda i: te.floor(place(i)).astype("int32"), "base")

    def weight(k: int) -> Callable[[Var], PrimExpr]:
        def element(i: Var) -> PrimExpr:
            value = axis.weights(place(i) - te.floor(place(i)), te.min, te.max)[k]
            if not axis.exclude_outside:
                return value
            tap = bases(i) + (first + k)
            return te.if_then_else(te.all(tap >= 0, tap < axis.source), value, tir.const(0.0, "float64"))

        return element

    raw = [vector(weight(k), "weight") for k in range(2 - 2 * first)]
    total: Tensor | None = None
    if axis.exclude_outside or axis.antialias:
        total = vector(lambda i: reduce(add, [w(i) for w in raw]), "total")

    def share(k: int) -> Callable[[Var], PrimExpr]:
        return lambda i: (raw[k](i) if total is None else raw[k](i) / total(i)).astype(dtype)

    def index(k: int) -> Callable[[Var], PrimExpr]:
        return lambda i: bases(i) + (first + k)

    return [(vector(index(k), "tap"), vector(share(k), "share")) for k in range(len(raw))]
