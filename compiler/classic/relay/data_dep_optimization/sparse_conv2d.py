"""``relay.analysis.sparse_conv2d``: finds sparse weights of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.relay.data_dep_optimization.weights import Params, store_blocks, weights_of
from compiler.classic.relay.sparse_weights import (
    BlockRows,
    SparseAnalysisResult,
    block_rows,
    conv_matrix,
    sparse_enough,
)
from compiler.relay.expr import GraphExpr

__all__ = ["SparseAnalysisResult", "process_params"]


def process_params(
    expr: GraphExpr,
    params: Params,
    block_size: Sequence[int],
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
    reg_task_input: bool = True,
) -> SparseAnalysisResult:
    """Replace the weights of convolutions that have many zeros by their blocks that have others.

    In ``params``, ``name.data``, ``name.indices`` and ``name.indptr`` replace ``name``; the names of the weights, and
    the shapes of their parts are returned.  The other parameters are those of ``bsr_conv2d.convert``; weights are not
    noted for a search of schedules (``reg_task_input``), of which there is none.
    """
    stored: dict[str, BlockRows] = {}
    for name in weights_of(expr, "nn.conv2d", params):
        matrix = conv_matrix(params[name].view(), layout, kernel_size)
        if matrix is not None and sparse_enough(matrix, block_size, sparsity_threshold):
            blocks = block_rows(matrix, block_size)
            columns = kernel_size == 1 and block_size[1] == 1
            stored[name] = blocks._replace(data=blocks.data[..., 0]) if columns else blocks
    return store_blocks(params, stored)
