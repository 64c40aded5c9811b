"""Constant folding and type inference of calls as they are created.

Expressions that are known during import, such as the shape arithmetic that exporters emit, are folded to constants
by the operators' NumPy references; all others are typed at once, so that converters can query their types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import numpy as np

from compiler.ir.error import TVMError
from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.types import Type
from compiler.relay import op as _operators
from compiler.relay.expr import Call, Constant, Expr, Tuple, TupleGetItem, TupleWrapper, const
from compiler.relay.inference import infer_expr
from compiler.relay.interpreter import apply_operator
from compiler.relay.operator import RelayOp, operator_of
from compiler.relay.ty import Dim, TensorType, TupleType

FOLD_LIMIT = 1 << 26
"""A size in bytes: calls are not folded to constants that exceed both this and the size of their inputs."""

_WEIGHTS: ContextVar[frozenset[Constant]] = ContextVar("_WEIGHTS", default=frozenset())


@contextmanager
def keeping(weights: frozenset[Constant]) -> Iterator[None]:
    """Do not fold calls with these constants within the context, as they are to become parameters."""
    token = _WEIGHTS.set(weights)
    try:
        yield
    finally:
        _WEIGHTS.reset(token)


def settle(expr: RelayExpr | TupleWrapper) -> Any:
    """Infer the types of all new calls of an expression, and fold those with known inputs.

    Subexpressions that have a type are not visited again.
    """
    if isinstance(expr, TupleWrapper):
        return [settle(item) for item in _items(settle(expr.tuple_value), len(expr))]
    if expr.checked_type_ is not None:
        return expr
    if isinstance(expr, Call) and isinstance(expr.op, RelayOp):
        return _settle_call(expr)
    if isinstance(expr, Tuple):
        return _typed(rebuild(expr, fields=tuple(settle(field) for field in expr.fields)))
    if isinstance(expr, TupleGetItem):
        value = settle(expr.tuple_value)
        return value.fields[expr.index] if isinstance(value, Tuple) else _typed(rebuild(expr, tuple_value=value))
    return _typed(expr)


def _items(value: RelayExpr, count: int) -> Sequence[RelayExpr]:
    return value.fields if isinstance(value, Tuple) else [TupleGetItem(value, i) for i in range(count)]


def _typed(expr: RelayExpr) -> Any:
    infer_expr(expr)
    return expr


def _settle_call(call: Call) -> Any:
    call = _typed(rebuild(call, args=tuple(settle(arg) for arg in call.args)))
    op = operator_of(call)
    if op.stateful or op.reference is None or not all(_foldable(arg) for arg in call.args):
        return call
    if _size(call.checked_type_) > max(FOLD_LIMIT, 2 * sum(_size(arg.checked_type_) for arg in call.args)):
        return call
    values = [_value(arg) for arg in call.args]
    return _constant(apply_operator(op, call.attrs, values), call.checked_type_)


def _foldable(arg: RelayExpr) -> bool:
    if isinstance(arg, Tuple):
        return all(_foldable(field) for field in arg.fields)
    return isinstance(arg, Constant) and arg not in _WEIGHTS.get()


def _value(arg: RelayExpr) -> Any:
    if isinstance(arg, Tuple):
        return tuple(_value(field) for field in arg.fields)
    assert isinstance(arg, Constant)
    return arg.value


def _constant(value: Any, t: Type | None) -> Any:
    if isinstance(t, TupleType):
        return _typed(Tuple(tuple(_constant(v, field) for v, field in zip(value, t.fields, strict=True))))
    assert isinstance(t, TensorType)
    return _typed(const(np.asarray(value), t.dtype))


def _size(t: Type | None) -> float:
    if isinstance(t, TupleType):
        return sum(_size(field) for field in t.fields)
    if not isinstance(t, TensorType) or not t.is_static:
        return math.inf
    return 8.0 * math.prod(float(d) for d in t.concrete_shape)


_OPERANDS = ({"lhs", "rhs"}, {"condition", "x", "y"})
"""Inputs for which a Python number takes the data type of the other tensors."""


class _Operators:
    """The functions of an operator package, with folded and typed results."""

    def __init__(self, package: ModuleType) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._package, name)
        return _Operators(member) if isinstance(member, ModuleType) else settled(member)


def settled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its results are folded and typed."""
    op = getattr(function, "op", None)
    is_arithmetic = isinstance(op, RelayOp) and set(op.inputs) in _OPERANDS

    def call(*args: Any, **attrs: Any) -> Any:
        if is_arithmetic:
            args = _like_the_tensors(args)
        return settle(function(*args, **attrs))

    return call


def _like_the_tensors(args: tuple[Any, ...]) -> tuple[Any, ...]:
    tensors = [arg for arg in args if isinstance(arg, Expr)]
    return tuple(arg if isinstance(arg, Expr) else scalar(arg, tensors[-1]) for arg in args)


ops: Any = _Operators(_operators)
"""``relay.op`` with folded and typed results: ``ops.nn.conv2d(x, w)``."""


def type_of(expr: RelayExpr) -> TensorType:
    """Return the tensor type of an expression."""
    tensor_type = infer_expr(expr)
    if not isinstance(tensor_type, TensorType):
        raise TVMError(f"expected a tensor, got {tensor_type}")
    return tensor_type


def dtype_of(expr: RelayExpr) -> str:
    """Return the data type of a tensor."""
    return type_of(expr).dtype


def dims_of(expr: RelayExpr) -> tuple[Dim, ...]:
    """Return the extents of a tensor, as ints where they are known."""
    return type_of(expr).dims


def rank_of(expr: RelayExpr) -> int:
    """Return the number of dimensions of a tensor."""
    return len(type_of(expr).shape)


def known(expr: RelayExpr) -> Any:
    """Return the value of a constant expression as a NumPy array, or None."""
    return expr.value if isinstance(expr, Constant) else None


def constant(value: object, dtype: str | None = None) -> Any:
    """Return a typed constant."""
    array = np.asarray(value)
    return _typed(const(array, dtype or str(array.dtype)))


def scalar(value: object, like: RelayExpr) -> Any:
    """Return a number as a constant of the data type of another expression."""
    return constant(np.asarray(value).astype(dtype_of(like)) if dtype_of(like) != "bfloat16" else value, dtype_of(like))
