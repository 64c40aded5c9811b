"""Loss functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import dims
from compiler.topi.tag import Tag

__all__ = ["cross_entropy", "nll_loss"]


def cross_entropy(predictions: Tensor, targets: Tensor, logits: bool) -> Tensor:
    """Return minus the mean over the rows of ``targets * log(predictions)``, summed over the columns.

    Where ``logits`` is true, the predictions are logarithms already, such as those of a log_softmax.
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


def nll_loss(predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int) -> Tensor:
    """Return the negative logarithms of the likelihood of the right classes, weighted by class.

    ``predictions`` are logarithms of probabilities, ``(N, C, …)``; the classes in ``targets`` are ``(N, …)``,
    ``weights`` ``(C,)``; ``ignore_index`` is a class that does not count. The losses become their ``mean``, which is
    weighted, or ``sum``, or themselves with ``none``.
    """
    shape, zero = dims(targets), tir.const(0, predictions.dtype)

    def counted(at: Sequence[PrimExpr], value: Callable[[PrimExpr], PrimExpr]) -> PrimExpr:
        label = targets(*at)
        counts = label.astype("int64") != tir.const(ignore_index, "int64")
        return te.if_then_else(counts, value(label), zero)

    def loss(at: Sequence[PrimExpr]) -> PrimExpr:
        return counted(at, lambda label: zero - predictions(at[0], label, *at[1:]) * weights(label))

    if reduction == "none":
        return compute(shape, lambda *at: loss(at), name="nll_loss", tag=Tag.INJECTIVE)
    axes = [te.reduce_axis((0, e), name=f"i{d}") for d, e in enumerate(shape)]
    at = [axis.var for axis in axes]
    total = compute((), lambda: te.sum(loss(at), axis=axes), name="nll_loss", tag=Tag.COMM_REDUCE)
    if reduction == "sum":
        return total
    axes = [te.reduce_axis((0, e), name=f"j{d}") for d, e in enumerate(shape)]
    places = [axis.var for axis in axes]
    weight = compute((), lambda: te.sum(counted(places, weights), axis=axes), name="weight", tag=Tag.COMM_REDUCE)
    return compute((), lambda: total() / weight(), name="nll_loss_mean", tag=Tag.ELEMWISE)
