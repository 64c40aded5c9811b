"""Regions of images: ``vision.roi_align``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import agree
from compiler.relay.op.nn.common import ints, positive
from compiler.relay.op.relations import tensor
from compiler.relay.operator import REQUIRED, OpPattern, register
from compiler.relay.ty import TensorType
from compiler.topi.nn import sampling as topi


def _roi_relation(types: tuple[Any, ...], attrs: Attrs) -> Type:
    data, rois = tensor(types[0], "data", 4), tensor(types[1], "rois", 2)
    agree(rois.dims[1], 5, "the columns of rois (image, x1, y1, x2, y2)")
    return TensorType((rois.dims[0], data.dims[1], *attrs.pooled_size), data.dtype)


def _spec(attrs: Attrs) -> topi.RoiSpec:
    return topi.RoiSpec(attrs.pooled_size, attrs.spatial_scale, attrs.sample_ratio, attrs.mode, attrs.aligned)


def _roi_reference(attrs: Attrs, data: Any, rois: Any) -> Any:
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


def _interpolation(places: Any, extent: int) -> Any:
    """Return for places ``(part, place)`` the elements and weights of both neighbours; none outside of the data."""
    kept = np.clip(places, 0, extent - 1)
    low = np.floor(kept).astype(int)
    inside = (places >= -1) & (places <= extent)
    weights = np.stack([1 - (kept - low), kept - low]) * inside
    return np.stack([low, np.minimum(low + 1, extent - 1)]), weights


def _pooled(image: Any, taps: Any, mode: str) -> Any:
    (rows, by_row), (columns, by_column) = taps
    # (channel, row tap, part, place, column tap, part, place)
    values = image[:, rows[..., None, None, None], columns[None, None, None]]
    values = values * by_row[..., None, None, None] * by_column[None, None, None]
    if mode == "max":
        return values.max((1, 4)).max((2, 4))
    return values.sum((1, 4)).mean((2, 4))


_ROI_ALIGN = register(
    "vision.roi_align",
    doc="Regions of images as equally many parts each, interpolated between elements.",
    inputs=("data", "rois"),
    attributes={
        "pooled_size": REQUIRED,
        "spatial_scale": REQUIRED,
        "sample_ratio": -1,
        "layout": "NCHW",
        "mode": "avg",
        "aligned": False,
    },
    relation=_roi_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [topi.roi_align(inputs[0], inputs[1], _spec(attrs))],
    reference=_roi_reference,
    waived={"gradient": "adds up what places were interpolated from, which no operator here does"},
)


def roi_align(
    data: Expr,
    rois: Expr,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int = -1,
    layout: str = "NCHW",
    mode: str = "avg",
    aligned: bool = False,
) -> Call:
    """Return each region of ``rois`` as ``pooled_size`` parts.

    Parameters
    ----------
    rois : Expr
        ``(K, 5)``: the image's number, x1, y1, x2, y2.
    pooled_size : int or (int, int)
    spatial_scale : float
        Elements of ``data`` for one unit of the coordinates.
    sample_ratio : int
        Places along each side of a part; about one for each element where it is not positive.
    mode : str
        ``avg`` or ``max`` of the places in a part.
    aligned : bool
        Whether coordinates are shifted by half an element.
    """
    if layout != "NCHW" or mode not in ("avg", "max"):
        raise ArgumentError(
            f"vision.roi_align: layout must be NCHW and mode avg or max, got {show(layout)}, {show(mode)}"
        )
    return _ROI_ALIGN(
        data,
        rois,
        pooled_size=positive("pooled_size", ints(pooled_size, 2, "pooled_size")),
        spatial_scale=float(spatial_scale),
        sample_ratio=int(sample_ratio),
        layout=layout,
        mode=mode,
        aligned=bool(aligned),
    )
