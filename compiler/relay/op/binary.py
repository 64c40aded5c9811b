"""Arithmetic, logic and comparison of two tensors broadcast against each other, a row each.

A gradient in the table is ``(a, b, y, g) -> (gradient of a, gradient of b)`` as if nothing were broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import NOT_SMOOTH, OpFunction
from compiler.relay.op.relations import broadcast, broadcast_compare, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType, same_dim
from compiler.topi import broadcast as topi

Rule = Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def logical(types: Types, attrs: Attrs) -> Type:
    """Like :func:`broadcast`, of truth values only."""
    found = broadcast(types, attrs)
    if not dt.is_bool(tensor(found, "the inputs").dtype):
        raise RelationError(f"both inputs must be of type bool, got {types[0]} and {types[1]}; cast them first")
    return found


def integral(types: Types, attrs: Attrs) -> Type:
    """Like :func:`broadcast`, of integers only."""
    found = broadcast(types, attrs)
    if not dt.is_integral(tensor(found, "the inputs").dtype):
        raise RelationError(f"both inputs must be integers, got {types[0]} and {types[1]}; cast them first")
    return found


def _layout(call: Call, inputs: Sequence[Any], types: Sequence[Any]) -> Any:
    """Inputs of one rank take the same layout, that of the first one that has one; a scalar fits to any."""
    ranks = [len(t.shape) for t in types]
    wanted = next((name for name, rank in zip(inputs, ranks, strict=True) if name and rank == max(ranks)), None)
    if wanted is None or any(rank not in (0, max(ranks)) for rank in ranks):
        return None
    return [wanted if rank else "" for rank in ranks], [wanted], call.attrs


def sum_to(grad: Any, arg: Any, shape_of: Any) -> Any:
    """Return a gradient summed over the axes along which an argument was broadcast to ``shape_of``'s shape."""
    own, wide = arg.checked_type, shape_of.checked_type
    same = len(own.shape) == len(wide.shape) and all(
        same_dim(a, b) and isinstance(a, int) for a, b in zip(own.dims, wide.dims, strict=True)
    )
    return grad if same else call_op("collapse_sum_like", grad, arg)


