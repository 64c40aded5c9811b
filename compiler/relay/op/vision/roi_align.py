"""Regions of interest: ``vision.roi_align``, ``vision.roi_pool``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from compiler import te, tir
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, FLOAT, INT, one_of
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.spatial import POSITIVE_SPATIAL, SpatialAttrs
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, Types
from compiler.relay.ty import Dim, TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.arrays.layout_conversion import layout_transform
from compiler.topi.compute import compute
from compiler.topi.nn import sampling as topi
from compiler.topi.operands import dims
from compiler.topi.tag import Tag

A = TypeVar("A", bound=Attrs)


class ROIAlignAttrs(SpatialAttrs):
    RANK = 2
    pooled_size: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Parts along the height and the width of a region.")
    spatial_scale: float = attr_field(FLOAT, "Elements of ``data`` for one unit of the coordinates.")
    sample_ratio: int = attr_field(
        INT, "Points along each side of a part; about one for each element if it is not positive.", -1
    )
    layout: str = attr_field(one_of("NCHW", "NHWC"), "Layout of the data and of the result.", "NCHW")
    mode: str = attr_field(
        one_of("avg", "max", "max_weighted"),
        "Whether to take the mean or the largest of the points, or the largest weighted pixel beside one.",
        "avg",
    )
    aligned: bool = attr_field(BOOL, "Whether coordinates are shifted by half an element.", False)


def _roi_relation(types: Types, attrs: ROIAlignAttrs | ROIPoolAttrs) -> Type:
    """``(regions, channels, *pooled_size)``, in ``layout``."""
    data, rois = tensor(types[0], "data", 4), tensor(types[1], "rois", 2)
    check_same_extent(rois.dims[1], 5, "the columns of rois (image, x1, y1, x2, y2)")
    return TensorType(pooled_shape(attrs.layout, rois.dims[0], data.dims, attrs.pooled_size), data.dtype)


def pooled_shape(name: str, regions: Dim, dims: Sequence[Dim], pooled_size: Sequence[int]) -> tuple[Dim, ...]:
    """Return the shape of what is pooled of regions of images, in the layout of the images."""
    height, width = pooled_size
    channels = layout(name).extents(dims)["C"]
    return layout(name).shape({"N": regions, "C": channels, "H": height, "W": width})


def channels_first(name: str, compute: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a definition for images of a layout, given that for ``NCHW``."""

    def pool(data: Tensor, rois: Tensor) -> Tensor:
        return layout_transform(compute(layout_transform(data, name, "NCHW"), rois), "NCHW", name)

    return compute if name == "NCHW" else pool


def reference_channels_first(reference: Callable[[A, Array, Array], Array]) -> Callable[[A, Array, Array], Array]:
    """Return a reference for images of any layout, given that for ``NCHW``."""

    def pool(attrs: A, data: Array, rois: Array) -> Array:
        own = layout(attrs.get_str("layout"))
        return own.from_plain(reference(attrs, own.to_plain(data, "NCHW"), rois), "NCHW")

    return pool


def _spec(attrs: ROIAlignAttrs) -> topi.RoiSpec:
    return topi.RoiSpec(
        (attrs.pooled_size[0], attrs.pooled_size[1]), attrs.spatial_scale, attrs.sample_ratio, attrs.mode, attrs.aligned
    )


def _roi_reference(attrs: ROIAlignAttrs, data: Array, rois: Array) -> Array:
    result = np.zeros((len(rois), data.shape[1], *attrs.pooled_size), data.dtype)
    shift = 0.5 if attrs.aligned else 0.0
    for k, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (float(v) * attrs.spatial_scale - shift for v in corners)
        taps = []
        for d, (start, end) in enumerate(((y1, y2), (x1, x2))):
            size = (end - start if attrs.aligned else max(end - start, 1.0)) / attrs.pooled_size[d]
            count = attrs.sample_ratio if attrs.sample_ratio > 0 else max(int(np.ceil(size)), 1)
            steps = np.arange(attrs.pooled_size[d])[:, None] + (np.arange(count) + 0.5) / count
            taps.append(_interpolation(start + steps * size, data.shape[2 + d]))
        result[k] = _pooled(data[int(image)], taps, attrs.mode)
    return result


def _interpolation(places: Array, extent: int) -> tuple[Array, Array]:
    """Return for places ``(part, place)`` the elements and weights of both neighbours; none outside of the data."""
    kept = np.clip(places, 0, extent - 1)
    low = np.floor(kept).astype(int)
    inside = (places >= -1) & (places <= extent)
    weights = np.stack([1 - (kept - low), kept - low]) * inside
    return np.stack([low, np.minimum(low + 1, extent - 1)]), weights


def _pooled(image: Array, taps: Sequence[tuple[Array, Array]], mode: str) -> Array:
    (rows, by_row), (columns, by_column) = taps
    # (channel, row tap, part, place, column tap, part, place)
    values = image[:, rows[..., None, None, None], columns[None, None, None]]
    values = values * by_row[..., None, None, None] * by_column[None, None, None]
    if mode == "max_weighted":
        result: Array = values.max((1, 4)).max((2, 4))
        return result
    points = values.sum((1, 4))
    pooled: Array = points.max((2, 4)) if mode == "max" else points.mean((2, 4))
    return pooled


