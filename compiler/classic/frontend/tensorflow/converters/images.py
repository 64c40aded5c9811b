"""Cropping and resizing of images."""

from __future__ import annotations

from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import ops
from compiler.relay.frontend.shared.tensors import cast


@converter("CropAndResize")
def _crop_and_resize(node: Node) -> RelayExpr:
    """Convert ``CropAndResize``, whose crop size must be known; the boxes may be dynamic."""
    image, boxes, indices = node.inputs[:3]
    height, width = node.ints(3, "the size of the crops")
    method = node.attr("method", "bilinear")
    return ops.image.crop_and_resize(
        cast(image, "float32"),
        boxes,
        indices,
        (height, width),
        layout="NHWC",
        method="nearest_neighbor" if method == "nearest" else method,
        extrapolation_value=float(node.attr("extrapolation_value", 0.0)),
    )
