"""``tvm.topi.utils``: constants and shapes of definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy.typing as npt

from compiler import tir
from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr.primexpr import AnyDim, FloatImm, IntImm, PrimExpr, SizeVar, Var, const, convert
from compiler.target.target import Target
from compiler.te.definition.operation import ComputeOp, compute
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.topi.arrays.layout import get_shape, nchw_pack_layout, nchw_xc_layout, ncw_pack_layout, ncw_xc_layout
from compiler.topi.operands import flat_index, unflatten
from compiler.topi.tag import is_broadcast

__all__ = [
    "InvalidShapeError", "ceil_div", "const_matrix", "const_vector", "equal_const_int", "get_const_float",
    "get_const_int", "get_const_tuple", "get_float_tuple", "get_max_power2_factor", "get_shape", "is_dynamic_shape",
    "is_empty_shape", "is_target", "make_idx", "nchw_pack_layout", "nchw_xc_layout", "ncw_pack_layout", "ncw_xc_layout",
    "prod", "ravel_index", "simplify", "swap", "traverse_inline", "unravel_index", "within_index",
]  # fmt: skip

Number = int | PrimExpr


class InvalidShapeError(ArgumentError):
    """A shape that an operator cannot take."""


def simplify(expr: Number) -> Number:
    """Return an expression in simple form."""
    return Analyzer().simplify(expr) if isinstance(expr, PrimExpr) else expr


def ceil_div(a: Number, b: Number) -> Number:
    """Return a quotient, rounded up."""
    return simplify((a + (b - 1)) // b)


def get_const_int(expr: Number) -> int:
    """Return the value of a constant, or raise an ArgumentError."""
    value = simplify(expr)
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, PrimExpr):
        expected("get_const_int", "expr", "a constant int", expr)
    return int(value)


def get_const_float(expr: float | PrimExpr) -> float:
    """Return the value of a constant, or raise an ArgumentError."""
    value = Analyzer().simplify(expr) if isinstance(expr, PrimExpr) else expr
    if isinstance(value, (FloatImm, IntImm)):
        return float(value.value)
    if isinstance(value, PrimExpr):
        expected("get_const_float", "expr", "a constant", expr)
    return float(value)


def equal_const_int(expr: Number, value: int) -> bool:
    """Return whether an expression is a constant of a value."""
    simple = simplify(expr)
    return simple.value == value if isinstance(simple, IntImm) else isinstance(simple, int) and simple == value


def get_const_tuple(in_tuple: Iterable[Number]) -> tuple[Number, ...]:
    """Return a shape with plain ints for its constants."""
    simple = [simplify(extent) for extent in in_tuple]
    return tuple(extent.value if isinstance(extent, IntImm) else extent for extent in simple)


def get_float_tuple(in_tuple: Iterable[float | PrimExpr]) -> tuple[float, ...]:
    """Return constants as floats, or raise an ArgumentError if one is not a constant."""
    return tuple(get_const_float(value) for value in in_tuple)


def is_empty_shape(shape: Iterable[Number]) -> bool:
    """Return whether an array of a shape has no elements."""
    return any(equal_const_int(extent, 0) for extent in shape)


def is_dynamic_shape(shape: Iterable[Number]) -> bool:
    """Return whether an extent of a shape is an ``Any`` or a size variable."""
    return any(isinstance(extent, (AnyDim, SizeVar)) for extent in shape)


def is_target(names: str | Sequence[str]) -> bool:
    """Return whether there is a current target that has one of some keys, e.g. ``cpu``."""
    target = Target.current()
    keys = [names] if isinstance(names, str) else names
    return target is not None and any(key in target.keys for key in keys)


def prod(x: Iterable[Number]) -> Number:
    """Return the product of numbers, 1 if there are none."""
    result: Number = const(1, "int32")
    for number in x:
        result = result * number
    return simplify(result)


def swap(arr: Sequence[object], axis: int) -> tuple[object, ...]:
    """Return a sequence with its last element and another one exchanged."""
    items = list(arr)
    items[axis], items[-1] = items[-1], items[axis]
    return tuple(items)


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """Return the largest power of two that divides a number."""
    factor = 1
    while n % (factor * 2) == 0 and n and (max_value is None or factor * 2 <= max_value):
        factor *= 2
    return factor


def ravel_index(indices: Sequence[Number], shape: Sequence[Number]) -> Number:
    """Return the place of an element, given by its index along each axis, in row-major order."""
    return flat_index(indices, shape)


def unravel_index(idx: Number, shape: Sequence[Number]) -> tuple[Number, ...]:
    """Return the indices of an element from its place in row-major order."""
    return tuple(unflatten(idx, shape))


def within_index(b: Number, e: Number, s: Number, i: Number) -> PrimExpr:
    """Return whether an index is one of a slice ``b:e:s``, whose bounds do not count from the end."""
    b, e, s, i = (convert(number) for number in (b, e, s, i))
    inside = tir.Select(s < 0, tir.all(i <= b, i > e), tir.all(i >= b, i < e))
    return tir.all(inside, ((i - b) % tir.abs(s)).equal(0))


def make_idx(b: Number, e: Number, s: Number, z: Number, i: Number) -> PrimExpr:
    """Return which element of a slice ``b:e:s`` an index is, where :func:`within_index` is true.

    ``z`` is the extent of the axis; a slice that begins behind it begins with its last element.
    """
    b, s, z, i = (convert(number) for number in (b, s, z, i))
    first = tir.Select(z < b, z - 1, b)
    return (i - first) // s


def const_vector(vector: Sequence[float] | npt.NDArray[Any], name: str = "const_vector") -> Tensor:
    """Return a small vector of constants as a tensor."""
    dtype = str(getattr(vector, "dtype", "float32"))

    def element(i: Var) -> PrimExpr:
        value = const(0, dtype)
        for place, number in enumerate(vector):
            value = tir.Select(i.equal(place), const(number, dtype), value)
        return value

    return compute((len(vector),), element, name=name)


def const_matrix(matrix: Sequence[Sequence[float]] | npt.NDArray[Any], name: str = "const_matrix") -> Tensor:
    """Return a small matrix of constants as a tensor."""
    rows = [[float(value) for value in row] for row in matrix]
    dtype = str(getattr(matrix, "dtype", "float32"))

    def element(i: Var, j: Var) -> PrimExpr:
        value = const(rows[0][0], dtype)
        for row, values in enumerate(rows):
            for column, number in enumerate(values):
                here = tir.all(i.equal(row), j.equal(column))
                value = tir.Select(here, const(number, dtype), value)
        return value

    return compute((len(rows), len(rows[0])), element, name=name, attrs={"const_matrix": True})


def traverse_inline(s: Schedule, final_op: Operation, callback: Callable[[Operation], None]) -> None:
    """Inline the element-wise operations of a computation, and call back with each of its operations, inputs first."""
    visited: set[Operation] = set()

    def visit(op: Operation) -> None:
        if op in visited:
            return
        visited.add(op)
        if isinstance(op, ComputeOp) and is_broadcast(op.tag) and op not in s.outputs:
            s[op].compute_inline()
        for tensor in op.input_tensors:
            visit(tensor.op)
        callback(op)

    visit(final_op)
