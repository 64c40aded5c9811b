"""Images of another size, and samples of images."""

from __future__ import annotations

import math
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.registry import converter
from compiler.relay.frontend.pytorch.tensors import dtype_of, extents, ops, rank_of, static_shape, transpose
from compiler.relay.frontend.shared.errors import ConversionError

_INNER = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _resized(x: RelayExpr, output_size: Any, scales: list[Any], method: str, align_corners: bool) -> Any:
    """Return images in another size.

    Parameters
    ----------
    x : Expr
    output_size : list or None
    scales : list of float or None
        By how much each axis grows; those that are given decide about positions too.
    method : str
    align_corners : bool
        Whether the centers of the outermost pixels stay where they are, not the edges of the image.
    """
    own = static_shape(x)[2:]
    given = [s for s in scales if s is not None]
    if output_size is None or (isinstance(output_size, list) and not output_size):
        sizes = [math.floor(d * s) for d, s in zip(own, given, strict=True)]
    else:
        sizes = extents(output_size)
    mode = "align_corners" if align_corners else "asymmetric" if method == "nearest_neighbor" else "half_pixel"
    return getattr(ops.image, f"resize{len(own)}d")(
        x,
        sizes,
        layout=_INNER[len(own)],
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method="floor" if method == "nearest_neighbor" else "",
        cubic_alpha=-0.75,
        scales=[float(s) for s in given] if len(given) == len(own) else None,
        out_dtype=dtype_of(x),
    )


def _scales(scale_factors: Any, named: dict[str, Any], rank: int) -> list[Any]:
    if scale_factors is not None:
        return list(scale_factors)
    order = {3: ("scales",), 4: ("scales_h", "scales_w"), 5: ("scales_d", "scales_h", "scales_w")}[rank]
    return [named.get(name) for name in order]


@converter("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def _nearest(x: RelayExpr, output_size: Any = None, scale_factors: Any = None, **scales: Any) -> Any:
    return _resized(x, output_size, _scales(scale_factors, scales, rank_of(x)), "nearest_neighbor", False)


@converter("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def _linear(x: RelayExpr, output_size: Any = None, align_corners: bool = False, scale_factors: Any = None,
            **scales: Any) -> Any:  # fmt: skip
    return _resized(x, output_size, _scales(scale_factors, scales, rank_of(x)), "linear", align_corners)


@converter("upsample_bicubic2d")
def _cubic(x: RelayExpr, output_size: Any = None, align_corners: bool = False, scale_factors: Any = None,
           **scales: Any) -> Any:  # fmt: skip
    return _resized(x, output_size, _scales(scale_factors, scales, rank_of(x)), "cubic", align_corners)


@converter("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sampler(x: RelayExpr, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
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
def _affine_grid(theta: Any, size: Any, align_corners: bool) -> Any:
    if not align_corners or len(size) != 4:
        raise ConversionError("affine grids are supported with two axes and align_corners=True")
    return transpose(ops.image.affine_grid(theta, extents(size)[2:]), [0, 2, 3, 1])


@converter("torchvision::roi_align")
def _roi_align(x: RelayExpr, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int,
               sampling_ratio: int, aligned: bool) -> Any:  # fmt: skip
    size = (pooled_height, pooled_width)
    return ops.vision.roi_align(x, rois, size, spatial_scale, sampling_ratio, aligned=aligned)
