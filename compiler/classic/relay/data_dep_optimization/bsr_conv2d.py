"""Convolutions with block-sparse (BSR) weights."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.classic.relay.data_dep_optimization.sparse_conv2d import process_params
from compiler.classic.relay.data_dep_optimization.weights import params_of, run_pass
from compiler.classic.relay.transform.sparse_layers import Conv2dToSparse, Conv2dToSparse2
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import NDArray


def convert(
    func: Function,
    params: Mapping[str, NDArray],
    blocksize: tuple[int, int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> tuple[Function, dict[str, NDArray]]:
    """Return a function whose convolutions have sparse weights in block compressed rows, and the weights.

    ``name.data``, ``name.indices`` and ``name.indptr`` stand in place of ``name`` for each weight that is sparse.

    Parameters
    ----------
    blocksize : tuple of int and int
        Rows and columns of a block of a weight, which has a row for each output channel.
    sparsity_threshold : float
        The least share of zeros with which a weight is stored sparsely.
    layout : {"NHWC", "NCHW"}
        Of the data; weights are then HWIO or OIHW.
    kernel_size : int
        The extents of the window; other convolutions stay.
    """
    values = dict(params)
    weights = process_params(func, values, blocksize, sparsity_threshold, layout, kernel_size)
    sparse = run_pass(Conv2dToSparse(weights.weight_name, weights.weight_shape, layout, kernel_size), func)
    return sparse, params_of(sparse, params, values)


def convert2(
    func: Function,
    params: Mapping[str, NDArray],
    blocksize: tuple[int, int],
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
) -> tuple[Function, dict[str, NDArray]]:
    """Return a function whose convolutions by constants have sparse weights; parameters are as in :func:`convert`."""
    return run_pass(Conv2dToSparse2(layout, kernel_size, blocksize, sparsity_threshold), func), dict(params)
