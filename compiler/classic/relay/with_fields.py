"""Expressions with some of their fields changed: ``relay.expr.CallWithFields`` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.node import duplicate, rebuild
from compiler.ir.origin import derived_from
from compiler.relay.expr import Call, Constant, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.function_devices import with_result_device
from compiler.relay.reference import RefCreate, RefRead, RefWrite

__all__ = [
    "CallWithFields", "ConstantWithFields", "FunctionWithFields", "IfWithFields", "LetWithFields",
    "RefCreateWithFields", "RefReadWithFields", "RefWriteWithFields", "TupleGetItemWithFields", "TupleWithFields",
    "VarWithFields",
]  # fmt: skip

Copier = Callable[..., Any]


def _copier(cls: type[RelayExpr], fields: Mapping[str, str]) -> Copier:
    """Return the function that changes fields of one class: those named, in TVM's order, with our names for them."""
    name = f"{cls.__name__}WithFields"
    known = (*fields, "virtual_device", "span")

    def with_fields(expr: object, *values: Any, **named: Any) -> Any:
        if not isinstance(expr, cls):
            raise ArgumentError(f"{name}: expected a {cls.__name__}, got {type(expr).__name__} {show(expr)}")
        given = dict(zip(known, values, strict=False)) | named
        if len(values) > len(known) or not given.keys() <= set(known):
            raise ArgumentError(f"{name}: takes {', '.join(known)}; got {len(values)} values and {sorted(named)}")
        changes = {fields[key]: _kept(value) for key, value in given.items() if key in fields and value is not None}
        if isinstance(expr, Function) and given.get("virtual_device") is not None:
            return with_result_device(with_fields(expr, **given | {"virtual_device": None}), given["virtual_device"])
        span = given.get("span")
        if span is None:
            with derived_from(expr.span):
                return rebuild(expr, **changes)
        if isinstance(expr, Var):  # a copy of a variable would keep its span
            return Var(**{"name_hint": expr.name_hint, "type_annotation": expr.type_annotation, **changes}, span=span)
        with derived_from(span):
            return duplicate(expr, changes)

    with_fields.__name__ = with_fields.__qualname__ = name
    with_fields.__doc__ = f"""Return a {cls.__name__} with some of its fields changed, itself where nothing changes.

    Parameters
    ----------
    values : object
        New values of {", ".join(fields)}, in this order, then the virtual device, accepted as TVM does as functions
        alone say where their results are, and the span that says where the result comes from.  None changes nothing.
    named : object
        The same by their names.

    Raises
    ------
    ArgumentError
        If there is no such field, or the expression is of another class.
    """
    return with_fields


def _kept(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


CallWithFields = _copier(Call, _same("op", "args", "attrs", "type_args"))
ConstantWithFields = _copier(Constant, _same("data"))
FunctionWithFields = _copier(
    Function, {**_same("params", "body", "ret_type"), "ty_params": "type_params", "attrs": "attrs"}
)
IfWithFields = _copier(If, _same("cond", "true_branch", "false_branch"))
LetWithFields = _copier(Let, {"variable": "var", "value": "value", "body": "body"})
RefCreateWithFields = _copier(RefCreate, _same("value"))
RefReadWithFields = _copier(RefRead, _same("ref"))
RefWriteWithFields = _copier(RefWrite, _same("ref", "value"))
TupleGetItemWithFields = _copier(TupleGetItem, _same("tuple_value", "index"))
TupleWithFields = _copier(Tuple, _same("fields"))
VarWithFields = _copier(Var, {"vid": "name_hint", "type_annotation": "type_annotation"})
