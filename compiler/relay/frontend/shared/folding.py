"""Constant folding and type inference of calls as they are created.

Expressions that are known during import, such as the shape arithmetic that exporters emit, are folded to constants
by the operators' NumPy references; all others are typed at once, so that converters can query their types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from compiler.ir.context_stack import setting
from compiler.ir.error import TVMError
from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.types import Type
from compiler.relay import op as _operators
from compiler.relay.expr import Call, Constant, Expr, Tuple, TupleGetItem, TupleWrapper, Var, const
from compiler.relay.inference import infer_expr
from compiler.relay.interpreter import apply_operator
from compiler.relay.operator import RelayOp, operator_of
from compiler.relay.ty import Dim, TensorType, TupleType

E = TypeVar("E", bound=RelayExpr)
Array: TypeAlias = npt.NDArray[Any]

FOLD_LIMIT = 1 << 26
"""A size in bytes: calls are not folded to constants that exceed both this and the size of their inputs."""

_WEIGHTS: ContextVar[frozenset[Constant]] = ContextVar("_WEIGHTS", default=frozenset())


def keeping(weights: frozenset[Constant]) -> AbstractContextManager[None]:
    """Do not fold calls with these constants within the context, as they are to become parameters."""
    return setting(_WEIGHTS, weights)


@overload
def settle(expr: TupleWrapper) -> list[RelayExpr]: ...
@overload
def settle(expr: Var) -> Var: ...
@overload
def settle(expr: RelayExpr) -> RelayExpr: ...
def settle(expr: RelayExpr | TupleWrapper) -> RelayExpr | list[RelayExpr]:
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


def _typed(expr: E) -> E:
    infer_expr(expr)
    return expr


def _settle_call(call: Call) -> RelayExpr:
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


def _constant(value: Any, t: Type | None) -> RelayExpr:
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


Several: TypeAlias = Callable[..., list[RelayExpr]]


class Operators:
    """A package of operators, or a function of one, with folded and typed results: ``ops.nn.conv2d(x, w)``.

    A Python number beside tensors takes their data type.
    """

    # What has several results.
    batch_norm: Several
    meshgrid: Several
    all_class_non_max_suppression: Several
    normal: Several
    recurrent: Several
    split: Several
    topk: Several
    uniform: Several
    unique: Several

    def __init__(self, of: ModuleType | Callable[..., RelayExpr]) -> None:
        self._of: Any = of

    def __getattr__(self, name: str) -> Operators:
        return Operators(getattr(self._of, name))

    def __getitem__(self, name: str) -> Operators:
        """Return the operator of a computed name."""
        return Operators(getattr(self._of, name))

    def __call__(self, *args: object, **attrs: object) -> RelayExpr:
        """Return the result."""
        op = getattr(self._of, "op", None)
        if isinstance(op, RelayOp) and set(op.inputs) in _OPERANDS:
            args = _like_the_tensors(args)
        result: RelayExpr = self._of(*args, **attrs)
        return settle(result)


def _like_the_tensors(args: tuple[object, ...]) -> tuple[RelayExpr, ...]:
    tensors = [arg for arg in args if isinstance(arg, Expr)]
    return tuple(arg if isinstance(arg, Expr) else scalar(arg, tensors[-1]) for arg in args)


ops = Operators(_operators)


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


def known(expr: RelayExpr) -> Array | None:
    """Return the value of a constant expression as a NumPy array, or None."""
    return expr.value if isinstance(expr, Constant) else None


def constant(value: object, dtype: str | None = None) -> Constant:
    """Return a typed constant."""
    array = np.asarray(value)
    return _typed(const(array, dtype or str(array.dtype)))


def scalar(value: object, like: RelayExpr) -> Constant:
    """Return a number as a constant of the data type of another expression."""
    return constant(np.asarray(value).astype(dtype_of(like)) if dtype_of(like) != "bfloat16" else value, dtype_of(like))
