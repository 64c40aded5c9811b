"""Extraction of subprograms, and facts about single expressions."""

from __future__ import annotations

from compiler.ir.error import ArgumentError
from compiler.ir.function import BaseFunc, GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.types import Type
from compiler.relay.analysis.kinds import type_parts
from compiler.relay.analysis.traversal import post_order
from compiler.relay.analysis.variables import free_vars
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem
from compiler.relay.function import Function
from compiler.relay.ty import TensorType


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """Return the module that computes one intermediate value of ``main`` (TVM spells the name this way).

    ``expr_id`` counts calls, tuples and elements of tuples, from 0 on, operands before their users. Raises
    ArgumentError if there is none of that number.
    """
    values = [part for part in post_order(mod["main"]) if isinstance(part, (Call, Tuple, TupleGetItem))]
    if not 0 <= expr_id < len(values):
        raise ArgumentError(f"extract_intermdeiate_expr: expr_id must be from 0 to {len(values) - 1}, got {expr_id}")
    value = values[expr_id]
    return IRModule.from_expr(Function(tuple(free_vars(value)), value), _others(mod), mod.type_definitions)


def _others(mod: IRModule) -> dict[GlobalVar, BaseFunc]:
    return {var: func for var, func in mod.items() if var.name_hint != "main"}


def all_dtypes(expr: GraphExpr) -> set[str]:
    """Return the data types of the tensors that an expression computes with."""
    dtypes: set[str] = set()
    todo: list[Type] = [part.checked_type_ for part in post_order(expr) if part.checked_type_ is not None]
    seen: set[Type] = set()
    while todo:
        t = todo.pop()
        if t not in seen:
            seen.add(t)
            todo += type_parts(t)
            if isinstance(t, TensorType):
                dtypes.add(t.dtype)
    return dtypes


def check_constant(expr: GraphExpr) -> bool:
    """Return whether an expression is a constant, or a tuple of constants."""
    if isinstance(expr, Tuple):
        return all(check_constant(field) for field in expr.fields)
    return isinstance(expr, Constant)
