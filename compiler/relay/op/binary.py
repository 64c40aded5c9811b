"""Binary arithmetic, logic and comparison operators with broadcasting.

A gradient in the table is ``(a, b, y, g) -> (gradient of a, gradient of b)`` as if nothing were broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import NOT_SMOOTH
from compiler.relay.op.layout_rules import broadcast_layout, selection_layout
from compiler.relay.op.type_relations import broadcast, broadcast_compare, tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, Relation, RelationError, Types, call_op
from compiler.relay.ty import TensorType, same_dim
from compiler.te.definition.tensor import Tensor
from compiler.topi import broadcast as topi
from compiler.topi import extrema
from compiler.topi.definitions import summary_of

Rule = Callable[[RelayExpr, RelayExpr, RelayExpr, RelayExpr], tuple[RelayExpr, RelayExpr]]


def logical(types: Types, attrs: Attrs) -> Type:
    """Like :func:`broadcast`, of truth values only."""
    result = broadcast(types, attrs)
    if not dt.is_bool(tensor(result, "the inputs").dtype):
        raise RelationError(f"both inputs must be of type bool, got {types[0]} and {types[1]}; cast them first")
    return result


def integral(types: Types, attrs: Attrs) -> Type:
    """Like :func:`broadcast`, of integers only."""
    result = broadcast(types, attrs)
    if not dt.is_integral(tensor(result, "the inputs").dtype):
        raise RelationError(f"both inputs must be integers, got {types[0]} and {types[1]}; cast them first")
    return result


def sum_to(grad: RelayExpr, arg: RelayExpr, shape_of: RelayExpr) -> RelayExpr:
    """Return a gradient summed over the axes along which an argument was broadcast to ``shape_of``'s shape."""
    own, wide = arg.checked_type, shape_of.checked_type
    same = len(own.shape) == len(wide.shape) and all(
        same_dim(a, b) and isinstance(a, int) for a, b in zip(own.dims, wide.dims, strict=True)
    )
    return grad if same else call_op("collapse_sum_like", grad, arg)


def _binary(
    compute: Callable[[Tensor, Tensor], Tensor],
    reference: Callable[..., Array],
    gradient: Rule | None = None,
    relation: Relation[Attrs] = broadcast,
    onnx: str = "",
) -> OpFunction:
    """Register a function of two broadcast tensors, with the name and the documentation of its definition."""

    def rule(call: Call, grad: Expr) -> list[RelayExpr]:
        assert gradient is not None
        lhs, rhs = call.args
        parts = gradient(lhs, rhs, call, grad)
        return [sum_to(part, arg, call) for part, arg in zip(parts, call.args, strict=True)]

    return register(
        compute.__name__,
        doc=summary_of(compute),
        inputs={"lhs": "The left operand.", "rhs": "The right operand, of the same data type."},
        relation=relation,
        pattern=OpPattern.BROADCAST,
        compute=lambda attrs, inputs, out_type: [compute(*inputs)],
        reference=lambda attrs, a, b: _of_numbers(reference, a, b),
        gradient=rule if gradient else None,
        layout=broadcast_layout,
        onnx=onnx,
        waived={} if gradient else NOT_SMOOTH,
    )


def _of_numbers(reference: Callable[..., Array], a: Array, b: Array) -> Array:
    """Return a result of truth values as one: of 0 and 1, and what is not 0 is true."""
    result = reference(a, b)
    return result.astype("bool") if a.dtype.kind == "b" else result


def _mul(a: RelayExpr, b: RelayExpr) -> Call:
    return call_op("multiply", a, b)


def _div(a: RelayExpr, b: RelayExpr) -> Call:
    return call_op("divide", a, b)


def _neg(a: RelayExpr) -> Call:
    return call_op("negative", a)


def _power_gradient(a: RelayExpr, b: RelayExpr, y: RelayExpr, g: RelayExpr) -> tuple[Call, Call]:
    one = const(1, a.checked_type.dtype)
    to_base = _mul(g, _mul(b, call_op("power", a, call_op("subtract", b, one))))
    return to_base, _mul(g, _mul(call_op("log", a), y))


def _choice_gradient(better: str, a: RelayExpr, b: RelayExpr, y: RelayExpr, g: RelayExpr) -> tuple[Call, Call]:
    """The gradient goes to the one that was chosen; of two equal ones to the first."""
    first = call_op(better, a, b)
    nothing = call_op("zeros_like", g)
    return call_op("where", first, g, nothing), call_op("where", first, nothing, g)


def _divide(a: Array, b: Array) -> Array:
    if np.result_type(a, b).kind not in "iub":
        return np.divide(a, b)
    return _trunc_divide(a, b)


def _trunc_divide(a: Array, b: Array) -> Array:
    """The quotient towards zero; an integer divided by zero is zero."""
    dtype = np.result_type(a, b)
    if dtype.kind not in "iub":
        return np.trunc(a / b)
    down = np.floor_divide(a, b)
    result: Array = (down + ((down < 0) & (down * b != a))).astype(dtype)
    return result


