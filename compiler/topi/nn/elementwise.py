"""Activations, and what adds or multiplies along one axis."""

from __future__ import annotations

from typing import Any

from compiler import te, tir
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def relu(x: Any) -> Any:
    """Return ``max(x, 0)``."""
    return te.compute(dims(x), lambda *i: te.max(x(*i), tir.const(0, x.dtype)), name="relu", tag=Tag.ELEMWISE)


def leaky_relu(x: Any, alpha: float) -> Any:
    """Return ``x`` where it is positive, ``alpha * x`` elsewhere."""

    def element(*i: Any) -> Any:
        value = x(*i)
        return tir.Select(value > tir.const(0, x.dtype), value, value * tir.const(alpha, x.dtype))

    return te.compute(dims(x), element, name="leaky_relu", tag=Tag.ELEMWISE)


def prelu(x: Any, alpha: Any, axis: int) -> Any:
    """Return ``x`` where it is positive, and elsewhere times the slope that its place along ``axis`` has."""

    def element(*i: Any) -> Any:
        value = x(*i)
        return tir.Select(value > tir.const(0, x.dtype), value, value * alpha(i[axis]))

    return te.compute(dims(x), element, name="prelu", tag=Tag.BROADCAST)


def bias_add(x: Any, bias: Any, axis: int) -> Any:
    """Return ``x`` plus the bias that its place along ``axis`` has."""
    return te.compute(dims(x), lambda *i: x(*i) + bias(i[axis]), name="bias_add", tag=Tag.BROADCAST)


def identity(x: Any) -> Any:
    """Return a copy."""
    return te.compute(dims(x), lambda *i: x(*i), name="identity", tag=Tag.ELEMWISE)


def flatten(x: Any) -> Any:
    """Return ``x`` with all axes after the first as one."""
    batch, *rest = dims(x)
    total = 1
    for extent in rest:
        total = total * extent

    def element(n: Any, at: Any) -> Any:
        indices = []
        for extent in reversed(rest[1:]):
            indices.append(at % extent)
            at = at // extent
        return x(n, *([at] if rest else []), *reversed(indices))

    return te.compute((batch, total), element, name="flatten", tag=Tag.INJECTIVE)


def ones_like(x: Any) -> Any:
    """Return ones in the shape of ``x``."""
    return te.compute(dims(x), lambda *i: tir.const(1, x.dtype), name="ones_like", tag=Tag.ELEMWISE)
