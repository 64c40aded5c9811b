"""``relay.analysis.sparse_dense``: finds sparse weights of dense layers."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.relay.data_dep_optimization.weights import Params, store_blocks, weights_of
from compiler.classic.relay.sparse_weights import SparseAnalysisResult, block_rows, sparse_enough
from compiler.relay.expr import GraphExpr

__all__ = ["SparseAnalysisResult", "process_params"]


def process_params(
    expr: GraphExpr, params: Params, block_size: Sequence[int], sparsity_threshold: float
) -> SparseAnalysisResult:
    """Replace the weights of dense layers that have many zeros by their blocks that have others.

    In ``params``, ``name.data``, ``name.indices`` and ``name.indptr`` replace ``name``; the names of the weights, and
    the shapes of their parts are returned.  The other parameters are those of ``bsr_dense.convert``.
    """
    stored = {
        name: block_rows(params[name].view(), block_size)
        for name in weights_of(expr, "nn.dense", params)
        if sparse_enough(params[name].view(), block_size, sparsity_threshold)
    }
    return store_blocks(params, stored)