def _floor_divide(a: Array, b: Array) -> Array:
    return np.floor_divide(a, b) if a.dtype.kind in "iub" else np.floor(a / b)


def _floor_mod(a: Array, b: Array) -> Array:
    return np.mod(a, b) if a.dtype.kind in "iub" else a - np.floor(a / b) * b


def _difference(a: Array, b: Array) -> Array:
    return np.not_equal(a, b) if a.dtype.kind == "b" else np.subtract(a, b)


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iub":
        return np.power(a, b)
    result: Array = np.rint(np.power(a.astype("float64"), b.astype("float64"))).astype(a.dtype)
    return result


add = _binary(topi.add, np.add, lambda a, b, y, g: (g, g), onnx="Add")
subtract = _binary(topi.subtract, _difference, lambda a, b, y, g: (g, _neg(g)), onnx="Sub")
multiply = _binary(topi.multiply, np.multiply, lambda a, b, y, g: (_mul(g, b), _mul(g, a)), onnx="Mul")
divide = _binary(topi.divide, _divide, lambda a, b, y, g: (_div(g, b), _neg(_mul(g, _div(y, b)))), onnx="Div")
floor_divide = _binary(topi.floor_divide, _floor_divide)
floor_mod = _binary(topi.floor_mod, _floor_mod)
trunc_divide = _binary(topi.trunc_divide, _trunc_divide)
trunc_mod = _binary(topi.trunc_mod, np.fmod)
mod = _binary(topi.mod, np.fmod)
power = _binary(topi.power, _power, _power_gradient)
maximum = _binary(extrema.maximum, np.maximum, partial(_choice_gradient, "greater_equal"))
minimum = _binary(extrema.minimum, np.minimum, partial(_choice_gradient, "less_equal"))
left_shift = _binary(topi.left_shift, np.left_shift)
right_shift = _binary(topi.right_shift, np.right_shift)
bitwise_and = _binary(topi.bitwise_and, np.bitwise_and, relation=integral, onnx="BitwiseAnd")
bitwise_or = _binary(topi.bitwise_or, np.bitwise_or, relation=integral, onnx="BitwiseOr")
bitwise_xor = _binary(topi.bitwise_xor, np.bitwise_xor, relation=integral, onnx="BitwiseXor")
logical_and = _binary(topi.logical_and, np.logical_and, relation=logical, onnx="And")
logical_or = _binary(topi.logical_or, np.logical_or, relation=logical, onnx="Or")
logical_xor = _binary(topi.logical_xor, np.logical_xor, relation=logical, onnx="Xor")
equal = _binary(topi.equal, np.equal, relation=broadcast_compare, onnx="Equal")
not_equal = _binary(topi.not_equal, np.not_equal, relation=broadcast_compare)
less = _binary(topi.less, np.less, relation=broadcast_compare, onnx="Less")
less_equal = _binary(topi.less_equal, np.less_equal, relation=broadcast_compare, onnx="LessOrEqual")
greater = _binary(topi.greater, np.greater, relation=broadcast_compare, onnx="Greater")
greater_equal = _binary(topi.greater_equal, np.greater_equal, relation=broadcast_compare, onnx="GreaterOrEqual")


def _where_relation(types: Types, attrs: Attrs) -> Type:
    """The shapes broadcast against each other, and the data type of x and y."""
    condition = tensor(types[0], "condition")
    choice = broadcast(types[1:], attrs)
    assert isinstance(choice, TensorType)
    return broadcast((TensorType(condition.shape, choice.dtype), choice), attrs)


def _where_gradient(call: Call, grad: Expr) -> list[RelayExpr]:
    condition, x, y = call.args
    nothing = call_op("zeros_like", grad)
    return [
        call_op("zeros_like", condition),
        sum_to(call_op("where", condition, grad, nothing), x, call),
        sum_to(call_op("where", condition, nothing, grad), y, call),
    ]


def _where_reference(attrs: Attrs, condition: Array, x: Array, y: Array) -> Array:
    try:
        return np.where(condition != 0, x, y)
    except ValueError as exc:
        raise ArgumentError(f"Invalid broadcast shapes {condition.shape}, {x.shape} and {y.shape}") from exc


where = register(
    "where",
    doc="Choose x where a condition is not zero, y elsewhere, all broadcast against each other.",
    inputs={
        "condition": "Truth values, or numbers that are true where they are not zero.",
        "x": "What to take where the condition holds.",
        "y": "What to take elsewhere, of the same data type.",
    },
    onnx="Where",
    relation=_where_relation,
    pattern=OpPattern.BROADCAST,
    definition=topi.where,
    reference=_where_reference,
    gradient=_where_gradient,
    layout=selection_layout,
)
