"""Image resizing under the names of ``tvm.topi.image``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.ir.error import ArgumentError, UnavailableError
from compiler.ir.expr.primexpr import IntImm, PrimExpr, const, convert, is_const_int
from compiler.te.definition.tensor import Tensor
from compiler.tir import ceil, floor, if_then_else, max, min, round
from compiler.tir.layout.data_layout import layout as axes_of_layout
from compiler.topi.compute import compute
from compiler.topi.definitions import named
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.resize import AxisResize, resize
from compiler.topi.operands import constant, dims
from compiler.topi.tag import Tag

__all__ = ["SymbolicAxis", "resize1d", "resize2d", "resize3d", "resize_symbolic"]


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

    Raises UnavailableError if an axis is resized in another way than those of :class:`SymbolicAxis`.
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


def _resized(
    function: str,
    data: Tensor,
    sizes: tuple[Sequence[float] | None, Sequence[int]],
    layout: str,
    method: tuple[str, str, str],
    cubic: tuple[float, int],
    extrapolation_value: float,
    out_dtype: str | None,
) -> Tensor:
    """Return images resized; ``method`` is the interpolation, how coordinates are mapped, and how they are rounded."""
    roi, size = sizes
    letters = spatial_letters(layout)
    if len(size) != len(letters):
        raise ArgumentError(f"{function}: size must have {len(letters)} numbers, got {len(size)}")
    extents = axes_of_layout(layout).extents(dims(data))
    ends = [(extents[letter], target) for letter, target in zip(letters, size, strict=True)]
    if not all(isinstance(extent, (int, IntImm)) for pair in ends for extent in pair):
        symbolic = [SymbolicAxis(convert(source), convert(target), *method) for source, target in ends]
        places = [layout.index(letter) for letter in letters]
        return resize_symbolic(data, places, symbolic, out_dtype or data.dtype, function)
    region = [float(n) for n in roi or ()] or [0.0] * len(letters) + [1.0] * len(letters)
    axes = [
        AxisResize(
            source=constant(extents[letter], function),
            target=int(size[d]),
            method=method[0],
            mode=method[1],
            rounding=method[2],
            cubic_alpha=cubic[0],
            exclude_outside=bool(cubic[1]),
            region=(region[d], region[d + len(letters)]),
        )
        for d, letter in enumerate(letters)
    ]
    return resize(data, layout, axes, letters, extrapolation_value, out_dtype or data.dtype)


def _resize(name: str, default: str) -> Callable[..., Tensor]:
    def build(
        data: Tensor,
        roi: Sequence[float] | None,
        size: Sequence[int],
        layout: str = default,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
        output_shape: Sequence[int] | None = None,
    ) -> Tensor:
        """Return data of a layout such as ``{layout}`` brought to another size.

        Raises ArgumentError if the size has too many or too few numbers. Raises UnavailableError if an extent is
        symbolic and the method or mode needs constants.

        Parameters
        ----------
        data : Tensor
            Where spatial extents are symbolic, the method is not ``cubic``.
        roi : sequence of float
            The part to resize in mode ``tf_crop_and_resize``: all beginnings, then all ends, from 0 to 1.
        coordinate_transformation_mode : str
            How coordinates of the result become those of the data, one of :data:`~compiler.topi.nn.resize.MODES`.
        rounding_method : str
            How ``nearest_neighbor`` rounds, one of :data:`~compiler.topi.nn.resize.ROUNDING`; empty for the usual way.
        bicubic_exclude : int
            Whether weights of elements outside of the data are left out.
        extrapolation_value : float
            What is outside of the data in mode ``tf_crop_and_resize``.
        out_dtype : str, optional
            That of the data by default.
        output_shape : sequence of int, optional
            The size, where it is given apart.
        """
        sizes = (roi, size if output_shape is None else output_shape)
        how, cubic = (method, coordinate_transformation_mode, rounding_method), (bicubic_alpha, bicubic_exclude)
        return _resized(name, data, sizes, layout, how, cubic, extrapolation_value, out_dtype)

    return named(build, name, layout=default)


resize1d = _resize("resize1d", "NCW")
resize2d = _resize("resize2d", "NCHW")
resize3d = _resize("resize3d", "NCDHW")
