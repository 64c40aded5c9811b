"""Activations, and additions and multiplications along one axis."""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.elementwise import identity, ones_like
from compiler.topi.operands import axis_of, dims, product, unflatten
from compiler.topi.tag import Tag

__all__ = ["bias_add", "flatten", "identity", "leaky_relu", "ones_like", "prelu", "relu"]


def relu(x: Tensor) -> Tensor:
    """Return ``max(x, 0)``."""
    return compute(dims(x), lambda *i: te.max(x(*i), tir.const(0, x.dtype)), name="relu", tag=Tag.ELEMWISE)


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """Return ``x`` where it is positive, ``alpha * x`` elsewhere."""

    def element(*i: Var) -> PrimExpr:
        value = x(*i)
        return tir.Select(value > tir.const(0, x.dtype), value, value * tir.const(alpha, x.dtype))

    return compute(dims(x), element, name="leaky_relu", tag=Tag.ELEMWISE)


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """Return ``x`` where it is positive, and elsewhere times the slope of its place along an axis.

    Raises ArgumentError if there is not one slope for each place.

    References
    ----------
    He et al., "Delving Deep into Rectifiers", ICCV 2015.
    """
    at = axis_of(axis, x.ndim, "prelu")
    extents = (*dims(slope), dims(x)[at])
    if slope.ndim != 1 or (all(isinstance(e, int) for e in extents) and len(set(extents)) > 1):
        raise ArgumentError(
            f"prelu: expected one slope for each of the {show(extents[-1])} places along axis {at}, got slopes of "
            f"shape {show(dims(slope))}"
        )

    def element(*i: Var) -> PrimExpr:
        value = x(*i)
        return tir.Select(value > tir.const(0, x.dtype), value, value * slope(i[at]))

    return compute(dims(x), element, name="prelu", tag=Tag.BROADCAST)


def bias_add(x: Tensor, bias: Tensor, axis: int) -> Tensor:
    """Return ``x`` plus the bias of its place along an axis."""
    at = axis_of(axis, x.ndim, "bias_add")
    return compute(dims(x), lambda *i: x(*i) + bias(i[at]), name="bias_add", tag=Tag.BROADCAST)


def flatten(data: Tensor) -> Tensor:
    """Return ``data`` with all axes after the first as one."""
    batch, *rest = dims(data)
    shape = (batch, product(rest))
    return compute(shape, lambda n, at: data(n, *unflatten(at, rest)), name="flatten", tag=Tag.INJECTIVE)
