"""Linear models of the domain ``ai.onnx.ml``."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import constant, ops
from compiler.relay.frontend.shared.tensors import cast


@converter("LinearRegressor", domain="ai.onnx.ml")
def _linear_regressor(node: Node) -> RelayExpr:
    """Return ``x @ coefficients.T + intercepts``, a column for each target."""
    transform = node.attr("post_transform", "NONE")
    if transform != "NONE":
        raise ConversionError(f"attribute post_transform = {transform!r} is not supported")
    coefficients = np.asarray(node.required("coefficients"), np.float32)
    targets = node.attr("targets", 1)
    if targets < 1 or coefficients.size % targets:
        raise ModelError(f"{coefficients.size} coefficients cannot be divided among {targets} targets")
    weights = np.ascontiguousarray(coefficients.reshape(targets, -1).T)
    product = matmul(cast(node.inputs[0], "float32"), constant(weights))
    intercepts = node.attr("intercepts")
    return product if intercepts is None else ops.add(product, constant(np.asarray(intercepts, np.float32)))
