"""Image resizing under the names of ``tvm.topi.image``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm, convert
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout as axes_of_layout
from compiler.topi.definitions import named
from compiler.topi.image.symbolic_resize import SymbolicAxis, resize_symbolic
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.resize import AxisResize, resize
from compiler.topi.operands import constant, dims

__all__ = ["resize1d", "resize2d", "resize3d"]


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

        Raises
        ------
        ArgumentError
            If the size has too many or too few numbers.
        UnavailableError
            If an extent is symbolic and the method or mode needs constants.
        """
        sizes = (roi, size if output_shape is None else output_shape)
        how, cubic = (method, coordinate_transformation_mode, rounding_method), (bicubic_alpha, bicubic_exclude)
        return _resized(name, data, sizes, layout, how, cubic, extrapolation_value, out_dtype)

    return named(build, name, layout=default)


resize1d = _resize("resize1d", "NCW")
resize2d = _resize("resize2d", "NCHW")
resize3d = _resize("resize3d", "NCDHW")
