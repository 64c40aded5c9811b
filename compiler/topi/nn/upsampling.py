"""Upsampling of ``tvm.topi.nn``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import expected
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout as axes_of_layout
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.resize import AxisResize, resize
from compiler.topi.operands import constant, dims

__all__ = ["UPSAMPLING_METHODS", "upsampling", "upsampling3d"]

UPSAMPLING_METHODS = {
    "nearest_neighbor": "nearest_neighbor",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
    "tricubic": "cubic",
}
"""Interpolations by the names that enlarging has for them."""


def _enlarged(
    function: str,
    data: Tensor,
    scales: Sequence[float],
    layout: str,
    method: str,
    mode: str,
    output_shape: Sequence[int] | None,
) -> Tensor:
    if method not in UPSAMPLING_METHODS:
        expected(function, "method", f"one of {', '.join(UPSAMPLING_METHODS)}", method)
    letters = spatial_letters(layout)
    extents = axes_of_layout(layout).extents(dims(data))
    sources = [constant(extents[letter], function) for letter in letters]
    targets = [round(e * s) for e, s in zip(sources, scales, strict=True)]
    if output_shape is not None:
        targets = [int(e) for e in output_shape]
    axes = [
        AxisResize(source, target, UPSAMPLING_METHODS[method], mode, cubic_alpha=-0.5)
        for source, target in zip(sources, targets, strict=True)
    ]
    return resize(data, layout, axes, letters, 0.0, data.dtype)


def upsampling(
    data: Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Sequence[int] | None = None,
) -> Tensor:
    """Return images with their height and width, which are constants, grown.

    ``output_shape`` is the height and width of the result, where they do not follow from the scales; if
    ``align_corners``, the corners of both images are the same points.
    """
    mode = "align_corners" if align_corners else "asymmetric"
    return _enlarged("upsampling", data, (scale_h, scale_w), layout, method, mode, output_shape)


def upsampling3d(
    data: Tensor,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
    output_shape: Sequence[int] | None = None,
) -> Tensor:
    """Return volumes with their depth, height and width, which are constants, grown.

    ``output_shape`` are these extents of the result, where they do not follow from the scales; coordinates become those
    of the data in one of :data:`~compiler.topi.nn.resize.MODES`.
    """
    scales, mode = (scale_d, scale_h, scale_w), coordinate_transformation_mode
    return _enlarged("upsampling3d", data, scales, layout, method, mode, output_shape)
