"""The interface of SimplifyExpr rules, and helpers to inspect expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.transform.rewriter import op_name, tensor_type, type_of
from compiler.relay.ty import TensorType

__all__ = ["Rule", "inner_call", "of_same_type", "static_type"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite."""

    operator: str
    equation: str
    apply: Callable[[Call], Any]


def inner_call(call: Call, name: str) -> Any:
    """Return the first operand if it calls an operator of that name."""
    inner = call.args[0]
    return inner if op_name(inner) == name else None


def static_type(expr: GraphExpr) -> TensorType | None:
    t = tensor_type(expr)
    return t if t is not None and t.is_static else None


def of_same_type(call: Call, replacement: RelayExpr) -> Any:
    """Return the replacement if it has the type of the call."""
    return replacement if type_of(replacement) == type_of(call) else None
