"""The best of boxes that overlap: ``vision.all_class_non_max_suppression``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attr_kinds import one_of
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent, has_any_dim
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register, tuple_function
from compiler.relay.operator import Array, Input, OpPattern, Types
from compiler.relay.ty import AnyDim, TensorType, TupleType


class NonMaximumSuppressionAttrs(Attrs):
    """Attributes of ``vision.all_class_non_max_suppression``."""

    output_format: str = attr_field(one_of("onnx"), "Form of the result, that of ONNX.", "onnx")


def _all_class_relation(types: Types, attrs: NonMaximumSuppressionAttrs) -> Type:
    """Rows (image, class, box) of the chosen boxes, best first, and the number of rows, both of type int64."""
    boxes, scores = tensor(types[0], "boxes", 3), tensor(types[1], "scores", 3)
    check_same_extent(boxes.dims[2], 4, "the coordinates of a box")
    check_same_extent(boxes.dims[0], scores.dims[0], "the batch of boxes and that of scores")
    check_same_extent(boxes.dims[1], scores.dims[2], "the numbers of boxes and of scores")
    batch, classes, count = scores.dims
    rows = AnyDim() if has_any_dim(batch, classes, count) else batch * classes * count
    return TupleType((TensorType((rows, 3), "int64"), TensorType((1,), "int64")))


def _all_class_reference(
    attrs: NonMaximumSuppressionAttrs, boxes: Array, scores: Array, limit: Array, overlap: Array, least: Array
) -> tuple[Array, Array]:
    chosen = []
    for image, by_class in enumerate(scores):
        for label, values in enumerate(by_class):
            kept = _best_boxes(boxes[image], values, int(np.ravel(limit)[0]), float(np.ravel(overlap)[0]), least)
            chosen += [(image, label, box) for box in kept]
    rows = np.zeros((scores.size, 3), "int64")
    rows[: len(chosen)] = np.array(chosen, "int64").reshape(-1, 3)
    return rows, np.array([len(chosen)], "int64")


def _best_boxes(boxes: Array, scores: Array, limit: int, overlap: float, least: Array) -> list[int]:
    """Return boxes in order of their scores, each one that overlaps too much with one before left out."""
    kept: list[int] = []
    limit = limit if limit >= 0 else len(boxes)
    for box in np.argsort(-scores, kind="stable"):
        if len(kept) >= limit or scores[box] <= np.ravel(least)[0]:
            break
        if all(_overlap(boxes[box], boxes[other]) <= overlap for other in kept):
            kept.append(int(box))
    return kept


def _overlap(a: Array, b: Array) -> float:
    """Return the area that two boxes share, divided by the area of both together."""
    low_a, high_a, low_b, high_b = (f(p[:2], p[2:]) for p in (a, b) for f in (np.minimum, np.maximum))
    shared = float(np.prod(np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), 0)))
    both = float(np.prod(high_a - low_a) + np.prod(high_b - low_b)) - shared
    return shared / both if both > 0 else 0.0


_ALL_CLASS_NMS = register(
    "vision.all_class_non_max_suppression",
    doc="Choose for each image and class the boxes with the best scores that do not overlap.",
    inputs={
        "boxes": "Two opposite corners of each box, ``(N, B, 4)``.",
        "scores": "``(N, classes, B)``.",
        "max_output_boxes_per_class": Input("Number of boxes to choose; all if it is negative.", -1, "int64"),
        "iou_threshold": Input("Share of their union that two chosen boxes may have in common.", -1.0, "float32"),
        "score_threshold": Input("Score that a chosen box must exceed.", -1.0, "float32"),
    },
    attrs=NonMaximumSuppressionAttrs,
    relation=_all_class_relation,
    pattern=OpPattern.OPAQUE,
    reference=_all_class_reference,
    waived={
        "compute": "one choice depends on those before: a loop that no tensor expression says",
        "gradient": "a choice has none",
    },
)

all_class_non_max_suppression = tuple_function(_ALL_CLASS_NMS, 2)
