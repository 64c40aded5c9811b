"""Coercion of Python values to expressions, and of expressions to other data types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import DTypeError, LanesError, show
from compiler.ir.expr.lanes import LaneCount, Lanes, lane_count, lanes_of_count
from compiler.ir.expr.operators import ExprLike
from compiler.ir.expr.scalars import FloatImm, IntImm, PrimExpr, StringImm, Var
from compiler.ir.node import Node, node
from compiler.ir.origin import Span, derived_from

__all__ = [
    "Broadcast", "Cast", "Ramp", "as_exprs", "bound_value", "cast", "check_bound_value", "const", "convert",
    "is_const_int", "match_types", "require_condition", "wrap_int",
]  # fmt: skip


@node
class Cast(PrimExpr):
    """A value converted to another data type of as many lanes.

    Floating point is rounded towards zero to integers; what does not fit an integer wraps around.
    """

    children: ClassVar[tuple[str, ...]] = ("value",)

    dtype: str
    value: PrimExpr

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value))
        if dt.lanes(self.dtype) != dt.lanes(self.value.dtype):
            raise DTypeError(
                f"Cast: {self.value} of type {self.value.dtype} has a different number of lanes from {self.dtype}"
            )


@node
class Broadcast(PrimExpr):
    """The vector that repeats a scalar at least twice; ``vscale() * 4`` lanes make a scalable vector."""

    children: ClassVar[tuple[str, ...]] = ("value",)

    value: PrimExpr
    lanes: Lanes
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value))
        count = self.lanes
        if type(count) is not LaneCount or count < 2:
            count = lane_count(count)
            object.__setattr__(self, "lanes", lanes_of_count(count))
        if dt.is_vector(self.value.dtype):
            raise LanesError(f"Broadcast: value must be a scalar, got {show(self.value)} of type {self.value.dtype}")
        object.__setattr__(self, "dtype", dt.with_lanes(self.value.dtype, count))


@node
class Ramp(PrimExpr):
    """The vector ``base, base + stride, base + 2 * stride, …`` of two or more lanes; ``vscale() * 4`` is scalable."""

    children: ClassVar[tuple[str, ...]] = ("base", "stride")

    base: PrimExpr
    stride: PrimExpr
    lanes: Lanes
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.base, PrimExpr) and isinstance(self.stride, PrimExpr)):
            object.__setattr__(self, "base", convert(self.base))
            object.__setattr__(self, "stride", convert(self.stride))
        for name in ("base", "stride"):
            if dt.is_vector(getattr(self, name).dtype):
                raise LanesError(f"Ramp: {name} must be a scalar, got {show(getattr(self, name))}")
        if self.stride.dtype != self.base.dtype:
            object.__setattr__(self, "stride", cast(self.base.dtype, self.stride))
        count = self.lanes
        if type(count) is not LaneCount or count < 2:
            count = lane_count(count)
            object.__setattr__(self, "lanes", lanes_of_count(count))
        object.__setattr__(self, "dtype", dt.with_lanes(self.base.dtype, count))


def const(value: ExprLike, dtype: str | None = None, span: Span | None = None) -> PrimExpr:
    """Return a constant; a ``Broadcast`` of one for a vector type.

    Raises DTypeError if ``value`` is not a number. Without ``dtype`` integers are int32, int64 if they need it, floats
    float32, float64 if they need it, and NumPy's scalars keep their type.
    """
    if span is not None:
        with derived_from(span):
            return const(value, dtype)
    if isinstance(value, PrimExpr):
        return value if dtype is None else cast(dtype, value)
    if isinstance(value, np.generic):
        dtype = dtype or str(value.dtype)
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise DTypeError(f"const: expected a number, got {show(value)}")
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int32" if -(1 << 31) <= value < (1 << 31) else "int64"
        else:
            dtype = "float64" if dt.float_overflow("float32") <= abs(value) < math.inf else "float32"
    count = dt.lanes(dtype)
    if count != 1:
        return Broadcast(const(value, dt.element(dtype)), count)
    return FloatImm(dtype, float(value)) if dt.is_real(dtype) else IntImm(dtype, int(value))


def convert(value: ExprLike) -> PrimExpr:
    """Return ``value`` as an expression.

    An axis stands for its variable, a tensor of rank 0 for its element, memory of an IR builder for its pointer. Raises
    DTypeError if ``value`` is anything else but an expression or a number.
    """
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, str):
        return StringImm(value)
    as_object = getattr(value, "asobject", None)
    if as_object is not None:
        thing = as_object()
        return thing if isinstance(thing, PrimExpr) else thing.data
    if isinstance(value, (bool, int, float, np.generic)):
        return const(value)
    raise DTypeError(f"expected an expression or a number, got {type(value).__name__} {show(value)}")


def cast(dtype: str, value: ExprLike) -> PrimExpr:
    """Return ``value`` converted to ``dtype``: constants at once, a scalar of a vector type in all its lanes.

    Raises DTypeError if it is a text or another pointer, which have no numeric value.
    """
    e, dtype = convert(value), dt.canonical(dtype)
    if e.dtype == dtype:
        return e
    if e.dtype == "handle":
        raise DTypeError(f"astype: Can't cast a handle to other types: {e} to {dtype}")
    if dt.lanes(dtype) > 1 and dt.lanes(e.dtype) == 1:
        return Broadcast(cast(dt.element(dtype), e), dt.lanes(dtype))
    if isinstance(e, IntImm):
        if dt.is_float(dtype) or (dt.is_custom(dtype) and abs(e.value) <= _EXACT_IN_SINGLE):
            return FloatImm(dtype, float(e.value))
        if dt.is_integral(dtype):
            return IntImm(dtype, wrap_int(e.value, dtype))
    if dt.lanes(dtype) == dt.lanes(e.dtype) and isinstance(e, Broadcast):
        return Broadcast(cast(dt.element(dtype), e.value), e.lanes)
    if dt.lanes(dtype) == dt.lanes(e.dtype) and isinstance(e, Ramp) and _numbers_lanes(e.base.dtype, dtype):
        return Ramp(cast(dt.element(dtype), e.base), cast(dt.element(dtype), e.stride), e.lanes)
    if isinstance(e, FloatImm) and not dt.is_custom(e.dtype):  # only the program knows how that would be rounded
        return _converted(dtype, e)
    return Cast(dtype, e)


def _numbers_lanes(source: str, dtype: str) -> bool:
    """Return whether a conversion goes from indices, which do not wrap around, to integers: a ramp stays one."""
    return source in ("int32", "int64") and dt.is_integral(dtype) and not dt.is_bool(dtype)


_EXACT_IN_SINGLE = 1 << 24
"""Up to here single precision has all integers: constants of custom types are given to their program in it."""


def _converted(dtype: str, e: FloatImm) -> PrimExpr:
    """Return a constant of another type, or the conversion of one that does not fit, which is left to the machine."""
    if dt.is_float(dtype):
        fits = not dt.float_overflow(dtype) <= abs(e.value) < math.inf
        return FloatImm(dtype, e.value) if fits else Cast(dtype, e)
    if dt.is_custom(dtype) and e.dtype == "float32":
        return FloatImm(dtype, e.value)
    if dt.is_bool(dtype) or not dt.is_integral(dtype) or not math.isfinite(e.value):
        return Cast(dtype, e)
    low, high = dt.int_range(dtype)
    whole = math.trunc(e.value)
    return IntImm(dtype, whole) if low <= whole <= high else Cast(dtype, e)


def wrap_int(value: int, dtype: str) -> int:
    """Return ``value`` as an integer type or ``bool`` holds it: integers wrap around, truth is what is not zero."""
    if dt.is_bool(dtype):
        return int(value != 0)
    low, high = dt.int_range(dtype)
    return (value - low) % (high - low + 1) + low


def match_types(a: ExprLike, b: ExprLike, operation: str) -> tuple[PrimExpr, PrimExpr]:
    """Bring two operands to one data type: the scalar is broadcast, integers become floats, the narrower widens.

    Raises DTypeError if they have no common type, or both have lanes but not as many; ``operation`` is named in the
    message.
    """
    x, y = convert(a), convert(b)
    if x.dtype == y.dtype:
        return x, y
    left, right = dt.parse(x.dtype), dt.parse(y.dtype)
    if left.lanes != right.lanes:
        if left.lanes == 1:
            return match_types(Broadcast(x, right.lanes), y, operation)
        if right.lanes == 1:
            return match_types(x, Broadcast(y, left.lanes), operation)
        raise DTypeError(f"{operation}: operands have {left.lanes} and {right.lanes} lanes: {x.dtype} and {y.dtype}")
    common = _common_type(left, right)
    if common is None:
        raise DTypeError(f"{operation}: no common type for {x.dtype} and {y.dtype}")
    return cast(common, x), cast(common, y)


def _common_type(left: dt.DType, right: dt.DType) -> str | None:
    """A float wins over a custom type, that over an integer, more bits over fewer, unsigned over signed, as in TVM."""
    if left.code in ("handle", "void") or right.code in ("handle", "void"):
        return None
    if left.code != right.code and left.is_custom and right.is_custom:
        return None
    winner = max(left, right, key=_rank)
    return dt.with_lanes(f"{winner.code}{winner.bits}", left.lanes)


def _rank(kind: dt.DType) -> tuple[int, int, bool]:
    """Return by what the type of two operands is chosen."""
    integer = kind.code in ("bool", "int", "uint")
    return 0 if integer else 1 if kind.is_custom else 2, kind.bits, kind.code == "uint"


def as_exprs(values: object) -> tuple[PrimExpr, ...]:
    """Return one value or a sequence of values as a tuple of expressions."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        return tuple(convert(v) for v in values)
    return (convert(values),)


