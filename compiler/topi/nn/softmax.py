"""Softmax and its logarithm along one axis."""

from __future__ import annotations

from typing import Any

from compiler import te
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def _without(at: tuple[Any, ...], axis: int) -> list[Any]:
    return [i for d, i in enumerate(at) if d != axis]


def _with(at: tuple[Any, ...], axis: int, index: Any) -> list[Any]:
    return [*at[:axis], index, *at[axis:]]


def _largest(x: Any, axis: int) -> Any:
    k = te.reduce_axis((0, x.shape[axis]), name="k")
    rest = tuple(d for i, d in enumerate(dims(x)) if i != axis)
    return te.compute(rest, lambda *i: te.max(x(*_with(i, axis, k.var)), axis=k), name="largest", tag=Tag.SOFTMAX_MAX)


def softmax(x: Any, axis: int) -> Any:
    """Return ``exp(x)`` divided by its sum along an axis; the largest element is taken away first."""
    top = _largest(x, axis)
    powers = te.compute(dims(x), lambda *i: te.exp(x(*i) - top(*_without(i, axis))), name="powers", tag=Tag.SOFTMAX_EXP)
    k = te.reduce_axis((0, x.shape[axis]), name="k")
    total = te.compute(
        top.shape, lambda *i: te.sum(powers(*_with(i, axis, k.var)), axis=k), name="total", tag=Tag.SOFTMAX_SUM
    )
    return te.compute(
        dims(x),
        lambda *i: powers(*i) / total(*_without(i, axis)),
        name="softmax",
        tag=Tag.SOFTMAX,
        attrs={"axis": axis},
    )


def log_softmax(x: Any, axis: int) -> Any:
    """Return the logarithm of the softmax, computed without it: small values keep their digits."""
    top = _largest(x, axis)
    k = te.reduce_axis((0, x.shape[axis]), name="k")
    total = te.compute(
        top.shape,
        lambda *i: te.sum(te.exp(x(*_with(i, axis, k.var)) - top(*i)), axis=k),
        name="total",
        tag=Tag.SOFTMAX_SUM,
    )

    def element(*i: Any) -> Any:
        rest = _without(i, axis)
        return x(*i) - top(*rest) - te.log(total(*rest))

    return te.compute(dims(x), element, name="log_softmax", tag=Tag.SOFTMAX, attrs={"axis": axis})
