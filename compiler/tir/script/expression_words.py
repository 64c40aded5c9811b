"""TVMScript functions that build expressions, besides operators and types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import (
    Broadcast,
    Cast,
    CommReducer,
    ExprLike,
    IterVar,
    Not,
    PrimExpr,
    Ramp,
    Select,
    Var,
    as_exprs,
    match_types,
)
from compiler.ir.expr.primexpr import Range as RangeNode
from compiler.ir.expr.primexpr import Shuffle as ShuffleNode
from compiler.ir.expr.primexpr import cast as cast_expr
from compiler.tir.expressions.arithmetic import ceildiv
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.script.definitions import Declaration, extent_between
from compiler.tir.statements.stmt import Stmt

__all__ = [
    "Broadcast", "Cast", "Let", "Not", "Ramp", "Range", "Select", "Shuffle", "broadcast", "cast", "ceildiv",
    "comm_reducer", "index_map", "iter_var", "load", "ramp", "store",
]  # fmt: skip

_ITER_TYPES = {
    "DataPar": IterVar.DataPar,
    "ThreadIndex": IterVar.ThreadIndex,
    "CommReduce": IterVar.CommReduce,
    "Ordered": IterVar.Ordered,
    "DimInfo": IterVar.DimInfo,
    "Unrolled": IterVar.Unrolled,
    "Vectorized": IterVar.Vectorized,
    "Parallelized": IterVar.Parallelized,
    "Tensorized": IterVar.Tensorized,
}

broadcast, ramp = Broadcast, Ramp


def Let(body: ExprLike, where: Mapping[Var, PrimExpr]) -> PrimExpr:
    """Bind a variable within an expression: ``T.Let(x * x, where={x: i + 1})``.

    Raises ArgumentError outside of a TVMScript program, where the variable's name means nothing.
    """
    raise ArgumentError("T.Let: expected T.Let(body, where={name: value})")


def load(dtype: str, var: Var, index: ExprLike, predicate: ExprLike = True) -> PrimExpr:
    """Return what lies behind a pointer, as older releases write it: ``T.load("float32", A.data, i)``.

    The value is 0 where the predicate is false. Raises ArgumentError outside of a TVMScript program, which knows the
    memory.
    """
    raise ArgumentError("T.load: expected a pointer in a TVMScript program")


def store(var: Var, index: ExprLike, value: ExprLike, predicate: ExprLike = True) -> Stmt:
    """Store a value behind a pointer, as older releases write it: ``T.store(A.data, i, 1.0)``.

    Raises ArgumentError outside of a TVMScript program, which knows the memory.
    """
    raise ArgumentError("T.store: expected a pointer in a TVMScript program")


def comm_reducer(combiner: Callable[..., PrimExpr], identity: Sequence[PrimExpr]) -> CommReducer:
    """Return a commutative combination of values: ``T.comm_reducer(lambda x, y: x + y, [T.float32(0)])``.

    Raises ArgumentError if it does not take two of each value.
    """
    count = len(identity)
    names = list(inspect.signature(combiner).parameters)
    if len(names) != 2 * count:
        raise ArgumentError(f"T.comm_reducer: expected {2 * count} parameters, got {len(names)}")
    variables = [Var(name, value.dtype) for name, value in zip(names, [*identity, *identity], strict=True)]
    result = combiner(*variables)
    results = as_exprs(result if isinstance(result, (tuple, list)) else (result,))
    return CommReducer(tuple(variables[:count]), tuple(variables[count:]), results, as_exprs(identity))


def Range(begin: ExprLike, end: ExprLike) -> RangeNode:
    """Return the integers from ``begin`` on that are below ``end``."""
    low, high = match_types(begin, end, "T.Range")
    return RangeNode.from_fields(low, extent_between(low, high))


def Shuffle(vectors: Sequence[PrimExpr], indices: Sequence[ExprLike]) -> PrimExpr:
    """Return a vector of some lanes of several vectors; lanes are numbered through all of these."""
    return ShuffleNode(as_exprs(vectors), as_exprs(indices))


def cast(value: ExprLike, dtype: str) -> PrimExpr:
    """Return ``value`` converted to a data type; ``T.Cast(dtype, value)`` is the node."""
    return cast_expr(dtype, value)


def index_map(
    mapping: Callable[..., object],
    *,
    inverse_index_map: Callable[..., object] | None = None,
    index_dtype: str = "int64",
) -> IndexMap:
    """Return a mapping of indices: ``T.index_map(lambda i, j: (j, i))``; the way back is found where it is left out."""
    return IndexMap.from_func(mapping, inverse_index_map=inverse_index_map, index_dtype=index_dtype)


def iter_var(var: Any, dom: RangeNode | None, iter_type: str, thread_tag: str = "") -> IterVar:
    """Return an axis, as attributes name them.

    The variable may be a declaration such as ``T.int32()``; kinds are ``DataPar``, ``ThreadIndex``, ``CommReduce``, …
    Raises ArgumentError if there is no such kind of axis.
    """
    if isinstance(var, Declaration):
        var = var.make("v")
    if iter_type not in _ITER_TYPES:
        raise ArgumentError(f"T.iter_var: iter_type must be one of {', '.join(_ITER_TYPES)}, got {show(iter_type)}")
    return IterVar(dom, var, _ITER_TYPES[iter_type], thread_tag)
