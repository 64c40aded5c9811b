"""What the operators of graphs take for the largest and the smallest: a NaN, where there is one, as NumPy does.

TE's own ``te.max`` and ``te.min``, and TOPI's functions made of them, compare: see the table of
``compiler/README.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.topi.broadcast import zip_elements
from compiler.topi.device.order import precedes
from compiler.topi.elementwise import limits, map_elements
from compiler.topi.operands import Axes
from compiler.topi.reduction import Reducer, arg_reduce, arg_reducer, highest, lowest, simple_reduction

__all__ = ["LARGEST", "OF_TE", "Extremum", "argmax", "argmin", "clip", "max", "maximum", "min", "minimum", "relu"]


@dataclass(frozen=True, slots=True)
class Extremum:
    """The choice of the largest of several elements; ``identity`` has the value of a type that is never chosen."""

    reduce: Reducer
    identity: Callable[[str], PrimExpr]


_smallest = te.comm_reducer(tir.fminimum, highest, name="min")
_largest = te.comm_reducer(tir.fmaximum, lowest, name="max")
OF_TE = Extremum(te.max, tir.min_value)
LARGEST = Extremum(_largest, lowest)
max = simple_reduction("max", _largest, "the largest element, NaN if there is one,")
min = simple_reduction("min", _smallest, "the smallest element, NaN if there is one,")


def maximum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the larger elements of two tensors, broadcast against each other; NaN where either is."""
    return zip_elements(lhs, rhs, tir.fmaximum, "maximum")


def minimum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the smaller elements of two tensors, broadcast against each other; NaN where either is."""
    return zip_elements(lhs, rhs, tir.fminimum, "minimum")


def relu(x: Tensor) -> Tensor:
    """Return the larger of each element and 0, NaN where it is NaN."""
    return map_elements(x, lambda e: tir.fmaximum(e, tir.const(0, x.dtype)), "relu")


def clip(x: Tensor, a_min: float, a_max: float) -> Tensor:
    """Return ``x`` where it is from ``a_min`` to ``a_max`` or NaN, and the nearest of the two elsewhere.

    A bound that an integer type cannot hold, such as infinity, counts as its smallest or largest value.
    """
    low, high = limits(a_min, a_max, x.dtype)
    return map_elements(x, lambda e: tir.fmaximum(tir.fminimum(e, high), low), "clip")


def _same(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return tir.any(a.equal(b), tir.all(tir.isnan(a), tir.isnan(b))) if dt.is_float(a.dtype) else a.equal(b)


def _smaller_or_nan(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return tir.any(a < b, tir.all(tir.isnan(a), tir.Not(tir.isnan(b)))) if dt.is_float(a.dtype) else a < b


_ARG = {
    (name, last): arg_reducer(name, last, before, worst, _same)
    for last in (False, True)
    for name, before, worst in (
        ("argmax", lambda a, b: precedes(b, a, True), lowest),
        ("argmin", _smaller_or_nan, highest),
    )
}


def argmax(data: Tensor, axis: Axes, keepdims: bool, select_last_index: bool, dtype: str) -> Tensor:
    """Return the index of the largest element over some axes, or all, in row-major order; of a NaN if there is one."""
    return arg_reduce(data, axis, keepdims, "argmax", _ARG["argmax", select_last_index], dtype)


def argmin(data: Tensor, axis: Axes, keepdims: bool, select_last_index: bool, dtype: str) -> Tensor:
    """Return the index of the smallest element over some axes, or all, in row-major order; of a NaN if there is one."""
    return arg_reduce(data, axis, keepdims, "argmin", _ARG["argmin", select_last_index], dtype)
