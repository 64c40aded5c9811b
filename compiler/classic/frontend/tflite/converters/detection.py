"""Object detection: non-maximum suppression."""

from __future__ import annotations

from compiler.classic.frontend.shared.boxes import non_max_suppression, pad_boxes
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError


@converter("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def _non_max_suppression(node: Node) -> list[RelayExpr]:
    boxes, scores, limit, overlap, least = node.inputs[:5]
    (most,) = node.ints(2, "the number of boxes")
    with_scores = node.operation.operator.endswith("V5")
    if with_scores and node.value(5, "the softness").any():
        raise ConversionError("soft non-maximum suppression (soft_nms_sigma) is not supported")
    chosen, count = non_max_suppression(boxes, scores, limit, overlap, least)
    chosen, values = pad_boxes(chosen, count, scores, most)
    return [chosen, values, count] if with_scores else [chosen, count]
