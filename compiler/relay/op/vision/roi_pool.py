"""RoI max pooling: ``vision.roi_pool``."""

from __future__ import annotations

import numpy as np

from compiler import te, tir
from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import FLOAT, one_of
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.spatial import POSITIVE_SPATIAL, SpatialAttrs
from compiler.relay.op.type_relations import tensor
from compiler.relay.op.vision.roi_align import channels_first, pooled_shape, reference_channels_first
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import dims
from compiler.topi.tag import Tag


class ROIPoolAttrs(SpatialAttrs):
    RANK = 2
    pooled_size: tuple[int, ...] = attr_field(POSITIVE_SPATIAL, "Parts along the height and the width of a region.")
    spatial_scale: float = attr_field(FLOAT, "Elements of ``data`` for one unit of the coordinates.")
    layout: str = attr_field(one_of("NCHW", "NHWC"), "Layout of the data and of the result.", "NCHW")


def _relation(types: Types, attrs: ROIPoolAttrs) -> Type:
    """``(regions, channels, *pooled_size)``, in ``layout``."""
    data, rois = tensor(types[0], "data", 4), tensor(types[1], "rois", 2)
    check_same_extent(rois.dims[1], 5, "the columns of rois (image, x1, y1, x2, y2)")
    return TensorType(pooled_shape(attrs.layout, rois.dims[0], data.dims, attrs.pooled_size), data.dtype)


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
    relation=_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [
        channels_first(attrs.layout, lambda data, rois: roi_pool(data, rois, attrs.pooled_size, attrs.spatial_scale))(
            *inputs
        )
    ],
    reference=reference_channels_first(_reference),
    waived={"gradient": "it belongs to the element that is the largest, which no operator here finds in a region"},
)
