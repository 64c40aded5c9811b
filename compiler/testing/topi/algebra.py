"""Products of matrices, attention and losses in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["batch_matmul", "dense", "nll_loss"]

Array = np.ndarray
Ints = Sequence[int]


def dense(
    x: Array, y: Array, bias: Array | None, use_bias: bool = False, use_relu: bool = False, out_dtype: str | None = None
) -> Array:
    """Return a dense layer.

    Parameters
    ----------
    x : numpy.ndarray
        ``(batch, features)``.
    y : numpy.ndarray
        ``(units, features)``.
    bias : numpy.ndarray, optional
        ``(units,)``.
    out_dtype : str, optional
        That of the data by default.
    """
    kind = out_dtype or x.dtype
    result = x.astype(kind) @ y.T.astype(kind)
    if use_bias and bias is not None:
        result = result + bias
    return np.asarray(np.maximum(result, 0) if use_relu else result)


def batch_matmul(
    x: Array, y: Array, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> Array:
    """Return the product of each pair of matrices of two batches.

    Parameters
    ----------
    out_dtype : str, optional
        That of the data by default.
    trans_y : bool
        Whether the second ones are.
    """
    kind = out_dtype or x.dtype
    left, right = (x.swapaxes(1, 2) if trans_x else x), (y.swapaxes(1, 2) if trans_y else y)
    return np.asarray(np.matmul(left.astype(kind), right.astype(kind)))


def nll_loss(
    predictions: Array, targets: Array, weights: Array, reduction: str = "mean", ignore_index: int = -100
) -> Array:
    """Return the negative logarithms of the likelihood of the right classes.

    Parameters
    ----------
    predictions : numpy.ndarray
        Logarithms of probabilities, ``(N, C, …)``.
    targets : numpy.ndarray
        The right class of each, ``(N, …)``.
    weights : numpy.ndarray
        Of each class, ``(C,)``.
    reduction : str
        ``mean``, ``sum`` or ``none``.
    ignore_index : int
        A class that does not count.
    """
    counts = targets != ignore_index
    classes = np.where(counts, targets, 0).astype("int64")
    weight = np.where(counts, weights[classes], 0).astype(predictions.dtype)
    likelihood = np.take_along_axis(predictions, np.expand_dims(classes, 1), 1).squeeze(1)
    losses = -likelihood * weight
    if reduction == "none":
        return np.asarray(losses)
    return np.asarray(losses.sum() / weight.sum() if reduction == "mean" else losses.sum())
