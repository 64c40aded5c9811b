"""Building blocks of gradients: ones, zeros, and the gradient of one operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, GraphExpr, Tuple, TupleGetItem, as_expr
from compiler.relay.inference import infer_expr
from compiler.relay.operator import RelayOp, call_op
from compiler.relay.ty import TensorType, TupleType, tensor_types


def ones(expr: RelayExpr) -> RelayExpr:
    """Return ones in the shape of an expression, a tuple of them for a tuple."""
    return map_tensors(infer_expr(expr), expr, lambda tensor: call_op("ones_like", tensor))


def zeros(expr: RelayExpr) -> RelayExpr:
    """Return zeros in the shape of an expression, a tuple of them for a tuple."""
    return map_tensors(infer_expr(expr), expr, lambda tensor: call_op("zeros_like", tensor))


def map_tensors(t: Type, expr: RelayExpr, change: Callable[[RelayExpr], RelayExpr]) -> RelayExpr:
    """Return a value of the type ``t`` with every tensor in it changed."""
    if isinstance(t, TupleType):
        fields = expr.fields if isinstance(expr, Tuple) else [TupleGetItem(expr, i) for i in range(len(t.fields))]
        return Tuple(tuple(map_tensors(f, e, change) for f, e in zip(t.fields, fields, strict=True)))
    if not isinstance(t, TensorType):
        raise ArgumentError(f"gradient: expected tensors and tuples of them, got a value of type {t}")
    return change(expr)


def operator_gradient(call: Call, grad: RelayExpr) -> Sequence[RelayExpr | None]:
    """Return what a call adds to the gradient of each of its arguments; None if that is nothing."""
    op = call.op
    assert isinstance(op, RelayOp)
    gradient = op.get_attr("FPrimalGradient")
    if gradient is None:
        if not (_differentiable(call) and any(_differentiable(arg) for arg in call.args)):
            return (None,) * len(call.args)  # integers and truth values do not change by a little
        reason = op.waived.get("gradient")
        raise ArgumentError(f"gradient: operator {op.name} has no gradient{f': {reason}' if reason else ''}")
    grads = [as_expr(g) for g in gradient(call, grad)]
    # Beside numbers, integers are indices and the like; where the result is made of integers they are differentiated.
    of_integers = not _differentiable(call)
    return [g if of_integers or _differentiable(arg) else None for arg, g in zip(call.args, grads, strict=True)]


def _differentiable(expr: GraphExpr) -> bool:
    return any(dt.is_float(t.dtype) for t in tensor_types([infer_expr(expr)]))
