"""Image and vision operators on tensors, under the names of ``tvm.topi``.

Their definitions stand beside the operators and take attributes; these functions take TVM's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from compiler.ir.extension import extension_point
from compiler.relay.operator import get
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.operands import dims

Numbers = int | Sequence[int]


def defined(name: str, *inputs: Tensor, **attributes: object) -> Tensor:
    """Return the definition of an operator with one result, of tensors."""
    op = get(name)
    assert op.compute is not None
    assert op.relation is not None
    attrs = op.attrs_type(**attributes)
    result = op.relation(tuple(TensorType(dims(x), x.dtype) for x in inputs), attrs)
    (tensor,) = op.compute(attrs, list(inputs), result)
    return tensor


def crop_and_resize(
    data: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Sequence[int],
    layout: str = "NCHW",
    method: str = "bilinear",
    extrapolation_value: float | None = None,
    out_dtype: str | None = None,
) -> Tensor:
    """Return boxes cut out of images and brought to one size.

    Parameters
    ----------
    boxes : Tensor
        ``(K, 4)``: y1, x1, y2, x2, where 0 is the centre of the first and 1 that of the last pixel.
    box_indices : Tensor
        The image of each box.
    layout : {"NHWC", "NCHW"}
        Of the images and of the result, which has their data type by default.
    extrapolation_value : float, optional
        What stands outside of the images; zero by default.
    """
    return defined(
        "image.crop_and_resize",
        data,
        boxes,
        box_indices,
        crop_size=tuple(crop_size),
        layout=layout,
        method=method,
        extrapolation_value=extrapolation_value or 0.0,
        out_dtype=out_dtype or "",
    )


def _dilation2d(layouts: tuple[str, str], input: Tensor, filter: Tensor, **attributes: object) -> Tensor:
    data_layout, kernel_layout = layouts
    return defined(
        "image.dilation2d", input, filter, data_layout=data_layout, kernel_layout=kernel_layout, **attributes
    )


def dilation2d_nchw(
    input: Tensor, filter: Tensor, stride: Numbers, padding: Numbers, dilations: Numbers, out_dtype: str | None = None
) -> Tensor:
    """Return the largest sums of a window of images ``(N, C, H, W)`` and a weight ``(C, H, W)``.

    ``stride``, ``padding`` and ``dilations`` are steps of the window, zeros around the images, and steps within the
    window.
    """
    how = {"strides": stride, "padding": padding, "dilations": dilations, "out_dtype": out_dtype or ""}
    return _dilation2d(("NCHW", "IHW"), input, filter, **how)


def dilation2d_nhwc(
    input: Tensor, filter: Tensor, stride: Numbers, padding: Numbers, dilations: Numbers, out_dtype: str | None = None
) -> Tensor:
    """Return the largest sums of a window of images ``(N, H, W, C)`` and a weight ``(H, W, C)``; see
    :func:`dilation2d_nchw`.
    """
    how = {"strides": stride, "padding": padding, "dilations": dilations, "out_dtype": out_dtype or ""}
    return _dilation2d(("NHWC", "HWI"), input, filter, **how)


def _pair(size: Numbers) -> tuple[int, ...]:
    return (size, size) if isinstance(size, int) else tuple(int(n) for n in size)


def _mode(mode: str | bytes | int) -> str:
    """Return the name of a mode, which older programs give as bytes or as a number."""
    if isinstance(mode, int):
        return ("avg", "max")[mode]
    return mode.decode() if isinstance(mode, bytes) else mode


def roi_align_nchw(
    data: Tensor,
    rois: Tensor,
    pooled_size: Numbers,
    spatial_scale: float,
    mode: str | bytes | int,
    sample_ratio: int = -1,
) -> Tensor:
    """Return regions of images ``(N, C, H, W)`` as parts of one size each, interpolated: ``(K, C, *pooled_size)``.

    Parameters
    ----------
    rois : Tensor
        ``(K, 5)``: image, x1, y1, x2, y2 of each region.
    pooled_size : int or sequence of int
        Parts along the height and the width.
    spatial_scale : float
        Elements of ``data`` for one unit of the coordinates.
    mode : str, bytes or int
        ``avg`` (0) or ``max`` (1) of the places in a part.
    sample_ratio : int
        Places along each side of a part; about one for each element if it is not positive.
    """
    how = {"pooled_size": _pair(pooled_size), "spatial_scale": spatial_scale, "sample_ratio": sample_ratio}
    return defined("vision.roi_align", data, rois, mode=_mode(mode), layout="NCHW", **how)


def roi_align_nhwc(
    data: Tensor,
    rois: Tensor,
    pooled_size: Numbers,
    spatial_scale: float,
    mode: str | bytes | int,
    sample_ratio: int = -1,
) -> Tensor:
    """Return regions of images ``(N, H, W, C)`` as parts ``(K, *pooled_size, C)``; see :func:`roi_align_nchw`."""
    how = {"pooled_size": _pair(pooled_size), "spatial_scale": spatial_scale, "sample_ratio": sample_ratio}
    return defined("vision.roi_align", data, rois, mode=_mode(mode), layout="NHWC", **how)


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: Numbers, spatial_scale: float) -> Tensor:
    """Return the largest element of each part of each region, ``(K, C, *pooled_size)``; see :func:`roi_align_nchw`."""
    return defined("vision.roi_pool", data, rois, pooled_size=_pair(pooled_size), spatial_scale=spatial_scale)


def reorg(data: Tensor, stride: int) -> Tensor:
    """Return images as Darknet's ``reorg`` layer orders them.

    Of ``(N, C, H, W)``, where ``C`` is a multiple of ``stride * stride``, ``(N, C * stride * stride, H / stride, W /
    stride)`` is made.
    """
    return defined("vision.yolo_reorg", data, stride=stride)


_PUBLISHED: dict[str, tuple[Callable[..., Tensor], ...]] = {
    "tvm.topi.image": (crop_and_resize, dilation2d_nchw, dilation2d_nhwc),
    "tvm.topi.vision": (reorg, roi_align_nchw, roi_align_nhwc, roi_pool_nchw),
}
"""Where users know them."""


def _same(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return function


def _publish() -> None:
    for module, functions in _PUBLISHED.items():
        for function in functions:
            extension_point(module).add(function.__name__, partial(_same, function))


_publish()
