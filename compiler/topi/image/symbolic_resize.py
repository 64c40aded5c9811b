"""Resizing images whose extents are known only when they are given: each element finds its neighbours itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.ir.error import UnavailableError
from compiler.ir.expr.primexpr import PrimExpr, const, is_const_int
from compiler.te.definition.tensor import Tensor
from compiler.tir import ceil, floor, if_then_else, max, min, round
from compiler.topi.compute import compute
from compiler.topi.tag import Tag

__all__ = ["SymbolicAxis", "resize_symbolic"]

_EPSILON = 1e-5
_ROUNDED: dict[str, Callable[[PrimExpr], PrimExpr]] = {
    "round": round,
    "round_prefer_floor": lambda x: ceil(x - 0.5),
    "round_prefer_ceil": lambda x: floor(x + 0.5),
    "floor": lambda x: floor(x + _EPSILON),
    "ceil": lambda x: ceil(x - _EPSILON),
}
"""Which element is the nearest; places that rounding errors move across an integer stay on its side."""


@dataclass(frozen=True, slots=True)
class SymbolicAxis:
    """How one axis is resized, ``linear`` or ``nearest_neighbor``; an empty ``rounding`` is the usual one."""

    source: PrimExpr
    target: PrimExpr
    method: str
    mode: str
    rounding: str

    def place(self, index: PrimExpr) -> PrimExpr:
        """Return where an element of the result lies among those of the data, in float32."""
        x, source, target = index.astype("float32"), self.source, self.target
        if self.mode == "align_corners":
            return (source - 1).astype("float32") / (target - 1).astype("float32") * x
        scale = source.astype("float32") / target.astype("float32")
        if self.mode == "asymmetric":
            return scale * x
        centred = (x + 0.5) * scale - 0.5
        if self.mode == "pytorch_half_pixel" and not is_const_int(target):
            return if_then_else(target > 1, centred, const(0.0, "float32"))
        return const(0.0, "float32") if self.mode == "pytorch_half_pixel" and is_const_int(target, 1) else centred

    def taps(self, index: PrimExpr) -> list[tuple[PrimExpr, PrimExpr | None]]:
        """Return the indices in the data of the elements that an element of the result is made of, and their shares.

        The share is None for the whole.
        """
        place = self.place(index)
        if self.method == "nearest_neighbor":
            usual = "round" if self.mode == "align_corners" else "floor"
            return [(self._inside(_ROUNDED[self.rounding or usual](place).astype("int32")), None)]
        first = floor(place).astype("int32")
        share = place - first.astype("float32")
        return [(self._inside(first), 1.0 - share), (self._inside(first + 1), share)]

    def _inside(self, index: PrimExpr) -> PrimExpr:
        return max(min(index, self.source - 1), 0)


def resize_symbolic(
    data: Tensor, positions: Sequence[int], axes: Sequence[SymbolicAxis], out_dtype: str, function: str
) -> Tensor:
    """Return data with some axes resized, in one computation, which interpolates in float32.

    Raises
    ------
    UnavailableError
        If an axis is resized in another way than those of :class:`SymbolicAxis`.
    """
    for axis in axes:
        if axis.method not in ("linear", "nearest_neighbor") or axis.mode == "tf_crop_and_resize":
            raise UnavailableError(
                f"{function}: extents must be constant for {axis.method} interpolation in mode {axis.mode!r}, "
                f"got {axis.source} and {axis.target}"
            )
    resized = dict(zip(positions, axes, strict=True))
    shape = [resized[d].target if d in resized else extent for d, extent in enumerate(data.shape)]

    def element(*indices: PrimExpr) -> PrimExpr:
        return _interpolated(data, indices, resized, sorted(resized)).astype(out_dtype)

    return compute(shape, element, name="resize", tag=Tag.INJECTIVE)


def _interpolated(
    data: Tensor, indices: tuple[PrimExpr, ...], axes: dict[int, SymbolicAxis], left: Sequence[int]
) -> PrimExpr:
    """Return the element at some indices; those of the axes that are left are of the result still."""
    if not left:
        return data(*indices)
    taps = axes[left[0]].taps(indices[left[0]])
    parts = [
        (_interpolated(data, (*indices[: left[0]], at, *indices[left[0] + 1 :]), axes, left[1:]), share)
        for at, share in taps
    ]
    terms = [part if share is None else part.astype("float32") * share for part, share in parts]
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]
