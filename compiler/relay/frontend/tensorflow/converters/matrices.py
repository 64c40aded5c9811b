"""Products of tensors along axes that an equation names, and parts of matrices beside their diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.relay.frontend.shared.einsum import spelled_out
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, static_dims
from compiler.relay.frontend.tensorflow.node import Node
from compiler.relay.frontend.tensorflow.registry import converter


@converter("Einsum")
def _einsum(node: Node) -> Any:
    equation = spelled_out(node.required("equation"), [rank_of(x) for x in node.inputs])
    return ops.einsum(list(node.inputs), equation)


@converter("MatrixBandPart")
def _band_part(node: Node) -> Any:
    """Keep some diagonals below and above the main one; a negative number keeps all of that side."""
    x = node.inputs[0]
    (below,), (above,) = node.ints(1, "the diagonals below"), node.ints(2, "those above")
    *_, rows, columns = static_dims(x, "the input")
    bounded(rows, columns)
    distance = np.arange(columns) - np.arange(rows)[:, np.newaxis]
    kept = (distance >= -(below if below >= 0 else rows)) & (distance <= (above if above >= 0 else columns))
    return ops.where(constant(kept, "bool"), x, ops.zeros_like(x))


@converter("MatrixSetDiag")
def _matrix_set_diag(node: Node) -> Any:
    return ops.matrix_set_diag(*node.inputs)


@converter("MatrixSetDiagV3")
def _matrix_set_diagonals(node: Node) -> Any:
    x, diagonal, _ = node.inputs
    ks = node.ints(2, "the diagonals")
    return ops.matrix_set_diag(x, diagonal, (ks[0], ks[-1]), node.attr("align", "RIGHT_LEFT"))


@converter("MatrixDiag")
def _matrix_diag(node: Node) -> Any:
    x = node.inputs[0]
    *batch, extent = static_dims(x, "the input")
    bounded(*batch, extent, extent)
    return ops.matrix_set_diag(ops.zeros([*batch, extent, extent], dtype_of(x)), x)
