"""Region proposals: ``vision.proposal``."""

from __future__ import annotations

import itertools

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, FLOAT, FLOATS, INT
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent, has_any_dim
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, Types
from compiler.relay.ty import AnyDim, TensorType

_FASTER_RCNN = (
    'S. Ren et al., "Faster R-CNN: Towards Real-Time Object Detection with Region Proposal Networks", NIPS 2015.',
)


class ProposalAttrs(Attrs):
    scales: tuple[float, ...] = attr_field(
        FLOATS, "Sizes of the anchors, in ``feature_stride``.", (4.0, 8.0, 16.0, 32.0)
    )
    ratios: tuple[float, ...] = attr_field(FLOATS, "Heights of the anchors by their widths.", (0.5, 1.0, 2.0))
    feature_stride: int = attr_field(INT, "Pixels of the image for one element of the features.", 16)
    threshold: float = attr_field(FLOAT, "Share of their union that two chosen boxes may have in common.", 0.7)
    rpn_pre_nms_top_n: int = attr_field(INT, "How many of the best boxes are looked at; all if not positive.", 6000)
    rpn_post_nms_top_n: int = attr_field(INT, "How many boxes are returned for each image.", 300)
    rpn_min_size: int = attr_field(INT, "Height and width of the smallest box, in pixels of the original image.", 16)
    iou_loss: bool = attr_field(BOOL, "Whether the network predicts shifts of corners, else centres and sizes.", False)


def _relation(types: Types, attrs: ProposalAttrs) -> Type:
    """``(batch * rpn_post_nms_top_n, 5)``: the image and the corners of each region."""
    scores, deltas, info = (
        tensor(t, n, r) for t, n, r in zip(types, ("cls_prob", "bbox_pred", "im_info"), (4, 4, 2), strict=True)
    )
    anchors = len(attrs.scales) * len(attrs.ratios)
    check_same_extent(scores.dims[1], 2 * anchors, "the channels of cls_prob and twice the number of anchors")
    check_same_extent(deltas.dims[1], 4 * anchors, "the channels of bbox_pred and four times the number of anchors")
    check_same_extent(info.dims[1], 3, "the columns of im_info (height, width, scale)")
    batch = scores.dims[0]
    rows = AnyDim() if has_any_dim(batch) else batch * attrs.rpn_post_nms_top_n
    return TensorType((rows, 5), scores.dtype)


def _anchors(attrs: ProposalAttrs) -> Array:
    """Return the corners of the anchors of the first element, ``(anchors, 4)``."""
    stride = attrs.feature_stride
    centre, boxes = (stride - 1) / 2, []
    for ratio, scale in itertools.product(attrs.ratios, attrs.scales):
        width = np.floor(np.sqrt(np.floor(stride * stride / ratio)) + 0.5)
        height = np.floor(width * ratio + 0.5)
        half = np.array([width * scale - 1, height * scale - 1]) / 2
        boxes.append([*(centre - half), *(centre + half)])
    return np.asarray(boxes, "float32")


def _moved(boxes: Array, deltas: Array, by_corners: bool) -> Array:
    """Return boxes, ``(…, 4)``, as the network corrects them."""
    if by_corners:
        return np.asarray(boxes + deltas)
    size = boxes[..., 2:] - boxes[..., :2] + 1
    centre = boxes[..., :2] + (size - 1) / 2 + deltas[..., :2] * size
    half = (np.exp(deltas[..., 2:]) * size - 1) / 2
    return np.concatenate([centre - half, centre + half], -1)


def _predicted(attrs: ProposalAttrs, scores: Array, deltas: Array, info: Array) -> tuple[Array, Array]:
    """Return the boxes of an image and their scores, element by element; -1 is the score of what does not count."""
    anchors = _anchors(attrs)
    count, (height, width) = len(anchors), scores.shape[1:]
    rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    places = np.stack([columns, rows, columns, rows], -1)[:, :, None] * np.float32(attrs.feature_stride)
    by_anchor = deltas.reshape(count, 4, height, width).transpose(2, 3, 0, 1)
    boxes = _moved(anchors + places, by_anchor, attrs.iou_loss)
    boxes = np.clip(boxes, 0, np.asarray([info[1], info[0], info[1], info[0]], "float32") - 1)
    values = scores[count:].transpose(1, 2, 0).copy()
    inside = (rows < int(info[0] / attrs.feature_stride)) & (columns < int(info[1] / attrs.feature_stride))
    values[~inside] = -1
    least = np.float32(attrs.rpn_min_size * info[2])
    small = ((boxes[..., 2:] - boxes[..., :2] + 1) < least).any(-1)
    boxes[small] += np.asarray([-1, -1, 1, 1], "float32") * (least / 2)
    values[small] = -1
    return boxes.reshape(-1, 4), values.reshape(-1)


def _kept(boxes: Array, threshold: float, limit: int) -> list[int]:
    """Return the boxes that overlap none before them too much; edges are pixels, which count."""
    kept: list[int] = []
    areas = np.prod(boxes[:, 2:] - boxes[:, :2] + 1, -1)
    for box in range(len(boxes)):
        others = boxes[kept]
        low, high = np.maximum(others[:, :2], boxes[box, :2]), np.minimum(others[:, 2:], boxes[box, 2:])
        shared = np.prod(np.maximum(high - low + 1, 0), -1)
        if len(kept) < limit and not (shared / (areas[kept] + areas[box] - shared) > threshold).any():
            kept.append(box)
    return kept


def _reference(attrs: ProposalAttrs, cls_prob: Array, bbox_pred: Array, im_info: Array) -> Array:
    rows: list[Array] = []
    for image, (scores, deltas, info) in enumerate(zip(cls_prob, bbox_pred, im_info, strict=True)):
        boxes, values = _predicted(attrs, scores, deltas, info)
        order = np.argsort(-values, kind="stable")
        if attrs.rpn_pre_nms_top_n > 0:
            order = order[: attrs.rpn_pre_nms_top_n]
        best = boxes[order]
        kept = _kept(best, attrs.threshold, attrs.rpn_post_nms_top_n)
        for place in range(attrs.rpn_post_nms_top_n):
            rows.append(np.concatenate([[image], best[kept[place % len(kept)]]]))
    return np.asarray(rows, cls_prob.dtype).reshape(-1, 5)


_PROPOSAL = register(
    "vision.proposal",
    doc="Choose the regions of images that a region proposal network finds, the best first; few are repeated in turn.",
    inputs={
        "cls_prob": "Probabilities of background and of objects by anchor, ``(N, 2 * anchors, H, W)``.",
        "bbox_pred": "What the anchors are moved by, ``(N, 4 * anchors, H, W)``.",
        "im_info": "Height, width and scale of each image, ``(N, 3)``.",
    },
    attrs=ProposalAttrs,
    relation=_relation,
    reference=_reference,
    references=_FASTER_RCNN,
    waived={"compute": "one choice depends on those before; the reference runs", "gradient": "a choice has none"},
)