roi_align = register(
    "vision.roi_align",
    doc="Divide regions of images into equally many parts each, and pool elements interpolated in each part.",
    inputs={"data": "Images in ``layout``.", "rois": "Regions, ``(K, 5)``: the image's number, x1, y1, x2, y2."},
    attrs=ROIAlignAttrs,
    relation=_roi_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [
        channels_first(attrs.layout, lambda data, rois: topi.roi_align(data, rois, _spec(attrs)))(*inputs)
    ],
    reference=reference_channels_first(_roi_reference),
    waived={"gradient": "adds up what places were interpolated from, which no operator here does"},
)


class ROIPoolAttrs(SpatialAttrs):
    RANK = 2
    pooled_size: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Parts along the height and the width of a region.")
    spatial_scale: float = attr_field(FLOAT, "Elements of ``data`` for one unit of the coordinates.")
    layout: str = attr_field(one_of("NCHW", "NHWC"), "Layout of the data and of the result.", "NCHW")


def roi_pool(data: Tensor, rois: Tensor, pooled_size: tuple[int, ...], spatial_scale: float) -> Tensor:
    """Return the largest element of each part of each region; 0 of a part outside of the image.

    The data is ``(N, C, H, W)``, ``rois`` are ``(K, 5)``: image, x1, y1, x2, y2 of each region, both corners included;
    one unit of the coordinates is ``spatial_scale`` elements of ``data``.  The result is ``(K, C, *pooled_size)``.  See
    R. Girshick, "Fast R-CNN", ICCV 2015, section 2.1.
    """
    _, channels, *extents = dims(data)
    window = [te.reduce_axis((0, e), name=n) for e, n in zip(extents, ("ry", "rx"), strict=True)]

    def corner(k: Var, column: int) -> PrimExpr:
        return te.round(rois(k, column) * spatial_scale).astype("int32")

    def part(k: Var, i: Var, d: int) -> tuple[PrimExpr, PrimExpr]:
        """Return where a part begins and ends, without what is outside of the image."""
        start = corner(k, 2 - d)
        size = te.max(corner(k, 4 - d) - start + 1, 1)
        count = pooled_size[d]
        low, high = start + (i * size) // count, start + ((i + 1) * size + count - 1) // count
        return te.max(te.min(low, extents[d]), 0), te.max(te.min(high, extents[d]), 0)

    lowest = tir.min_value(data.dtype)

    def largest(k: Var, c: Var, i: Var, j: Var) -> PrimExpr:
        inside = []
        for d, at in enumerate((i, j)):
            low, high = part(k, at, d)
            inside += [window[d].var >= low, window[d].var < high]
        value = data(rois(k, 0).astype("int32"), c, window[0].var, window[1].var)
        return te.max(te.if_then_else(te.all(*inside), value, lowest), axis=window)

    pooled = compute((dims(rois)[0], channels, *pooled_size), largest, name="roi_pool", tag=Tag.COMM_REDUCE)

    def element(k: Var, c: Var, i: Var, j: Var) -> PrimExpr:
        filled = [low < high for d, at in enumerate((i, j)) for low, high in [part(k, at, d)]]
        return te.if_then_else(te.all(*filled), pooled(k, c, i, j), tir.const(0, data.dtype))

    return compute(pooled.shape, element, name="roi_filled", tag=Tag.ELEMWISE)


def _reference(attrs: ROIPoolAttrs, data: Array, rois: Array) -> Array:
    result = np.zeros((len(rois), data.shape[1], *attrs.pooled_size), data.dtype)
    for k, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (_rounded(float(np.float32(v) * np.float32(attrs.spatial_scale))) for v in corners)
        for i, j in np.ndindex(*attrs.pooled_size):
            rows = _part(i, y1, y2, attrs.pooled_size[0], data.shape[2])
            columns = _part(j, x1, x2, attrs.pooled_size[1], data.shape[3])
            values = data[int(image), :, rows, columns]
            if values.size:
                result[k, :, i, j] = values.max((1, 2))
    return result


def _rounded(value: float) -> int:
    """Return the nearest whole number; a half goes away from zero."""
    return int(np.copysign(np.floor(abs(value) + 0.5), value))


def _part(i: int, first: int, last: int, count: int, extent: int) -> slice:
    size = max(last - first + 1, 1)
    low, high = first + i * size // count, first + -(-(i + 1) * size // count)
    return slice(min(max(low, 0), extent), min(max(high, 0), extent))


_ROI_POOL = register(
    "vision.roi_pool",
    doc="Divide regions of images into equally many parts each, and take the largest element of each part.",
    inputs={"data": "Images in ``layout``.", "rois": "Regions, ``(K, 5)``: the image's number, x1, y1, x2, y2."},
    attrs=ROIPoolAttrs,
    relation=_roi_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [
        channels_first(attrs.layout, lambda data, rois: roi_pool(data, rois, attrs.pooled_size, attrs.spatial_scale))(
            *inputs
        )
    ],
    reference=reference_channels_first(_reference),
    waived={"gradient": "it belongs to the element that is the largest, which no operator here finds in a region"},
)
