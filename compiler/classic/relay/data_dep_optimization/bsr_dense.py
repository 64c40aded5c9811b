"""Dense layers with block-sparse (BSR) weights."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.classic.relay.data_dep_optimization.sparse_dense import process_params
from compiler.classic.relay.data_dep_optimization.weights import params_of, run_pass
from compiler.classic.relay.transform.sparse_layers import DenseToSparse
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import NDArray


def convert(
    func: Function, params: Mapping[str, NDArray], blocksize: tuple[int, int], sparsity_threshold: float
) -> tuple[Function, dict[str, NDArray]]:
    """Return a function whose dense layers multiply with sparse weights in block compressed rows, and the weights.

    Parameters
    ----------
    blocksize : tuple of int and int
        Rows and columns of a block; a weight whose extents are not multiples stays dense.
    sparsity_threshold : float
        The least share of zeros with which a weight is stored sparsely.

    Examples
    --------
    ``convert(func, params, (32, 1), 0.8)``::

        nn.dense(%x, %weight)
        ->
        nn.sparse_dense(%x, %weight.data, %weight.indices, %weight.indptr)
    """
    values = dict(params)
    weights = process_params(func, values, blocksize, sparsity_threshold)
    sparse = run_pass(DenseToSparse(weights.weight_name, weights.weight_shape), func)
    return sparse, params_of(sparse, params, values)
