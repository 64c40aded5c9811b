"""Multi-class non-maximum suppression of detection models: ``vision.regular_non_max_suppression``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT, POSITIVE_INT
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op.vision.non_max_suppression import best_boxes
from compiler.relay.op_registry import register, tuple_function
from compiler.relay.operator import Array, RelationError, Types
from compiler.relay.ty import TensorType, TupleType


class RegularNonMaximumSuppressionAttrs(Attrs):
    max_detections_per_class: int = attr_field(POSITIVE_INT, "Number of boxes to choose for each class at most.")
    max_detections: int = attr_field(POSITIVE_INT, "Number of boxes to return for each image.")
    num_classes: int = attr_field(POSITIVE_INT, "Number of classes; columns of the scores before them are left out.")
    iou_threshold: float = attr_field(FLOAT, "Share of their union that two chosen boxes may have in common.")
    score_threshold: float = attr_field(FLOAT, "Score that a chosen box must exceed.")


def _relation(types: Types, attrs: RegularNonMaximumSuppressionAttrs) -> Type:
    """Boxes, classes and scores of the detections, best first, and how many there are in each image."""
    boxes, scores = tensor(types[0], "boxes", 3), tensor(types[1], "scores", 3)
    dtype = same_dtype(boxes, scores)
    check_same_extent(boxes.dims[2], 4, "the coordinates of a box")
    check_same_extent(boxes.dims[0], scores.dims[0], "the batch of boxes and that of scores")
    check_same_extent(boxes.dims[1], scores.dims[1], "the numbers of boxes and of scores")
    if isinstance(scores.dims[2], int) and scores.dims[2] < attrs.num_classes:
        raise RelationError(f"scores must have num_classes={attrs.num_classes} columns or more, got {scores}")
    batch, count = boxes.dims[0], attrs.max_detections
    rows = TensorType((batch, count), dtype)
    return TupleType((TensorType((batch, count, 4), dtype), rows, rows, TensorType((batch,), "int32")))


def _reference(
    attrs: RegularNonMaximumSuppressionAttrs, boxes: Array, scores: Array
) -> tuple[Array, Array, Array, Array]:
    batch, count = len(boxes), attrs.max_detections
    chosen = np.zeros((batch, count, 4), boxes.dtype)
    labels, values = np.zeros((batch, count), boxes.dtype), np.zeros((batch, count), boxes.dtype)
    counts = np.zeros(batch, "int32")
    first = scores.shape[2] - attrs.num_classes
    for image in range(batch):
        detections = []
        for label in range(attrs.num_classes):
            column = scores[image, :, first + label]
            limit, least = attrs.max_detections_per_class, np.asarray(attrs.score_threshold, "float32")
            kept = best_boxes(boxes[image], column, limit, attrs.iou_threshold, least)
            detections += [(label, box, column[box]) for box in kept]
        detections.sort(key=lambda d: -d[2])
        for place, (label, box, score) in enumerate(detections[:count]):
            chosen[image, place], labels[image, place], values[image, place] = boxes[image, box], label, score
        counts[image] = min(count, len(detections))
    return chosen, labels, values, counts


_REGULAR_NMS = register(
    "vision.regular_non_max_suppression",
    doc="Choose for each image the boxes with the best scores that overlap no better one of their class.",
    inputs={"boxes": "Two opposite corners of each box, ``(N, B, 4)``.", "scores": "``(N, B, columns)``."},
    attrs=RegularNonMaximumSuppressionAttrs,
    relation=_relation,
    reference=_reference,
    waived={"compute": "one choice depends on those before; the reference runs", "gradient": "a choice has none"},
)

regular_non_max_suppression = tuple_function(_REGULAR_NMS, 4)
