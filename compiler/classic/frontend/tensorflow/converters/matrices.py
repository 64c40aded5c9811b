"""Einsum, and operators on diagonals of matrices."""

from __future__ import annotations

import numpy as np

from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.einsum import explicit_equation
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, static_dims


@converter("Einsum")
def _einsum(node: Node) -> RelayExpr:
    equation = explicit_equation(node.required("equation"), [rank_of(x) for x in node.inputs])
    return ops.einsum(list(node.inputs), equation)


@converter("MatrixBandPart")
def _band_part(node: Node) -> RelayExpr:
    """Convert ``MatrixBandPart``, where a negative number of diagonals keeps the whole triangle."""
    x = node.inputs[0]
    (below,), (above,) = node.ints(1, "the diagonals below"), node.ints(2, "those above")
    *_, rows, columns = static_dims(x, "the input")
    bounded(rows, columns)
    distance = np.arange(columns) - np.arange(rows)[:, np.newaxis]
    kept = (distance >= -(below if below >= 0 else rows)) & (distance <= (above if above >= 0 else columns))
    return ops.where(constant(kept, "bool"), x, ops.zeros_like(x))


@converter("MatrixSetDiag")
def _matrix_set_diag(node: Node) -> RelayExpr:
    return ops.matrix_set_diag(*node.inputs)


@converter("MatrixSetDiagV2", "MatrixSetDiagV3")
def _matrix_set_diagonals(node: Node) -> RelayExpr:
    x, diagonal, _ = node.inputs
    ks = node.ints(2, "the diagonals")
    return ops.matrix_set_diag(x, diagonal, (ks[0], ks[-1]), _alignment(node))


def _alignment(node: Node) -> str:
    """Return the alignment of shorter diagonals, which is left by default in older versions."""
    return node.attr("align", "RIGHT_LEFT") if node.operator.endswith("V3") else "LEFT_LEFT"


@converter("MatrixDiagV2", "MatrixDiagV3")
def _matrix_diagonals(node: Node) -> RelayExpr:
    """Build matrices from diagonals, by default of the smallest size, with a padding value elsewhere."""
    diagonal, *_, fill = node.inputs
    ks, (rows, columns) = node.ints(1, "the diagonals"), (node.ints(i, "an extent")[0] for i in (2, 3))
    low, high = ks[0], ks[-1]
    dims = static_dims(diagonal, "the diagonals")
    batch, longest = (dims[:-2] if low != high else dims[:-1]), dims[-1]
    if rows == -1 and columns == -1:
        rows = columns = longest + max(-high, low, 0)
    rows = max(longest - min(high, 0), 1) if rows == -1 else rows
    columns = max(longest + max(low, 0), 1) if columns == -1 else columns
    bounded(*batch, rows, columns)
    empty = ops.full(fill, [*batch, rows, columns], dtype_of(diagonal))
    return ops.matrix_set_diag(empty, diagonal, (low, high), _alignment(node))


@converter("MatrixDiag")
def _matrix_diag(node: Node) -> RelayExpr:
    x = node.inputs[0]
    *batch, extent = static_dims(x, "the input")
    bounded(*batch, extent, extent)
    return ops.matrix_set_diag(ops.zeros([*batch, extent, extent], dtype_of(x)), x)
