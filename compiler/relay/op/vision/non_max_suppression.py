"""Non-maximum suppression in its forms, from ``vision.get_valid_counts``, which filters boxes by score, on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, FLOAT, INT, POSITIVE_INT, one_of, optional
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import TupleWrapper
from compiler.relay.op.common import NOT_SMOOTH, check_same_extent, has_any_dim
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import public_function, register, tuple_function
from compiler.relay.operator import Array, Input, RelationError, Types
from compiler.relay.ty import AnyDim, TensorType, TupleType
from compiler.te.definition.tensor import Tensor
from compiler.topi.vision import nms as topi
from compiler.topi.vision.all_class_nms import all_class_non_max_suppression as topi_all_class_nms


class NonMaximumSuppressionAttrs(Attrs):
    output_format: str = attr_field(
        one_of("onnx", "tensorflow"),
        "Form of the result: ``onnx`` for one list of all images, ``tensorflow`` for a list of each with its scores.",
        "onnx",
    )


def _all_class_relation(types: Types, attrs: NonMaximumSuppressionAttrs) -> Type:
    """Rows (image, class, box) of the chosen boxes, best first, and the number of rows, both of type int64.

    In the form of TensorFlow each image has its rows (class, box), then their scores, and the number of its rows.
    """
    boxes, scores = tensor(types[0], "boxes", 3), tensor(types[1], "scores", 3)
    check_same_extent(boxes.dims[2], 4, "the coordinates of a box")
    check_same_extent(boxes.dims[0], scores.dims[0], "the batch of boxes and that of scores")
    check_same_extent(boxes.dims[1], scores.dims[2], "the numbers of boxes and of scores")
    batch, classes, count = scores.dims
    if attrs.output_format == "tensorflow":
        each = AnyDim() if has_any_dim(classes, count) else classes * count
        listed = (TensorType((batch, each, 2), "int64"), TensorType((batch, each), scores.dtype))
        return TupleType((*listed, TensorType((batch,), "int64")))
    rows = AnyDim() if has_any_dim(batch, classes, count) else batch * classes * count
    return TupleType((TensorType((rows, 3), "int64"), TensorType((1,), "int64")))


def _all_class_reference(
    attrs: NonMaximumSuppressionAttrs, boxes: Array, scores: Array, limit: Array, overlap: Array, least: Array
) -> tuple[Array, ...]:
    chosen = []
    for image, by_class in enumerate(scores):
        for label, values in enumerate(by_class):
            kept = best_boxes(boxes[image], values, int(np.ravel(limit)[0]), float(np.ravel(overlap)[0]), least)
            chosen += [(image, label, box) for box in kept]
    if attrs.output_format == "tensorflow":
        return _by_image(chosen, scores)
    rows = np.zeros((scores.size, 3), "int64")
    rows[: len(chosen)] = np.array(chosen, "int64").reshape(-1, 3)
    return rows, np.array([len(chosen)], "int64")


def _by_image(chosen: Sequence[tuple[int, int, int]], scores: Array) -> tuple[Array, Array, Array]:
    """Return the chosen boxes of each image, zeros after them, their scores, and how many there are."""
    batch, classes, count = scores.shape
    rows = np.zeros((batch, classes * count, 2), "int64")
    values, counts = np.zeros((batch, classes * count), scores.dtype), np.zeros(batch, "int64")
    for image, label, box in chosen:
        rows[image, counts[image]] = label, box
        values[image, counts[image]] = scores[image, label, box]
        counts[image] += 1
    return rows, values, counts


def best_boxes(boxes: Array, scores: Array, limit: int, overlap: float, least: Array) -> list[int]:
    """Return at most ``limit`` boxes (all if it is negative) in order of their scores, without those that overlap too
    much.

    The boxes ``(B, 4)`` are two opposite corners of each.  Two chosen ones have at most the share ``overlap`` of their
    union in common, and their scores ``(B,)`` exceed ``least``.
    """
    limit = limit if limit >= 0 else len(boxes)
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > np.ravel(least)[0]]
    kept: list[int] = []
    while len(order) and len(kept) < limit:
        kept.append(int(order[0]))
        order = order[1:][_overlaps(boxes[order[0]], boxes[order[1:]]) <= overlap]
    return kept


def _overlaps(box: Array, others: Array) -> Array:
    """Return the area that a box shares with each other one, divided by the area of both together."""
    box, others = (corners.astype(np.result_type(corners, np.float32)) for corners in (box, others))
    low, high = (f(box[:2], box[2:]) for f in (np.minimum, np.maximum))
    lows, highs = (f(others[:, :2], others[:, 2:]) for f in (np.minimum, np.maximum))
    shared = np.maximum(np.minimum(high, highs) - np.maximum(low, lows), 0).prod(1)
    both = (high - low).prod() + (highs - lows).prod(1) - shared
    shares: Array = np.divide(shared, both, out=np.zeros_like(shared), where=both > 0)
    return shares


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
    definition=topi_all_class_nms,
    topi=topi_all_class_nms,
    reference=_all_class_reference,
    waived={"gradient": "a choice has none"},
)

all_class_non_max_suppression = tuple_function(
    _ALL_CLASS_NMS, lambda call: 3 if NonMaximumSuppressionAttrs.of(call).output_format == "tensorflow" else 2
)


class NonMaxSuppressionAttrs(Attrs):
    force_suppress: bool = attr_field(BOOL, "Whether boxes of different classes suppress each other.", False)
    top_k: int = attr_field(INT, "How many of the best boxes are looked at; all if it is not positive.", -1)
    coord_start: int = attr_field(INT, "Column of the first of the four coordinates.", 2)
    score_index: int = attr_field(INT, "Column of the score.", 1)
    id_index: int = attr_field(INT, "Column of the class; none if it is negative.", 0)
    return_indices: bool = attr_field(BOOL, "Whether to return what the kept boxes are called, else the boxes.", True)
    invalid_to_bottom: bool = attr_field(BOOL, "Whether boxes that are not kept go behind those that are.", False)


def _suppression_relation(types: Types, attrs: NonMaxSuppressionAttrs) -> Type:
    """The boxes in the order of their scores; or names of the kept ones and their number, both of type int32."""
    data = tensor(types[0], "data", 3)
    batch, boxes, _ = data.dims
    tensor(types[1], "valid_count", 1)
    tensor(types[3], "max_output_size", 0)
    tensor(types[4], "iou_threshold", 0)
    if not attrs.return_indices:
        return data
    return TupleType((TensorType((batch, boxes), "int32"), TensorType((batch, 1), "int32")))


def _suppression_reference(
    attrs: NonMaxSuppressionAttrs, data: Array, count: Array, names: Array, limit: Array, overlap: Array
) -> Array | tuple[Array, Array]:
    boxes = np.full_like(data, -1)
    called, kept_counts = np.full(data.shape[:2], -1, "int32"), np.zeros((len(data), 1), "int32")
    for b, rows in enumerate(data):
        order = np.argsort(-rows[: count[b], attrs.score_index], kind="stable")
        order = order[: attrs.top_k] if attrs.top_k > 0 else order
        kept: list[int] = []
        for place, box in enumerate(order):
            if len(kept) == int(limit):
                break
            boxes[b, place] = rows[box]
            if _is_suppressed(attrs, rows[box], rows[kept], float(overlap)):
                boxes[b, place] = -1
            else:
                kept.append(int(box))
        kept_counts[b] = len(kept)
        if attrs.return_indices:
            called[b, : len(kept)] = names[b, kept]
        if attrs.invalid_to_bottom:
            boxes[b], boxes[b, : len(kept)] = -1, rows[kept]
    return (called, kept_counts) if attrs.return_indices else boxes


def _is_suppressed(attrs: NonMaxSuppressionAttrs, box: Array, better: Array, overlap: float) -> bool:
    by_class = not attrs.force_suppress and attrs.id_index >= 0
    rivals = better[better[:, attrs.id_index] == box[attrs.id_index]] if by_class else better
    corners = slice(attrs.coord_start, attrs.coord_start + 4)
    return bool(np.any(_overlaps(box[corners], rivals[:, corners]) >= overlap))


def _suppression_compute(attrs: NonMaxSuppressionAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    spec = topi.SuppressionSpec(
        force=attrs.force_suppress,
        top_k=attrs.top_k,
        coord_start=attrs.coord_start,
        score_index=attrs.score_index,
        id_index=attrs.id_index,
        to_bottom=attrs.invalid_to_bottom,
    )
    data, count, names, limit, overlap = inputs
    return topi.suppress(data, count, names, limit, overlap, spec, attrs.return_indices)


_NMS = register(
    "vision.non_max_suppression",
    doc="Sort boxes by their scores, and keep those that overlap no better one.",
    inputs={
        "data": "Boxes, ``(N, boxes, columns)``.",
        "valid_count": "How many boxes there are, ``(N,)``; those behind are not looked at.",
        "indices": "What each box is called in the result, ``(N, boxes)``.",
        "max_output_size": Input("How many boxes are kept at most, a scalar; all if it is negative.", -1, "int32"),
        "iou_threshold": Input("Share of their union that two kept boxes must not have in common.", 0.5, "float32"),
    },
    attrs=NonMaxSuppressionAttrs,
    relation=_suppression_relation,
    compute=_suppression_compute,
    reference=_suppression_reference,
    waived={"gradient": "a choice has none"},
)

non_max_suppression = tuple_function(_NMS, lambda call: 2 if NonMaxSuppressionAttrs.of(call).return_indices else None)


class GetValidCountsAttrs(Attrs):
    score_threshold: float | None = attr_field(
        optional(FLOAT), "What the score must exceed, where that is a constant; the text names it.", None
    )
    id_index: int = attr_field(INT, "Column of the class, which must not be negative; none if it is.", 0)
    score_index: int = attr_field(INT, "Column of the score.", 1)


def _counts_relation(types: Types, attrs: GetValidCountsAttrs) -> Type:
    """How many boxes count, ``(N,)``; these, at the front; and their places, ``(N, boxes)``; numbers are int32."""
    data = tensor(types[0], "data", 3)
    tensor(types[1], "score_threshold", 0)
    batch, boxes, _ = data.dims
    return TupleType((TensorType((batch,), "int32"), data, TensorType((batch, boxes), "int32")))


def _counts_reference(attrs: GetValidCountsAttrs, x: Array, threshold: Array) -> tuple[Array, Array, Array]:
    passes = x[..., attrs.score_index] > threshold.astype(x.dtype)
    if attrs.id_index >= 0:
        passes &= x[..., attrs.id_index] >= 0
    boxes, places = np.full_like(x, -1), np.full(x.shape[:2], -1, "int32")
    for b, row in enumerate(passes):
        kept = np.flatnonzero(row)
        boxes[b, : len(kept)], places[b, : len(kept)] = x[b, kept], kept
    return passes.sum(1).astype("int32"), boxes, places


_GET_VALID_COUNTS = register(
    "vision.get_valid_counts",
    doc="Move the boxes whose score exceeds a threshold to the front.",
    inputs={
        "data": "Boxes, ``(N, boxes, columns)``.",
        "score_threshold": Input("What the score must exceed, a scalar.", 0.0, "float32"),
    },
    attrs=GetValidCountsAttrs,
    spelt_out=("score_threshold",),
    relation=_counts_relation,
    compute=lambda attrs, inputs, out_type: topi.get_valid_counts(
        inputs[0], inputs[1], attrs.id_index, attrs.score_index
    ),
    reference=_counts_reference,
    waived=NOT_SMOOTH,
)


@public_function(_GET_VALID_COUNTS)
def get_valid_counts(
    data: RelayExpr, score_threshold: RelayExpr | float = 0.0, id_index: int = 0, score_index: int = 1
) -> TupleWrapper:
    """Move the boxes whose score exceeds a threshold to the front."""
    constant = None if isinstance(score_threshold, RelayExpr) else score_threshold
    attrs = {"score_threshold": constant, "id_index": id_index, "score_index": score_index}
    return TupleWrapper(_GET_VALID_COUNTS.op(data, score_threshold, **attrs), 3)


class RegularNonMaximumSuppressionAttrs(Attrs):
    max_detections_per_class: int = attr_field(POSITIVE_INT, "Number of boxes to choose for each class at most.")
    max_detections: int = attr_field(POSITIVE_INT, "Number of boxes to return for each image.")
    num_classes: int = attr_field(POSITIVE_INT, "Number of classes; columns of the scores before them are left out.")
    iou_threshold: float = attr_field(FLOAT, "Share of their union that two chosen boxes may have in common.")
    score_threshold: float = attr_field(FLOAT, "Score that a chosen box must exceed.")


def _regular_relation(types: Types, attrs: RegularNonMaximumSuppressionAttrs) -> Type:
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


def _regular_reference(
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
    relation=_regular_relation,
    reference=_regular_reference,
    waived={"compute": "one choice depends on those before; the reference runs", "gradient": "a choice has none"},
)

regular_non_max_suppression = tuple_function(_REGULAR_NMS, 4)
