"""The interface of SimplifyExpr rules, and helpers to inspect expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.operator import call_of
from compiler.relay.transform.rewriter import tensor_type, type_of
from compiler.relay.ty import TensorType

Apply: TypeAlias = Callable[[Call], RelayExpr | None]
"""What a rule makes of a call; None if it leaves it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite."""

    operator: str
    equation: str
    apply: Apply


def inner_call(call: Call, name: str) -> Call | None:
    """Return the first operand if it calls an operator of that name."""
    return call_of(call.args[0], name)


def static_type(expr: GraphExpr) -> TensorType | None:
    t = tensor_type(expr)
    return t if t is not None and t.is_static else None


def of_same_type(call: Call, replacement: RelayExpr) -> RelayExpr | None:
    """Return the replacement if it has the type of the call."""
    return replacement if type_of(replacement) == type_of(call) else None