def _binary(
    name: str,
    compute: Callable[[Any, Any], Any],
    reference: Callable[..., Any],
    doc: str,
    gradient: Rule | None = None,
    relation: Any = broadcast,
) -> OpFunction:
    """Register a function of two broadcast tensors and return what calls it."""

    def rule(call: Call, grad: Expr) -> list[Expr]:
        assert gradient is not None
        lhs, rhs = call.args
        parts = gradient(lhs, rhs, call, grad)
        return [sum_to(part, arg, call) for part, arg in zip(parts, call.args, strict=True)]

    op = register(
        name,
        doc=doc,
        inputs=("lhs", "rhs"),
        relation=relation,
        pattern=OpPattern.BROADCAST,
        compute=lambda attrs, inputs, out_type: [compute(*inputs)],
        reference=lambda attrs, a, b: reference(a, b),
        gradient=rule if gradient else None,
        layout=_layout,
        waived={} if gradient else NOT_SMOOTH,
    )

    def build(lhs: Expr, rhs: Expr) -> Call:
        return op(lhs, rhs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def _mul(a: Any, b: Any) -> Any:
    return call_op("multiply", a, b)


def _div(a: Any, b: Any) -> Any:
    return call_op("divide", a, b)


def _neg(a: Any) -> Any:
    return call_op("negative", a)


def _power_gradient(a: Any, b: Any, y: Any, g: Any) -> tuple[Any, Any]:
    one = const(1, a.checked_type.dtype)
    to_base = _mul(g, _mul(b, call_op("power", a, call_op("subtract", b, one))))
    return to_base, _mul(g, _mul(call_op("log", a), y))


def _choice_gradient(better: str) -> Rule:
    """The gradient goes to the one that was chosen; of two equal ones to the first."""

    def rule(a: Any, b: Any, y: Any, g: Any) -> tuple[Any, Any]:
        first = call_op(better, a, b)
        nothing = call_op("zeros_like", g)
        return call_op("where", first, g, nothing), call_op("where", first, nothing, g)

    return rule


def _divide(a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind == "f":
        return np.divide(a, b)
    return _trunc_divide(a, b)


def _trunc_divide(a: Any, b: Any) -> Any:
    """The quotient towards zero; an integer divided by zero is zero."""
    dtype = np.result_type(a, b)
    if dtype.kind == "f":
        return np.trunc(a / b)
    down = np.floor_divide(a, b)
    return (down + ((down < 0) & (down * b != a))).astype(dtype)


def _power(a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        return np.power(a, b)
    return np.rint(np.power(a.astype("float64"), b.astype("float64"))).astype(a.dtype)


add = _binary("add", topi.add, np.add, "Sum.", lambda a, b, y, g: (g, g))
subtract = _binary("subtract", topi.subtract, np.subtract, "Difference.", lambda a, b, y, g: (g, _neg(g)))
multiply = _binary("multiply", topi.multiply, np.multiply, "Product.", lambda a, b, y, g: (_mul(g, b), _mul(g, a)))
divide = _binary(
    "divide",
    topi.divide,
    _divide,
    "Quotient; that of integers is rounded towards zero.",
    lambda a, b, y, g: (_div(g, b), _neg(_mul(g, _div(y, b)))),
)
floor_divide = _binary("floor_divide", topi.floor_divide, np.floor_divide, "Quotient, rounded down.")
floor_mod = _binary("floor_mod", topi.floor_mod, np.mod, "Remainder of floor_divide; it has the sign of the divisor.")
trunc_divide = _binary("trunc_divide", topi.trunc_divide, _trunc_divide, "Quotient, rounded towards zero.")
trunc_mod = _binary("trunc_mod", topi.trunc_mod, np.fmod, "Remainder of trunc_divide; it has the sign of the dividend.")
mod = _binary("mod", topi.mod, np.fmod, "Remainder of trunc_divide; it has the sign of the dividend.")
power = _binary("power", topi.power, _power, "lhs to the power of rhs.", _power_gradient)
maximum = _binary("maximum", topi.maximum, np.maximum, "The larger one.", _choice_gradient("greater_equal"))
minimum = _binary("minimum", topi.minimum, np.minimum, "The smaller one.", _choice_gradient("less_equal"))
left_shift = _binary("left_shift", topi.left_shift, np.left_shift, "lhs * 2 ** rhs.", relation=integral)
right_shift = _binary(
    "right_shift", topi.right_shift, np.right_shift, "lhs / 2 ** rhs, rounded down.", relation=integral
)
bitwise_and = _binary("bitwise_and", topi.bitwise_and, np.bitwise_and, "The bits set in both.", relation=integral)
bitwise_or = _binary("bitwise_or", topi.bitwise_or, np.bitwise_or, "The bits set in either.", relation=integral)
bitwise_xor = _binary("bitwise_xor", topi.bitwise_xor, np.bitwise_xor, "The bits set in one.", relation=integral)
logical_and = _binary("logical_and", topi.logical_and, np.logical_and, "Whether both hold.", relation=logical)
logical_or = _binary("logical_or", topi.logical_or, np.logical_or, "Whether either holds.", relation=logical)
logical_xor = _binary("logical_xor", topi.logical_xor, np.logical_xor, "Whether one holds.", relation=logical)
equal = _binary("equal", topi.equal, np.equal, "Whether lhs == rhs.", relation=broadcast_compare)
not_equal = _binary("not_equal", topi.not_equal, np.not_equal, "Whether lhs != rhs.", relation=broadcast_compare)
less = _binary("less", topi.less, np.less, "Whether lhs < rhs.", relation=broadcast_compare)
less_equal = _binary("less_equal", topi.less_equal, np.less_equal, "Whether lhs <= rhs.", relation=broadcast_compare)
greater = _binary("greater", topi.greater, np.greater, "Whether lhs > rhs.", relation=broadcast_compare)
greater_equal = _binary(
    "greater_equal", topi.greater_equal, np.greater_equal, "Whether lhs >= rhs.", relation=broadcast_compare
)


def _where_relation(types: Types, attrs: Attrs) -> Type:
    condition = tensor(types[0], "condition")
    found = broadcast(types[1:], attrs)
    assert isinstance(found, TensorType)
    return broadcast((TensorType(condition.shape, found.dtype), found), attrs)


def _where_gradient(call: Call, grad: Expr) -> list[Expr]:
    condition, x, y = call.args
    nothing = call_op("zeros_like", grad)
    return [
        call_op("zeros_like", condition),
        sum_to(call_op("where", condition, grad, nothing), x, call),
        sum_to(call_op("where", condition, nothing, grad), y, call),
    ]


_WHERE = register(
    "where",
    doc="x where a condition holds, y elsewhere.",
    inputs=("condition", "x", "y"),
    relation=_where_relation,
    pattern=OpPattern.BROADCAST,
    compute=lambda attrs, inputs, out_type: [topi.where(*inputs)],
    reference=lambda attrs, condition, x, y: np.where(condition != 0, x, y),
    gradient=_where_gradient,
    layout=_layout,
)


def where(condition: Expr, x: Expr, y: Expr) -> Call:
    """Return ``x`` where ``condition`` is not zero, ``y`` elsewhere, all broadcast against each other."""
    return _WHERE(condition, x, y)
