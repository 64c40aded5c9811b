"""Losses."""

from __future__ import annotations

from typing import Any

from compiler import te, tir
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def cross_entropy(predictions: Any, targets: Any, logits: bool) -> Any:
    """Return minus the mean over the rows of ``targets * log(predictions)``, which may be logarithms already."""
    rows, columns = dims(predictions)
    i, j = te.reduce_axis((0, rows), name="i"), te.reduce_axis((0, columns), name="j")

    def value() -> Any:
        p = predictions(i.var, j.var)
        return (p if logits else te.log(p)) * targets(i.var, j.var)

    total = te.compute((), lambda: te.sum(value(), axis=[i, j]), name="total", tag=Tag.COMM_REDUCE)
    count = tir.const(rows, predictions.dtype) if isinstance(rows, int) else rows.astype(predictions.dtype)
    return te.compute((), lambda: (tir.const(0, predictions.dtype) - total()) / count, name="loss", tag=Tag.ELEMWISE)
