"""Weights as block compressed rows: their blocks that are not zero, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Weight = npt.NDArray[Any]

CONV_ORDERS = {"NHWC": (3, 0, 1, 2), "NCHW": (0, 1, 2, 3)}
"""The axes of a convolution's weight, HWIO or OIHW, in the order of the rows and columns of its matrix."""


class BlockRows(NamedTuple):
    """A matrix by its blocks that are not zero; ``indptr`` says where each row of blocks begins, and where the last one
    ends.
    """

    data: Weight
    indices: Weight
    indptr: Weight


class SparseAnalysisResult(NamedTuple):
    """Which weights are stored sparsely, with the shapes of their data, their indices, and their row pointers."""

    weight_name: list[str]
    weight_shape: list[list[tuple[int, ...]]]


def sparse_enough(matrix: Weight, blocksize: Sequence[int], threshold: float) -> bool:
    """Return whether a matrix is made of whole blocks and has a share of zeros."""
    blocks = matrix.ndim == 2 and all(n % b == 0 for n, b in zip(matrix.shape, blocksize, strict=True))
    return blocks and matrix.size > 0 and 1 - int(np.count_nonzero(matrix)) / matrix.size >= threshold


def block_rows(matrix: Weight, blocksize: Sequence[int]) -> BlockRows:
    """Return the blocks of a matrix that are not zero."""
    rows, columns = (n // b for n, b in zip(matrix.shape, blocksize, strict=True))
    blocks = matrix.reshape(rows, blocksize[0], columns, blocksize[1]).transpose(0, 2, 1, 3)
    filled = blocks.any(axis=(2, 3))
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    data = np.ascontiguousarray(blocks[filled])
    return BlockRows(data, np.nonzero(filled)[1].astype("int32"), indptr.astype("int32"))


def conv_matrix(weight: Weight, layout: str, kernel_size: int) -> Weight | None:
    """Return the weight of a convolution as a matrix with a row for each output channel.

    It is HWIO in the layout NHWC, OIHW in NCHW; None if it is not one of windows of ``kernel_size``.
    """
    if weight.ndim != 4:
        return None
    window = weight.shape[:2] if layout == "NHWC" else weight.shape[2:]
    ordered = weight.transpose(CONV_ORDERS[layout])
    return ordered.reshape(len(ordered), -1) if window == (kernel_size, kernel_size) else None
