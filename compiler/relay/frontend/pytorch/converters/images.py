"""Image resizing and sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.images import deformable_convolution
from compiler.relay.frontend.onnx.converters.windows import Windows
from compiler.relay.frontend.pytorch.dtypes import tensor
from compiler.relay.frontend.pytorch.registry import converter
from compiler.relay.frontend.pytorch.tensors import (
    constant,
    dtype_of,
    extents,
    open_extents,
    ops,
    rank_of,
    reshape,
    static_extent,
    static_shape,
    transpose,
)
from compiler.relay.frontend.pytorch.values import Ints, Size
from compiler.relay.frontend.shared.tensors import bounded

Scales: TypeAlias = Sequence[float]

_INNER = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _resized(
    x: RelayExpr, output_size: Ints | None, scales: Sequence[float | None], method: str, align_corners: bool
) -> RelayExpr:
    """Resize images; corners that are aligned are centres of pixels, otherwise edges of the image."""
    axes = range(2, rank_of(x))
    given = [s for s in scales if s is not None]
    if output_size is None or (isinstance(output_size, list) and not output_size):
        sizes: list[Size] = [math.floor(static_extent(x, a) * s) for a, s in zip(axes, given, strict=True)]
    else:
        sizes = open_extents(output_size)
    is_open = any(isinstance(s, RelayExpr) for s in sizes)
    mode = "align_corners" if align_corners else "asymmetric" if method == "nearest_neighbor" else "half_pixel"
    return ops.image[f"resize{len(axes)}d"](
        x,
        tensor(sizes, "int64") if is_open else sizes,
        layout=_INNER[len(axes)],
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method="floor" if method == "nearest_neighbor" else "",
        cubic_alpha=-0.75,
        scales=[float(s) for s in given] if len(given) == len(axes) else None,
        out_dtype=dtype_of(x),
    )


def _scales(scale_factors: Scales | None, named: Mapping[str, float | None], rank: int) -> Sequence[float | None]:
    if scale_factors is not None:
        return scale_factors
    order = {3: ("scales",), 4: ("scales_h", "scales_w"), 5: ("scales_d", "scales_h", "scales_w")}[rank]
    return [named.get(name) for name in order]


@converter("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def _nearest(
    x: RelayExpr, output_size: Ints | None = None, scale_factors: Scales | None = None, **scales: float | None
) -> RelayExpr:
    return _resized(x, output_size, _scales(scale_factors, scales, rank_of(x)), "nearest_neighbor", False)


@converter("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
def _nearest_exact(
    x: RelayExpr, output_size: Ints | None = None, scale_factors: Scales | None = None, **scales: float | None
) -> RelayExpr:
    """Nearest-neighbour resizing by pixel centres."""
    own = static_shape(x)[2:]
    factors = _scales(scale_factors, scales, rank_of(x)) or [None] * len(own)
    if output_size is not None:
        wanted = extents(output_size)
    else:
        wanted = [int(n * f) for n, f in zip(own, factors, strict=True) if f is not None]
    for i, (extent, many, factor) in enumerate(zip(own, wanted, factors, strict=True)):
        step = extent / many if factor is None else 1 / float(factor)
        places = np.minimum(np.floor((np.arange(many, dtype="float32") + 0.5) * np.float32(step)), extent - 1)
        x = ops.take(x, constant(places, "int64"), axis=i + 2)
    return x


@converter("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def _linear(x: RelayExpr, output_size: Ints | None = None, align_corners: bool = False,
            scale_factors: Scales | None = None, **scales: float | None) -> RelayExpr:  # fmt: skip
    return _resized(x, output_size, _scales(scale_factors, scales, rank_of(x)), "linear", align_corners)


@converter("upsample_bicubic2d")
def _cubic(x: RelayExpr, output_size: Ints | None = None, align_corners: bool = False,
           scale_factors: Scales | None = None, **scales: float | None) -> RelayExpr:  # fmt: skip
    return _resized(x, output_size, _scales(scale_factors, scales, rank_of(x)), "cubic", align_corners)


@converter("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sampler(
    x: RelayExpr, grid: RelayExpr, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> RelayExpr:
    rank = rank_of(grid)
    return ops.image.grid_sample(
        x,
        transpose(grid, [0, rank - 1, *range(1, rank - 1)]),
        method=("bilinear", "nearest", "bicubic")[interpolation_mode],
        layout=_INNER[rank - 2],
        padding_mode=("zeros", "border", "reflection")[padding_mode],
        align_corners=align_corners,
    )


@converter("affine_grid_generator")
def _affine_grid(theta: RelayExpr, size: Ints, align_corners: bool) -> RelayExpr:
    """Generate the sampling grid of affine transforms, in coordinates from -1 to 1, x first."""
    spatial = extents(size)[2:]
    bounded(*spatial)
    lines = [np.linspace(-1, 1, n) if align_corners else (2 * np.arange(n) + 1) / n - 1 for n in spatial]
    lines = [np.zeros(1) if align_corners and len(line) == 1 else line for line in lines]
    points = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(spatial)], -1).reshape(-1, len(spatial) + 1)
    batch = static_shape(theta)[0]
    grid = constant(np.broadcast_to(points, (batch, *points.shape)), dtype_of(theta))
    moved = ops.nn.batch_matmul(grid, theta, transpose_a=False, transpose_b=True)
    return reshape(moved, [batch, *spatial, len(spatial)])


@converter("torchvision::roi_align")
def _roi_align(x: RelayExpr, rois: RelayExpr, spatial_scale: float, pooled_height: int, pooled_width: int,
               sampling_ratio: int, aligned: bool) -> RelayExpr:  # fmt: skip
    size = (pooled_height, pooled_width)
    return ops.vision.roi_align(x, rois, size, spatial_scale, sampling_ratio, aligned=aligned)


@converter("torchvision::deform_conv2d")
def _deform_conv2d(x: RelayExpr, weight: RelayExpr, offset: RelayExpr, mask: RelayExpr, bias: RelayExpr, stride_h: int,
                   stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int,
                   offset_groups: int, use_mask: bool) -> RelayExpr:  # fmt: skip
    kernel, padding = static_shape(weight)[2:], (pad_h, pad_w)
    windows = Windows(tuple(kernel), (stride_h, stride_w), (dilation_h, dilation_w), padding, padding)
    return deformable_convolution(x, weight, offset, bias, mask if use_mask else None, windows, groups, offset_groups)


@converter("torchvision::nms")
def _nms(boxes: RelayExpr, scores: RelayExpr, iou_threshold: float) -> RelayExpr:
    """Return the boxes that overlap no better one, the best first; as many as there are, which the program finds."""
    rows, count = ops.vision.all_class_non_max_suppression(
        ops.expand_dims(boxes, 0),
        ops.expand_dims(scores, 0, num_newaxis=2),
        constant(np.iinfo(np.int32).max, "int64"),
        constant(iou_threshold, "float32"),
        constant(-math.inf, "float32"),
    )
    first, step = (constant([v], "int64") for v in (0, 1))
    kept = ops.strided_slice(rows, first, count, step, axes=[0])
    return ops.cast(ops.take(kept, constant(2, "int64"), axis=1), "int64")
