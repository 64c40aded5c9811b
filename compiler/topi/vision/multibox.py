"""SSD anchor boxes: generating and decoding them.

References
----------
W. Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import constant, dims
from compiler.topi.tag import Tag
from compiler.topi.vision.compaction import compacted
from compiler.topi.vision.nms import non_max_suppression

__all__ = ["multibox_detection", "multibox_prior", "multibox_transform_loc"]


def half_sizes(
    sizes: Sequence[float], ratios: Sequence[float], height: int, width: int
) -> tuple[list[float], list[float]]:
    """Return half of the widths and of the heights of the boxes around one place; see :func:`multibox_prior`."""
    scale = height / width
    roots = [math.sqrt(ratio) for ratio in ratios[1:]]
    widths = [size * scale / 2 for size in sizes] + [sizes[0] * scale * root / 2 for root in roots]
    heights = [size / 2 for size in sizes] + [sizes[0] / root / 2 for root in roots]
    return widths, heights


def multibox_prior(
    data: Tensor,
    sizes: Sequence[float] = (1.0,),
    ratios: Sequence[float] = (1.0,),
    steps: Sequence[float] = (-1.0, -1.0),
    offsets: Sequence[float] = (0.5, 0.5),
    clip: bool = False,
) -> Tensor:
    """Return the anchor boxes (left, top, right, bottom) around each place of a feature map NCHW of constant extents.

    The result is ``(1, H * W * (len(sizes) + len(ratios) - 1), 4)``.

    Parameters
    ----------
    sizes : sequence of float
        Heights of boxes with the first aspect ratio, as shares of the image's.
    ratios : sequence of float
        Aspect ratios; all but the first one for boxes of the first size.
    steps : sequence of float
        Distances of places along the height and the width; one over the extent where not positive.
    offsets : sequence of float
        Where the first place is, in steps.
    clip : bool
        Whether coordinates are brought into the image, from 0 to 1.
    """
    height, width = (constant(e, "multibox_prior") for e in dims(data)[2:])
    halves = half_sizes(sizes, ratios, height, width)
    count = len(halves[0])
    step = [s if s > 0 else 1.0 / e for s, e in zip(steps, (height, width), strict=True)]

    def element(_: Var, box: Var, corner: Var) -> PrimExpr:
        place, kind = box // count, box % count
        row, column = place // width, place % width
        vertical = (corner % 2).equal(1)
        center = tir.Select(
            vertical, (row.astype("float32") + offsets[0]) * step[0], (column.astype("float32") + offsets[1]) * step[1]
        )
        half = tir.Select(vertical, _chosen(kind, halves[1]), _chosen(kind, halves[0]))
        edge: PrimExpr = tir.Select(corner < 2, center - half, center + half)
        edge = te.max(te.min(edge, tir.const(1.0, "float32")), tir.const(0.0, "float32")) if clip else edge
        return edge.astype(data.dtype)

    return compute((1, height * width * count, 4), element, name="multibox_prior", tag=Tag.INJECTIVE)


def _chosen(kind: PrimExpr, values: Sequence[float]) -> PrimExpr:
    """Return the value of a number, out of a short list."""
    chosen: PrimExpr = tir.const(values[-1], "float32")
    for index, value in enumerate(values[:-1]):
        chosen = tir.Select(kind.equal(index), tir.const(value, "float32"), chosen)
    return chosen


def multibox_transform_loc(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    keep_background: bool = False,
) -> list[Tensor]:
    """Return the boxes of the anchors that show an object, moved to where the network sees it, and their numbers.

    A box, of ``(N, anchors, 6)``, is class, probability, left, top, right and bottom; -1 in rows that are not used.

    Parameters
    ----------
    cls_prob : Tensor
        Probabilities of classes, ``(N, classes, anchors)``; the first class is the background.
    loc_pred : Tensor
        How centre and size of each anchor change, ``(N, anchors * 4)``.
    anchor : Tensor
        ``(1, anchors, 4)``: left, top, right, bottom.
    clip : bool
        Whether coordinates are brought into the image, from 0 to 1.
    keep_background : bool
        Whether every anchor has a box, those below the threshold that of class 0; the others then count from 1.
    """
    batch, classes, anchors = dims(cls_prob)
    c = te.reduce_axis((0, constant(classes, "multibox_transform_loc")), name="c")
    background = tir.min_value(cls_prob.dtype)

    def probability(n: Var, i: Var) -> PrimExpr:
        return te.max(tir.Select(c.var > 0, cls_prob(n, c.var, i), background), axis=c)

    best = compute((batch, anchors), probability, name="best", tag=Tag.COMM_REDUCE)
    k = te.reduce_axis((0, constant(classes, "multibox_transform_loc")), name="k")

    def label(n: Var, i: Var) -> PrimExpr:
        here = te.all(k.var > 0, cls_prob(n, k.var, i).equal(best(n, i)))
        return te.min(tir.Select(here, k.var, tir.const(classes, "int32")), axis=k)

    labels = compute((batch, anchors), label, name="label", tag=Tag.COMM_REDUCE)
    least = tir.const(threshold, cls_prob.dtype)
    everything = tir.const(True, "bool")
    count, sources = compacted(batch, anchors, lambda n, i: everything if keep_background else best(n, i) >= least)

    def seen(n: Var, i: PrimExpr) -> PrimExpr:
        shown = tir.Select(best(n, i) >= least, labels(n, i), tir.const(0, "int32"))
        return shown if keep_background else labels(n, i) - 1

    def element(n: Var, row: Var, column: Var) -> PrimExpr:
        source = te.max(sources(n, row), 0)
        change, corners = ([loc_pred(n, source * 4 + d) for d in range(4)], [anchor(0, source, d) for d in range(4)])
        edges = _moved(change, corners, variances)
        if clip:
            edges = [te.max(te.min(edge, tir.const(1, edge.dtype)), tir.const(0, edge.dtype)) for edge in edges]
        values = [seen(n, source).astype(cls_prob.dtype), best(n, source), *edges]
        chosen = values[-1]
        for index, value in enumerate(values[:-1]):
            chosen = te.if_then_else(column.equal(index), value, chosen)
        return te.if_then_else(sources(n, row) >= 0, chosen, tir.const(-1.0, cls_prob.dtype))

    boxes = compute((batch, anchors, 6), element, name="multibox_transform_loc", tag=Tag.INJECTIVE)
    return [boxes, count]


def _moved(change: Sequence[PrimExpr], anchor: Sequence[PrimExpr], variances: Sequence[float]) -> list[PrimExpr]:
    """Return the edges of an anchor whose centre is moved and whose size is scaled."""
    low, high = [], []
    for d in range(2):
        extent = anchor[d + 2] - anchor[d]
        center = change[d] * variances[d] * extent + (anchor[d] + anchor[d + 2]) / 2.0
        half = te.exp(change[d + 2] * variances[d + 2]) * extent / 2.0
        low.append(center - half)
        high.append(center + half)
    return low + high


def multibox_detection(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> Tensor:
    """Return the best of the boxes in which a network sees an object, as :func:`multibox_transform_loc` moves them.

    Boxes that overlap by more than ``nms_threshold`` are one, with ``force_suppress`` also those of different classes;
    ``nms_topk`` of them are compared, or all if it is negative.
    """
    boxes, count = multibox_transform_loc(cls_prob, loc_pred, anchor, clip, threshold, variances)
    best = non_max_suppression(boxes, count, count, -1, nms_threshold, force_suppress, nms_topk, return_indices=False)
    assert isinstance(best, Tensor), "indices are not asked for"
    return best
