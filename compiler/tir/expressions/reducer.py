"""Commutative reducers, which combine values along reduction axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.primexpr import (
    Add,
    CommReducer,
    ExprLike,
    IterVar,
    Max,
    Min,
    Mul,
    PrimExpr,
    Reduce,
    Var,
    as_exprs,
    binary,
    const,
    convert,
)
from compiler.tir.expressions.datatype import minimum_of


def min_value(dtype: str) -> PrimExpr:
    """Return the smallest finite value of a data type; of a custom type, what ``register_min_func`` says."""
    return minimum_of(dtype) if dt.is_custom(dtype) else _limit("min_value", dtype, 0)


def max_value(dtype: str) -> PrimExpr:
    """Return the largest finite value of a data type."""
    return _limit("max_value", dtype, 1)


def infinity(dtype: str) -> PrimExpr:
    """Return infinity as a floating-point data type.

    Raises DTypeError if ``dtype`` is not a floating-point type.
    """
    if not dt.is_float(dtype):
        raise DTypeError(f"infinity: expected a floating-point data type, got {show(dtype)}")
    return const(math.inf, dtype)


_BFLOAT16_MAX = float.fromhex("0x1.fep127")


def _limit(name: str, dtype: str, which: int) -> PrimExpr:
    kind = dt.parse(dtype)
    scalar = dt.element(dtype)
    if kind.code == "float":
        largest = float(np.finfo(scalar).max)
        return const((-largest, largest)[which], dtype)
    if kind.code == "bfloat":
        return const((-_BFLOAT16_MAX, _BFLOAT16_MAX)[which], dtype)
    if scalar in dt.LARGEST:
        return const((-dt.LARGEST[scalar], dt.LARGEST[scalar])[which], dtype)
    if dt.is_integral(dtype):
        return const(dt.int_range(scalar)[which], dtype)
    raise DTypeError(f"{name}: {dtype} has no smallest and largest value")


def comm_reducer(
    fcombine: Callable[..., object], fidentity: Callable[..., object], name: str = "reduce"
) -> Callable[..., Any]:
    """Make a commutative reduction.

    Raises ArgumentError in the reducer, if ``axis`` is not from ``te.reduce_axis``, or the numbers of values differ.

    Parameters
    ----------
    fcombine : callable
        ``(x, y) -> value``; for a reduction of tuples ``x``, ``y`` and the value are tuples.
    fidentity : callable
        ``(*dtypes) -> identity``: one constant, or a tuple of them.

    Returns
    -------
    reducer : callable
        ``reducer(expr, axis, where=None, init=None)`` reduces over axes; ``reducer(a, b, …)`` combines values.
        The result of a reduction of a tuple is a tuple.

    Examples
    --------
    >>> multiply = comm_reducer(lambda x, y: x * y, lambda dtype: const(1, dtype), name="multiply")
    """

    def reducer(expr: object, axis: object, where: object = None, init: object = None, *more: object) -> object:
        if _is_axes(axis):
            if more:
                raise ArgumentError(f"{name}: expected (expr, axis, where, init), got {4 + len(more)} arguments")
            return _reduce(fcombine, fidentity, name, expr, axis, where, init)
        result = fcombine(expr, axis)
        for value in (where, init, *more):
            if value is not None:
                result = fcombine(result, value)
        return result

    reducer.__name__ = reducer.__qualname__ = name
    reducer.__doc__ = f"""Reduce ``expr`` by ``{name}`` over ``axis``, or combine two and more values.

    Parameters
    ----------
    expr : PrimExpr or tuple of PrimExpr
        The value at one point of the axes.
    axis : IterVar or sequence of IterVar
        Reduction axes; anything else is a value to combine with.
    where : PrimExpr, optional
        A condition of type ``bool``; only values where it holds are combined.
    init : PrimExpr, optional
        The value to start from; the identity when left out.
    *more : PrimExpr
        Further values to combine with.

    Returns
    -------
    PrimExpr or tuple of PrimExpr
        Of the type of ``expr``.

    Raises
    ------
    ArgumentError
        If ``axis`` was not made by ``te.reduce_axis``, or axes are followed by more than ``where`` and ``init``.
    """
    return reducer


def _is_axes(axis: object) -> TypeGuard[IterVar | Sequence[IterVar]]:
    if isinstance(axis, IterVar):
        return True
    return isinstance(axis, Sequence) and not isinstance(axis, str) and all(isinstance(a, IterVar) for a in axis)


def _reduce(
    fcombine: Callable[..., object],
    fidentity: Callable[..., object],
    name: str,
    expr: ExprLike,
    axis: IterVar | Sequence[IterVar],
    where: ExprLike,
    init: ExprLike,
) -> PrimExpr | tuple[PrimExpr, ...]:
    axes = (axis,) if isinstance(axis, IterVar) else tuple(axis)
    for a in axes:
        if a.iter_type != IterVar.CommReduce:
            raise ArgumentError(f"{name}: axis must be made by te.reduce_axis, got {show(a)}")
    if len(set(axes)) < len(axes):
        raise ArgumentError(f"{name}: each axis must be given once, got {', '.join(a.var.name for a in axes)}")
    several = isinstance(expr, (tuple, list))
    source = as_exprs(expr)
    if not source:
        raise ArgumentError(f"{name}: expr must not be empty")
    combiner = _combiner(fcombine, fidentity, name, source, several)
    condition = const(True) if where is None else convert(where)
    start = () if init is None else as_exprs(init)
    if start and len(start) != len(source):
        raise ArgumentError(f"{name}: init must have {len(source)} values, got {len(start)}")
    outputs = tuple(Reduce(combiner, source, axes, condition, i, start) for i in range(len(source)))
    return outputs if several and len(outputs) > 1 else outputs[0]


def _combiner(
    fcombine: Callable[..., object],
    fidentity: Callable[..., object],
    name: str,
    source: tuple[PrimExpr, ...],
    several: bool,
) -> CommReducer:
    names = getattr(getattr(fcombine, "__code__", None), "co_varnames", ("x", "y"))[:2]
    if len(names) != 2:
        raise ArgumentError(f"{name}: fcombine must take two arguments")
    dtypes = [e.dtype for e in source]
    if several:
        lhs, rhs = (tuple(Var(f"{n}_{i}", t) for i, t in enumerate(dtypes)) for n in names)
        result = as_exprs(fcombine(lhs, rhs))
    else:
        lhs, rhs = ((Var(n, dtypes[0]),) for n in names)
        result = as_exprs(fcombine(lhs[0], rhs[0]))
    identity = as_exprs(fidentity(*dtypes))
    for what, values in (("fcombine", result), ("fidentity", identity)):
        if len(values) != len(source):
            raise ArgumentError(f"{name}: {what} must return {len(source)} values, returned {len(values)}")
        for value, dtype in zip(values, dtypes, strict=True):
            if value.dtype != dtype:
                raise DTypeError(
                    f"{name}: {what} must return the type {dtype}, returned {value.dtype} in {show(value)}"
                )
    return CommReducer(lhs, rhs, result, identity)


def _plus(x: ExprLike, y: ExprLike) -> PrimExpr:
    return binary(Add, x, y)


def _times(x: ExprLike, y: ExprLike) -> PrimExpr:
    return binary(Mul, x, y)


def _smaller(x: ExprLike, y: ExprLike) -> PrimExpr:
    return binary(Min, x, y)


def _larger(x: ExprLike, y: ExprLike) -> PrimExpr:
    return binary(Max, x, y)


ScalarReducer: TypeAlias = Callable[..., PrimExpr]
"""A reduction of single values: over axes, or of the values that it is given."""

sum: ScalarReducer = comm_reducer(_plus, lambda dtype: const(0, dtype), name="sum")
prod: ScalarReducer = comm_reducer(_times, lambda dtype: const(1, dtype), name="prod")
min: ScalarReducer = comm_reducer(_smaller, max_value, name="min")
max: ScalarReducer = comm_reducer(_larger, min_value, name="max")
for _reducer, _sign in ((min, "<"), (max, ">")):
    _reducer.__doc__ = (
        (_reducer.__doc__ or "")
        + f"""
    Notes
    -----
    Values are compared, ``a {_sign} b ? a : b``: of a NaN and another value the result is ``b``.
    """
    )
