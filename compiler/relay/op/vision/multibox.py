"""Anchor boxes: ``vision.multibox_prior``, ``vision.multibox_transform_loc``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, FLOAT, FLOATS
from compiler.ir.types import Type
from compiler.relay.op.common import NOT_SMOOTH, check_same_extent
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register, tuple_function
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import TensorType, TupleType
from compiler.topi.vision import multibox as topi

_SSD = ('W. Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016, section 2.',)


class MultiBoxPriorAttrs(Attrs):
    sizes: tuple[float, ...] = attr_field(
        FLOATS, "Heights of boxes with the first aspect ratio, as shares of the image's.", (1.0,)
    )
    ratios: tuple[float, ...] = attr_field(
        FLOATS, "Aspect ratios; all but the first one for boxes of the first size.", (1.0,)
    )
    steps: tuple[float, ...] = attr_field(
        FLOATS, "Distances of places along the height and the width; one over the extent where not positive.", (-1, -1)
    )
    offsets: tuple[float, ...] = attr_field(FLOATS, "Where the first place is, in steps.", (0.5, 0.5))
    clip: bool = attr_field(BOOL, "Whether coordinates are brought into the image, from 0 to 1.", False)


class MultiBoxTransformLocAttrs(Attrs):
    clip: bool = attr_field(BOOL, "Whether coordinates are brought into the image, from 0 to 1.", True)
    threshold: float = attr_field(FLOAT, "Least probability of an object's class.", 0.01)
    variances: tuple[float, ...] = attr_field(
        FLOATS, "What the changes of an anchor are multiplied with.", (0.1, 0.1, 0.2, 0.2)
    )
    keep_background: bool = attr_field(
        BOOL, "Whether every anchor has a box, below the threshold that of class 0; others then count from 1.", False
    )


# anchors


def _prior_relation(types: Types, attrs: MultiBoxPriorAttrs) -> Type:
    """``(1, H * W * (sizes + ratios - 1), 4)``: left, top, right and bottom of each box."""
    data = tensor(types[0], "data", 4)
    height, width = data.dims[2:]
    if not isinstance(height, int) or not isinstance(width, int):
        raise RelationError(f"the height and the width of data must be known, got {data}")
    if not attrs.sizes or not attrs.ratios or len(attrs.steps) != 2 or len(attrs.offsets) != 2:
        raise RelationError("sizes, ratios, two steps and two offsets must be given")
    return TensorType((1, height * width * (len(attrs.sizes) + len(attrs.ratios) - 1), 4), data.dtype)


def _prior_reference(attrs: MultiBoxPriorAttrs, x: Array) -> Array:
    extents = x.shape[2:]
    widths, heights = (np.array(h) for h in topi.half_sizes(attrs.sizes, attrs.ratios, *extents))
    steps = [s if s > 0 else 1 / e for s, e in zip(attrs.steps, extents, strict=True)]
    rows, columns = (
        ((np.arange(e) + offset) * step) for e, offset, step in zip(extents, attrs.offsets, steps, strict=True)
    )
    center = np.meshgrid(rows, columns, indexing="ij")
    y, x_ = (c.reshape(-1, 1) for c in center)
    boxes = np.stack([x_ - widths, y - heights, x_ + widths, y + heights], -1).reshape(1, -1, 4)
    return (np.clip(boxes, 0, 1) if attrs.clip else boxes).astype(x.dtype)


multibox_prior = register(
    "vision.multibox_prior",
    doc="Return the anchor boxes around each place of a feature map.",
    inputs={"data": "The feature map, ``(N, C, H, W)``; its elements do not matter."},
    attrs=MultiBoxPriorAttrs,
    relation=_prior_relation,
    pattern=OpPattern.INJECTIVE,
    definition=topi.multibox_prior,
    reference=_prior_reference,
    references=_SSD,
    waived={"gradient": "boxes do not depend on the elements of the data"},
)


# objects


def _transform_relation(types: Types, attrs: MultiBoxTransformLocAttrs) -> Type:
    """``(N, anchors, 6)``: class, probability and edges; and the number of boxes, ``(N,)`` of type int32."""
    probability, change = tensor(types[0], "cls_prob", 3), tensor(types[1], "loc_pred", 2)
    anchor = tensor(types[2], "anchor", 3)
    batch, _, anchors = probability.dims
    check_same_extent(anchor.dims[1], anchors, "the anchors and those of cls_prob")
    check_same_extent(anchor.dims[2], 4, "the coordinates of an anchor")
    check_same_extent(change.dims[0], batch, "the batch of loc_pred and that of cls_prob")
    if isinstance(anchors, int):
        check_same_extent(change.dims[1], anchors * 4, "the columns of loc_pred and four for each anchor")
    if len(attrs.variances) != 4:
        raise RelationError(f"there must be four variances, got {attrs.variances}")
    return TupleType((TensorType((batch, anchors, 6), probability.dtype), TensorType((batch,), "int32")))


def _transform_reference(
    attrs: MultiBoxTransformLocAttrs, probability: Array, change: Array, anchor: Array
) -> tuple[Array, Array]:
    batch, _, anchors = probability.shape
    labels, best = probability[:, 1:].argmax(1), probability[:, 1:].max(1)
    change = change.reshape(batch, anchors, 4) * np.array(attrs.variances, change.dtype)
    low, high = anchor[..., :2], anchor[..., 2:]
    center = change[..., :2] * (high - low) + (low + high) / 2
    half = np.exp(change[..., 2:]) * (high - low) / 2
    edges = np.concatenate([center - half, center + half], -1)
    edges = np.clip(edges, 0, 1) if attrs.clip else edges
    boxes = np.full((batch, anchors, 6), -1, probability.dtype)
    count = np.zeros(batch, "int32")
    for n in range(batch):
        shows = best[n] >= np.asarray(attrs.threshold, best.dtype)
        seen = np.arange(anchors) if attrs.keep_background else np.flatnonzero(shows)
        named = np.where(shows, labels[n] + 1, 0) if attrs.keep_background else labels[n]
        count[n] = len(seen)
        columns = [named[seen, None], best[n, seen, None], edges[n, seen]]
        boxes[n, : len(seen)] = np.concatenate(columns, -1)
    return boxes, count


_TRANSFORM_LOC = register(
    "vision.multibox_transform_loc",
    doc="Return the boxes of the anchors that show an object, moved to where the network sees it.",
    inputs={
        "cls_prob": "Probabilities of classes, ``(N, classes, anchors)``; the first class is the background.",
        "loc_pred": "How centre and size of each anchor change, ``(N, anchors * 4)``.",
        "anchor": "Anchor boxes, ``(1, anchors, 4)``: left, top, right and bottom.",
    },
    attrs=MultiBoxTransformLocAttrs,
    spelt_out=("variances",),
    relation=_transform_relation,
    definition=topi.multibox_transform_loc,
    reference=_transform_reference,
    references=_SSD,
    waived=NOT_SMOOTH,
)

multibox_transform_loc = tuple_function(_TRANSFORM_LOC, 2)
