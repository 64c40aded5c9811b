"""Registration of rules for quantized operators, under TVM's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.op import register_op_attr
from compiler.relay.op_registry import composite

Rule = Callable[..., Any]


@composite
def register_qnn_legalize(op_name: str, legal_op: Rule | None = None, level: int = 10) -> Any:
    """Set what ``qnn.transform.Legalize`` puts in place of the calls of an operator.

    ``legal_op`` is a function from attributes, arguments, and their types with that of the result last, to an
    expression, or None; without it, the decorator is returned.
    """
    return register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


@composite
def register_qnn_canonicalize(op_name: str, legal_op: Rule | None = None, level: int = 10) -> Any:
    """Set what ``qnn.transform.CanonicalizeOps`` puts in place of the calls of an operator.

    ``legal_op`` is as for :func:`register_qnn_legalize`.
    """
    return register_op_attr(op_name, "FTVMQnnCanonicalize", legal_op, level)
