"""Flattening of nested tuples, and its inverse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.ir.error import expected
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Tuple, TupleGetItem
from compiler.relay.ty import TensorType, TupleType


def flatten_tuple_type(ty: Type) -> list[TensorType]:
    """Return the types of the tensors of a nested tuple, in order.

    Raises ArgumentError if there is another type in it.
    """
    if isinstance(ty, TensorType):
        return [ty]
    if not isinstance(ty, TupleType):
        expected("flatten_tuple_type", "ty", "a type of tensors and tuples", type(ty).__name__)
    return [tensor for field in ty.fields for tensor in flatten_tuple_type(field)]


def from_tuple_type(ty: Type, expr: RelayExpr) -> list[RelayExpr]:
    """Return the tensors of a value of a nested tuple type, in order.

    Raises ArgumentError if there is another type in it.
    """
    if isinstance(ty, TensorType):
        return [expr]
    if not isinstance(ty, TupleType):
        expected("from_tuple_type", "ty", "a type of tensors and tuples", type(ty).__name__)
    return [part for at, field in enumerate(ty.fields) for part in from_tuple_type(field, TupleGetItem(expr, at))]


def to_tuple_type(ty: Type, exprs: Sequence[RelayExpr]) -> RelayExpr:
    """Return a value of a nested tuple type from its tensors, in order.

    Raises ArgumentError if there are more or fewer tensors, or the type has others in it.
    """
    count = len(flatten_tuple_type(ty))
    if len(exprs) != count:
        expected("to_tuple_type", "exprs", f"{count} expressions", len(exprs))
    return _packed(ty, iter(exprs))


def _packed(ty: Type, exprs: Iterator[RelayExpr]) -> RelayExpr:
    if isinstance(ty, TupleType):
        return Tuple(tuple(_packed(field, exprs) for field in ty.fields))
    return next(exprs)
