"""Dense layers with sparse weights, which are stored by their blocks that are not zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.ir.node import rebuild
from compiler.relay.analysis import free_vars
from compiler.relay.expr import Call, Var
from compiler.relay.function import Function
from compiler.relay.op.nn.sparse import sparse_dense
from compiler.relay.transform.rewriter import GraphMutator, op_name
from compiler.relay.ty import TensorType
from compiler.runtime.ndarray import NDArray, array

__all__ = ["convert"]

Blocks = dict[str, npt.NDArray[Any]]


def convert(
    func: Function, params: Mapping[str, NDArray], blocksize: tuple[int, int], sparsity_threshold: float
) -> tuple[Function, dict[str, NDArray]]:
    """Return a function whose dense layers multiply with sparse weights in block compressed rows, and the weights.

    Parameters
    ----------
    func : Function
    params : mapping of str to NDArray
        The weights by the names of their parameters.
    blocksize : tuple of int and int
        Rows and columns of a block; a weight whose extents are no multiples stays dense.
    sparsity_threshold : float
        The least share of zeros with which a weight is stored sparsely.

    Returns
    -------
    func : Function
    params : dict of str to NDArray
        With ``name.data``, ``name.indices`` and ``name.indptr`` in place of ``name`` for each weight that is sparse.

    Examples
    --------
    ``convert(func, params, (32, 1), 0.8)``::

        nn.dense(%x, %weight)
        ->
        %0 = (%weight.data, %weight.indices, %weight.indptr);
        nn.sparse_dense(%x, %0)
    """
    stored = {
        name: _block_rows(value.numpy(), blocksize)
        for name, value in params.items()
        if _is_sparse(value.numpy(), blocksize, sparsity_threshold)
    }
    body = _ToSparse(stored).rewrite(func.body)
    used = free_vars(body)
    variables = (*(param for param in func.params if param in used), *(v for v in used if v not in func.params))
    weights = {f"{name}.{part}": array(value) for name, parts in stored.items() for part, value in parts.items()}
    unused = (stored.keys() | weights.keys()) - {var.name_hint for var in variables}
    values = {name: value for name, value in (dict(params) | weights).items() if name not in unused}
    return rebuild(func, params=variables, body=body), values


def _is_sparse(weight: npt.NDArray[Any], blocksize: tuple[int, int], threshold: float) -> bool:
    blocks = weight.ndim == 2 and all(n % b == 0 for n, b in zip(weight.shape, blocksize, strict=True))
    return blocks and weight.size > 0 and 1 - int(np.count_nonzero(weight)) / weight.size >= threshold


def _block_rows(weight: npt.NDArray[Any], blocksize: tuple[int, int]) -> Blocks:
    """Return the blocks of a matrix that are not zero, row by row, their columns, and where each row begins."""
    rows, columns = (n // b for n, b in zip(weight.shape, blocksize, strict=True))
    blocks = weight.reshape(rows, blocksize[0], columns, blocksize[1]).transpose(0, 2, 1, 3)
    filled = blocks.any(axis=(2, 3))
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    return {
        "data": np.ascontiguousarray(blocks[filled]),
        "indices": np.nonzero(filled)[1].astype("int32"),
        "indptr": indptr.astype("int32"),
    }


class _ToSparse(GraphMutator):
    """Makes dense layers with stored weights sparse; other uses of a weight stay."""

    def __init__(self, stored: Mapping[str, Blocks]) -> None:
        super().__init__()
        self._parts = {
            name: [Var(f"{name}.{part}", TensorType(value.shape, str(value.dtype))) for part, value in parts.items()]
            for name, parts in stored.items()
        }

    def visit_call(self, call: Call) -> Any:
        new = super().visit_call(call)
        if op_name(new) != "nn.dense" or not isinstance(new.args[1], Var) or new.args[1].name_hint not in self._parts:
            return new
        return sparse_dense(new.args[0], self._parts[new.args[1].name_hint])
