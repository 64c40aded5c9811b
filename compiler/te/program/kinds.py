"""The kinds of rows that expressions are written as: one table for the writer and the reader.

A row is a list: the name of a class, then its fields, each written by its codec.  A field that is a node is the number
of an earlier row, so that a node with two users is written once, and nothing nests.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from compiler.ir import dtype as dt
from compiler.ir.error import DTypeError, show
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import BINARY_OPERATIONS, PrimExpr, Var
from compiler.ir.node import Node
from compiler.ir.op import Op, registered_ops
from compiler.te.definition.tensor import Tensor
from compiler.te.program.format import ProgramError
from compiler.tir.expressions import op as intrinsics
from compiler.tir.expressions.builtin import CLZ, IF_THEN_ELSE, REINTERPRET

FieldType: TypeAlias = Literal[
    "expr", "exprs", "var", "vars", "reducer", "tensor", "axes", "dtype", "text", "int", "float", "operator"
]
"""What a field holds; those from ``expr`` to ``reducer`` are numbers of rows."""


@dataclass(frozen=True)
class Kind:
    """One kind of rows: its fields in order, with what each holds, and what makes a node of their values."""

    node: type[Node]
    fields: dict[str, FieldType]
    make: Callable[..., Node]


def callable_operators() -> dict[str, Op]:
    """Return the operators that expressions may call, by name.

    They are the intrinsics that compute a value of their arguments and do nothing else: those with a NumPy reference,
    and three without one.  Calls of other languages' functions, of pointers and of the runtime are not among them.
    """
    pure = {name: op for name, op in registered_ops().items() if name.startswith("tir.") and op.reference is not None}
    return pure | {op.name: op for op in (IF_THEN_ELSE, REINTERPRET, CLZ)}


# making nodes of values that anybody may have written: the classes themselves build exactly what they are told


def _arithmetic(cls: type[expr.BinaryOp], a: PrimExpr, b: PrimExpr) -> PrimExpr:
    _number(cls.__name__, a)
    _same(cls.__name__, a, b)
    if cls in (expr.And, expr.Or) and a.dtype != "bool":
        raise DTypeError(f"program: {cls.__name__} takes conditions, got {a.dtype} {show(a)}")
    return cls(a, b)


def _number(operation: str, e: PrimExpr) -> PrimExpr:
    """Return ``e``, which must be one number: no string, no pointer, no vector."""
    kind = dt.parse(e.dtype)
    if kind.lanes != 1 or kind.code in ("handle", "void"):
        raise DTypeError(f"program: {operation} takes numbers, got {e.dtype} {show(e)}")
    return e


def _same(operation: str, a: PrimExpr, b: PrimExpr) -> None:
    if a.dtype != b.dtype:
        raise DTypeError(f"program: {operation} takes values of one data type, got {a.dtype} and {b.dtype}")


def _condition(operation: str, e: PrimExpr) -> None:
    if e.dtype != "bool":
        raise DTypeError(f"program: {operation} takes a condition, got {e.dtype} {show(e)}")


def _not(a: PrimExpr) -> PrimExpr:
    _condition("Not", a)
    return expr.Not(a)


def _select(condition: PrimExpr, true_value: PrimExpr, false_value: PrimExpr) -> PrimExpr:
    _condition("Select", condition)
    _same("Select", _number("Select", true_value), false_value)
    return expr.Select(condition, true_value, false_value)


def _cast(dtype: str, value: PrimExpr) -> PrimExpr:
    return expr.Cast(_scalar(dtype), _number("Cast", value))


def _scalar(dtype: str) -> str:
    kind = dt.parse(dtype)
    if kind.lanes != 1 or kind.code in ("handle", "void"):
        raise DTypeError(f"program: expected the data type of a number, got {dtype}")
    return dtype


def _let(var: Var, value: PrimExpr, body: PrimExpr) -> PrimExpr:
    _same("Let", var, _number("Let", value))
    return expr.Let(var, value, _number("Let", body))


def _int(dtype: str, value: int) -> PrimExpr:
    if not dt.is_integral(_scalar(dtype)):
        raise DTypeError(f"program: IntImm takes an integer type, got {dtype}")
    return expr.IntImm(dtype, value)


def _float(dtype: str, value: float) -> PrimExpr:
    if not dt.is_float(_scalar(dtype)):
        raise DTypeError(f"program: FloatImm takes a floating-point type, got {dtype}")
    return expr.FloatImm(dtype, value)


def _variable(name: str, dtype: str) -> Var:
    return Var(name, _scalar(dtype))


def _call(dtype: str, op: Op, args: tuple[PrimExpr, ...]) -> PrimExpr:
    """Build a call by the function that scripts call, which checks the arguments."""
    for arg in args:
        _number(op.name, arg)
    build: Callable[..., PrimExpr] = getattr(intrinsics, op.name.removeprefix("tir."))
    given = (dtype, *args) if op is REINTERPRET else args
    try:
        inspect.signature(build).bind(*given)
    except TypeError as error:
        raise ProgramError(f"program: {op.name}: {error}, got {len(args)} arguments") from None
    made = build(*given)
    if made.dtype != dtype:
        raise DTypeError(f"program: {op.name} gives {made.dtype}, got {dtype}")
    return made


def _load(producer: Tensor, indices: tuple[PrimExpr, ...]) -> PrimExpr:
    return producer(*indices)


def _reducer(
    lhs: tuple[Var, ...], rhs: tuple[Var, ...], result: tuple[PrimExpr, ...], identity: tuple[PrimExpr, ...]
) -> expr.CommReducer:
    types = [v.dtype for v in lhs]
    for values in (rhs, result, identity):
        if [v.dtype for v in values] != types or not types:
            raise DTypeError(f"program: CommReducer combines values of the types {types}, got {show(values)}")
    return expr.CommReducer(lhs, rhs, result, identity)


def _reduce(
    combiner: expr.CommReducer,
    source: tuple[PrimExpr, ...],
    axis: tuple[expr.IterVar, ...],
    condition: PrimExpr,
    value_index: int,
    init: tuple[PrimExpr, ...],
) -> PrimExpr:
    types = [v.dtype for v in combiner.lhs]
    if [e.dtype for e in source] != types or (init and [e.dtype for e in init] != types):
        raise DTypeError(f"program: Reduce takes values of the types {types}, got {show(source)}")
    if not axis or len(set(axis)) < len(axis) or any(a.iter_type != expr.IterVar.CommReduce for a in axis):
        raise ProgramError("program: Reduce takes axes of reductions, each once")
    if not 0 <= value_index < len(source):
        raise ProgramError(f"program: Reduce has {len(source)} values, got value_index {value_index}")
    _condition("Reduce", condition)
    return expr.Reduce(combiner, source, axis, condition, value_index, init)


KINDS: dict[str, Kind] = {
    **{cls.__name__: Kind(cls, {"a": "expr", "b": "expr"}, partial(_arithmetic, cls)) for cls in BINARY_OPERATIONS},
    "Not": Kind(expr.Not, {"a": "expr"}, _not),
    "Select": Kind(expr.Select, {"condition": "expr", "true_value": "expr", "false_value": "expr"}, _select),
    "Cast": Kind(expr.Cast, {"dtype": "dtype", "value": "expr"}, _cast),
    "Let": Kind(expr.Let, {"var": "var", "value": "expr", "body": "expr"}, _let),
    "IntImm": Kind(expr.IntImm, {"dtype": "dtype", "value": "int"}, _int),
    "FloatImm": Kind(expr.FloatImm, {"dtype": "dtype", "value": "float"}, _float),
    "StringImm": Kind(expr.StringImm, {"value": "text"}, expr.StringImm),
    "Var": Kind(Var, {"name": "text", "dtype": "dtype"}, _variable),
    "Call": Kind(expr.Call, {"dtype": "dtype", "op": "operator", "args": "exprs"}, _call),
    "ProducerLoad": Kind(expr.ProducerLoad, {"producer": "tensor", "indices": "exprs"}, _load),
    "CommReducer": Kind(
        expr.CommReducer, {"lhs": "vars", "rhs": "vars", "result": "exprs", "identity_element": "exprs"}, _reducer
    ),
    "Reduce": Kind(
        expr.Reduce,
        {
            "combiner": "reducer",
            "source": "exprs",
            "axis": "axes",
            "condition": "expr",
            "value_index": "int",
            "init": "exprs",
        },
        _reduce,
    ),
}
"""By the name that a row begins with.  A ``Var`` is one that a ``Let`` or a reducer defines; others are leaves."""
