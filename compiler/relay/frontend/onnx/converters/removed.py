"""Experimental operators of early versions of the standard, which have since been removed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.microsoft import as_standard
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import Convert, converter, converters
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import reshape, static_dims, transpose

_Formula = Callable[[RelayExpr, float, float], RelayExpr]

_OF_ALPHA_AND_BETA: dict[str, _Formula] = {
    "Affine": lambda x, a, b: ops.add(ops.multiply(x, a), b),
    "ScaledTanh": lambda x, a, b: ops.multiply(ops.tanh(ops.multiply(x, b)), a),
    "ParametricSoftplus": lambda x, a, b: ops.multiply(ops.log(ops.add(ops.exp(ops.multiply(x, b)), 1.0)), a),
}


def _of_alpha_and_beta(formula: _Formula) -> Convert:
    return lambda node: formula(node.inputs[0], float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0)))


converters({name: _of_alpha_and_beta(formula) for name, formula in _OF_ALPHA_AND_BETA.items()})
converters(
    {
        "Scale": lambda node: ops.multiply(node.inputs[0], float(node.attr("scale", 1.0))),
        "SpatialBN": lambda node: as_standard("BatchNormalization", node, *node.inputs),
    }
)


@converter("ImageScaler")
def _image_scaler(node: Node) -> RelayExpr:
    """Scale images, and add to each channel its bias."""
    x = node.inputs[0]
    scaled = ops.multiply(x, float(node.attr("scale", 1.0)))
    bias = node.attr("bias")
    return scaled if bias is None else ops.nn.bias_add(scaled, constant(np.asarray(bias, dtype_of(x))), axis=1)


@converter("Crop")
def _crop(node: Node) -> RelayExpr:
    """Cut borders (left, top, right, bottom) off images, or a part of ``scale`` (height, width) out of them."""
    x = node.inputs[0]
    if rank_of(x) != 4:
        raise ConversionError(f"the input must have 4 dimensions, got {rank_of(x)}")
    left, top, right, bottom = node.attr("border", [0, 0, 0, 0])
    height, width = static_dims(x, "the input", [2, 3])
    size = node.attr("scale")
    ends = [height - bottom, width - right] if size is None else [top + size[0], left + size[1]]
    return ops.strided_slice(x, [top, left], ends, axes=[2, 3])


@converter("FC")
def _fully_connected(node: Node) -> RelayExpr:
    """Return ``x @ w.T + b``, where the axes of a sample are one."""
    x, weight, bias = node.inputs
    if node.attr("axis", 1) != 1 or node.attr("axis_w", 1) != 1:
        raise ConversionError("axis and axis_w must be 1")
    rows = reshape(x, [dims_of(x)[0], -1]) if rank_of(x) != 2 else x
    return ops.add(matmul(rows, transpose(weight, [1, 0])), bias)