def bound_value(owner: str, var: Var, value: ExprLike) -> PrimExpr:
    """Return a number as the value of a variable, in the variable's type; ``owner`` is the class that binds it."""
    made = const(value, var.dtype) if isinstance(value, (bool, int, float)) else convert(value)
    if made.dtype != var.dtype:
        check_bound_value(owner, var, made)
    return made


def check_bound_value(owner: str, var: Var, value: PrimExpr) -> None:
    """Check that a variable and its value have one data type; handles are pointers, which integers hold as well.

    Raises DTypeError if they have not; ``owner`` is the class of the node that binds the variable.
    """
    if value.dtype != var.dtype and "handle" not in (var.dtype, value.dtype):
        raise DTypeError(f"{owner}: {var.name!r} is of {var.dtype}, its value of {value.dtype}: {show(value)}")


def require_condition(n: Node, name: str) -> None:
    """Convert a truth value in a field of a node to a condition, and check that it is one.

    Raises DTypeError if the field holds something else.
    """
    condition = getattr(n, name)
    if not isinstance(condition, PrimExpr):
        truth = isinstance(condition, (bool, int)) and condition in (0, 1)
        condition = const(bool(condition), "bool") if truth else convert(condition)
        object.__setattr__(n, name, condition)
    if condition.dtype != "bool" and not dt.is_bool(condition.dtype):
        raise DTypeError(f"{type(n).__name__}: {name} must be of type bool, got {condition.dtype}: {show(condition)}")


def is_const_int(e: object, value: int | None = None) -> bool:
    """Return whether ``e`` is an integer constant (of that value, if one is given)."""
    return isinstance(e, IntImm) and (value is None or e.value == value)


def power_of_two(e: PrimExpr) -> int | None:
    """Return k if ``e`` is the constant ``2 ** k``, in each lane."""
    number = e.value if isinstance(e, Broadcast) else e
    if isinstance(number, IntImm) and number.value > 0 and number.value & (number.value - 1) == 0:
        return number.value.bit_length() - 1
    return None
