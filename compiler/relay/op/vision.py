"""Regions of images: ``vision.roi_align``, ``vision.all_class_non_max_suppression``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, TupleWrapper, const
from compiler.relay.op.common import agree, unknown
from compiler.relay.op.nn.common import ints, positive
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, Types
from compiler.relay.ty import AnyDim, TensorType, TupleType
from compiler.topi.nn import sampling as topi


def _roi_relation(types: Types, attrs: Attrs) -> Type:
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


# the best of boxes that overlap


def _all_class_relation(types: Types, attrs: Attrs) -> Type:
    boxes, scores = tensor(types[0], "boxes", 3), tensor(types[1], "scores", 3)
    agree(boxes.dims[2], 4, "the coordinates of a box")
    agree(boxes.dims[0], scores.dims[0], "the batch of boxes and that of scores")
    agree(boxes.dims[1], scores.dims[2], "the numbers of boxes and of scores")
    batch, classes, count = scores.dims
    rows = AnyDim() if unknown(batch, classes, count) else batch * classes * count
    return TupleType((TensorType((rows, 3), "int64"), TensorType((1,), "int64")))


def _all_class_reference(attrs: Attrs, boxes: Any, scores: Any, limit: Any, overlap: Any, least: Any) -> Any:
    chosen = []
    for image, by_class in enumerate(scores):
        for label, values in enumerate(by_class):
            kept = _best_boxes(boxes[image], values, int(np.ravel(limit)[0]), float(np.ravel(overlap)[0]), least)
            chosen += [(image, label, box) for box in kept]
    rows = np.zeros((scores.size, 3), "int64")
    rows[: len(chosen)] = np.array(chosen, "int64").reshape(-1, 3)
    return rows, np.array([len(chosen)], "int64")


def _best_boxes(boxes: Any, scores: Any, limit: int, overlap: float, least: Any) -> list[int]:
    """Return boxes in order of their scores, each one that overlaps too much with one before left out."""
    kept: list[int] = []
    limit = limit if limit >= 0 else len(boxes)
    for box in np.argsort(-scores, kind="stable"):
        if len(kept) >= limit or scores[box] <= np.ravel(least)[0]:
            break
        if all(_overlap(boxes[box], boxes[other]) <= overlap for other in kept):
            kept.append(int(box))
    return kept


def _overlap(a: Any, b: Any) -> float:
    """Return the area that two boxes share, divided by the area of both together."""
    low_a, high_a, low_b, high_b = (f(p[:2], p[2:]) for p in (a, b) for f in (np.minimum, np.maximum))
    shared = float(np.prod(np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), 0)))
    both = float(np.prod(high_a - low_a) + np.prod(high_b - low_b)) - shared
    return shared / both if both > 0 else 0.0


_ALL_CLASS_NMS = register(
    "vision.all_class_non_max_suppression",
    doc="For each image and class the boxes with the best scores that do not overlap, and how many there are.",
    inputs=("boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"),
    attributes={"output_format": "onnx"},
    relation=_all_class_relation,
    pattern=OpPattern.OPAQUE,
    reference=_all_class_reference,
    waived={
        "compute": "one choice depends on those before: a loop that no tensor expression says",
        "gradient": "a choice has none",
    },
)


def all_class_non_max_suppression(
    boxes: Expr,
    scores: Expr,
    max_output_boxes_per_class: Any = -1,
    iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0,
    output_format: str = "onnx",
) -> TupleWrapper:
    """Return rows (image, class, box) of the boxes chosen, best first, and how many rows there are.

    Parameters
    ----------
    boxes : Expr
        ``(N, B, 4)``: two opposite corners.
    scores : Expr
        ``(N, classes, B)``.
    max_output_boxes_per_class, iou_threshold, score_threshold : Expr or number
        How many to choose (all where it is negative), how much of their union two boxes may share, and what score is
        too small.
    output_format : str
        ``onnx``.
    """
    if output_format != "onnx":
        raise ArgumentError(
            f"vision.all_class_non_max_suppression: output_format must be 'onnx', got {show(output_format)}"
        )
    limits = [
        value if isinstance(value, Expr) else const(value, dtype)
        for value, dtype in (
            (max_output_boxes_per_class, "int64"),
            (iou_threshold, "float32"),
            (score_threshold, "float32"),
        )
    ]
    return TupleWrapper(_ALL_CLASS_NMS(boxes, scores, *limits, output_format=output_format), 2)
