"""Tracing of values in machine code: ``tvm.tir.trace``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import Call, ExprLike, PrimExpr, StringImm, convert
from compiler.ir.op import CallEffect, register_op
from compiler.runtime.modules.packed_func import register_func

CALL_TRACE_PACKED = register_op(
    "tir.tvm_call_trace_packed",
    effect=CallEffect.UPDATE_STATE,
    prints_dtype=True,
    doc="Calls a registered function with values that it looks at.",
)
_DEFAULT_ACTION = "tvm.default_trace_action"


def trace(args: Sequence[ExprLike], trace_action: str = _DEFAULT_ACTION) -> PrimExpr:
    """Let a registered function look at values where they are computed.

    The registered function ``trace_action`` is called with all values; what it returns takes the place of the last,
    unless it is None. The default one prints the values. Raises ArgumentError if there are no values, or
    ``trace_action`` is not text.

    Examples
    --------
    >>> te.compute((4,), lambda i: tvm.tir.trace([i, A[i]]))
    """
    if not isinstance(args, (list, tuple)) or not args:
        raise ArgumentError(f"trace: args must be a list of values, got {show(args)}")
    if not isinstance(trace_action, str):
        raise ArgumentError(f"trace: trace_action must be the name of a registered function, got {show(trace_action)}")
    values = [convert(value) for value in args]
    return Call(values[-1].dtype, CALL_TRACE_PACKED, (StringImm(trace_action), *values))


def _print_values(*args: object) -> None:
    print(list(args))


register_func(_DEFAULT_ACTION, _print_values)
