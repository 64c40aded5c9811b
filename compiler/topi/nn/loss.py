"""Losses."""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.primexpr import PrimExpr
from compiler.te.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.tag import Tag
from compiler.topi.util import dims

__all__ = ["cross_entropy"]


def cross_entropy(predictions: Tensor, targets: Tensor, logits: bool) -> Tensor:
    """Return minus the mean over the rows of ``targets * log(predictions)``, summed over the columns.

    Parameters
    ----------
    predictions : Tensor
        ``(rows, columns)`` of a float type.
    targets : Tensor
        Of the shape and data type of ``predictions``: probabilities.
    logits : bool
        Whether ``predictions`` are logarithms already, such as those of a log_softmax.

    Returns
    -------
    Tensor
        Without dimensions, of the data type of ``predictions``.
    """
    rows, columns = dims(predictions)
    i, j = te.reduce_axis((0, rows), name="i"), te.reduce_axis((0, columns), name="j")

    def value() -> PrimExpr:
        p = predictions(i.var, j.var)
        return (p if logits else te.log(p)) * targets(i.var, j.var)

    total = compute((), lambda: te.sum(value(), axis=[i, j]), name="total", tag=Tag.COMM_REDUCE)
    count = tir.const(rows, predictions.dtype) if isinstance(rows, int) else rows.astype(predictions.dtype)
    zero = tir.const(0, predictions.dtype)
    return compute((), lambda: (zero - total()) / count, name="loss", tag=Tag.ELEMWISE)
