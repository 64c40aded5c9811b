"""SimplifyExpr rules as data: each names its root operator and states the rewrite as an equation.

A rule gets a call whose operands are simplified, and returns what replaces it, or None.  Every expression has its type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, GraphExpr, array_const
from compiler.relay.operator import OpPattern, call_op, operator_of, relay_ops, reshaped
from compiler.relay.transform.fold.fold_constant import FoldConstantExpr
from compiler.relay.transform.rewriter import call_of, const_like, op_name, scalar_value, tensor_type, type_of
from compiler.relay.transform.simplify.simplify_casts import BUILD_CAST_RULES, CAST_RULES
from compiler.relay.transform.simplify.simplify_products import PRODUCT_RULES
from compiler.relay.transform.simplify.simplify_quadratics import QUADRATIC_RULES
from compiler.relay.transform.simplify.simplify_rule import Apply, Rule, inner_call, of_same_type, static_type
from compiler.relay.transform.simplify.simplify_shapes import BUILD_SHAPE_RULES, SHAPE_RULES
from compiler.runtime.arrays.ndarray import numpy_dtype


def _neutral(
    value: float, sides: tuple[int, ...], value_of: Callable[[GraphExpr], np.generic | None], call: Call
) -> RelayExpr | None:
    """Drop an operand all of whose elements are ``value``, as far as ``value_of`` says it."""
    for side in sides:
        scalar = value_of(call.args[side])
        if scalar is not None and scalar == value and (other := of_same_type(call, call.args[1 - side])) is not None:
            return other
    return None


def _one_number(expr: GraphExpr) -> np.generic | None:
    """Return the value of a constant of rank 0, or of a tensor that an operator fills; None of others."""
    number = expr if isinstance(expr, Constant) else _number_in(expr)
    return number.value.flat[0] if number is not None and number.value.ndim == 0 else None


def _constant_side(call: Call | None) -> tuple[RelayExpr, Constant] | None:
    """Return the operand that is not a constant and the one that is."""
    if call is None:
        return None
    a, b = call.args
    if isinstance(b, Constant) and not isinstance(a, Constant):
        return a, b
    return (b, a) if isinstance(a, Constant) and not isinstance(b, Constant) else None


def _gather_constants(name: str, call: Call) -> RelayExpr | None:
    """Apply an associative operator to two constants before anything else."""
    outer = _constant_side(call)
    inner = _constant_side(call_of(outer[0], name)) if outer is not None else None
    if outer is None or inner is None:
        return None
    # Constants of different shapes may be one bigger than both.
    if inner[1].data.shape != outer[1].data.shape and () not in (inner[1].data.shape, outer[1].data.shape):
        return None
    return of_same_type(call, call_op(name, inner[0], FoldConstantExpr(call_op(name, inner[1], outer[1]))))


def _twice(name: str, call: Call) -> RelayExpr | None:
    """Leave out an operator that undoes itself."""
    inner = inner_call(call, name)
    return None if inner is None else inner.args[0]


def _idempotent(name: str) -> Apply:
    return lambda call: inner_call(call, name)


def _divide_by_root(call: Call) -> RelayExpr | None:
    root, numerator = call_of(call.args[1], "sqrt"), call.args[0]
    if root is None:
        return None
    inverse = call_op("rsqrt", root.args[0])
    is_one = scalar_value(numerator) == 1 and type_of(inverse) == type_of(call)
    return inverse if is_one else call_op("multiply", numerator, inverse)


def _multiply_first(call: Call) -> RelayExpr | None:
    outer = _constant_side(call)
    inner = _constant_side(call_of(outer[0], "add")) if outer is not None else None
    if outer is None or inner is None:
        return None
    product, shift = (call_op("multiply", term, outer[1]) for term in inner)
    type_of(product)
    gathered = _gather_constants("multiply", product) or product
    return of_same_type(call, call_op("add", gathered, FoldConstantExpr(shift)))


def _rounded_quotient(call: Call) -> RelayExpr | None:
    quotient, t = inner_call(call, "divide"), tensor_type(call)
    if quotient is None or t is None or t.dtype != "float32" or not isinstance(quotient.args[1], Constant):
        return None
    divided = _divided(quotient.args[0], quotient.args[1])
    return None if divided is None else of_same_type(call, call_op("nearbyint", divided))


def _divided(e: GraphExpr, by: Constant) -> RelayExpr | None:
    """Return a sum of products with constants, each of which is divided, instead of the sum; None of others.

    Quotients must have all digits of a float.
    """
    if isinstance(e, Constant):
        quotient = FoldConstantExpr(call_op("divide", e, by))
        assert isinstance(quotient, Constant)
        size, limits = np.abs(quotient.value[e.value != 0]), np.finfo("float32")
        return quotient if np.all((limits.tiny <= size) & (size <= limits.max)) else None
    if (total := call_of(e, "add")) is not None:
        terms = [_divided(term, by) for term in total.args]
        return None if None in terms else call_op("add", *terms)
    product = _constant_side(call_of(e, "multiply"))
    factor = None if product is None else _divided(product[1], by)
    return None if product is None or factor is None else call_op("multiply", product[0], factor)


def _double(call: Call) -> RelayExpr | None:
    a, b = call.args
    t = tensor_type(call)
    return call_op("multiply", a, const_like(2, t.dtype)) if a is b and t is not None else None


def _power(call: Call) -> RelayExpr | None:
    exponent = scalar_value(call.args[1])
    base = call.args[0]
    if exponent is None or type_of(base) != type_of(call):
        return None
    if exponent == 1:
        return base
    return call_op("multiply", base, base) if exponent == 2 else None


def _of_quantized(call: Call) -> RelayExpr | None:
    """Dequantizing all elements by one positive scale keeps their order."""
    inner = inner_call(call, "qnn.dequantize")
    scale = scalar_value(inner.args[1]) if inner is not None else None
    if inner is None or scale is None or not float(scale) > 0 or scalar_value(inner.args[2]) is None:
        return None
    return call_op(operator_of(call).name, inner.args[0], **call.attrs)


def _filled(name: str, call: Call) -> RelayExpr | None:
    """Write down the type of a tensor of zeros, or ones."""
    t = static_type(call)
    return None if t is None else call_op(name, shape=t.concrete_shape, dtype=t.dtype)


def _full_like(call: Call) -> RelayExpr | None:
    t = static_type(call)
    if t is None:
        return None
    return call_op("full", call.args[1], shape=t.concrete_shape, dtype=t.dtype)


def _reshape_like(call: Call) -> RelayExpr | None:
    t = static_type(call)
    return None if t is None else reshaped(call.args[0], t.concrete_shape)


def _like(name: str, call: Call) -> RelayExpr | None:
    """Write down the shape that another tensor was there for."""
    t = static_type(call)
    return None if t is None else call_op(name, call.args[0], shape=t.concrete_shape)


def _number_in(expr: GraphExpr) -> Constant | None:
    """Return the number that all elements of a filled tensor are, if it is a constant."""
    t, name = tensor_type(expr), op_name(expr)
    if t is None or name not in ("full", "ones", "zeros"):
        return None
    if name != "full":
        return const_like(float(name == "ones"), t.dtype)
    value = expr.args[0] if isinstance(expr, Call) else None
    return array_const(np.asarray(value.value.astype(numpy_dtype(t.dtype)))) if isinstance(value, Constant) else None


def _with_full(name: str, call: Call) -> RelayExpr | None:
    """Broadcast a number instead of a tensor that holds nothing else."""
    for side in (0, 1):
        value, other = _number_in(call.args[side]), call.args[1 - side]
        if value is not None:
            pair = (value, other) if side == 0 else (other, value)
            return of_same_type(call, call_op(name, *pair))
    return None


_NEUTRAL: tuple[tuple[str, str, float, tuple[int, ...]], ...] = (
    ("add", "x + 0 = x", 0, (0, 1)),
    ("subtract", "x - 0 = x", 0, (1,)),
    ("multiply", "x * 1 = x", 1, (0, 1)),
    ("divide", "x / 1 = x", 1, (1,)),
)

_BROADCASTING = tuple(
    name for name, op in relay_ops().items() if op.pattern is OpPattern.BROADCAST and tuple(op.inputs) == ("lhs", "rhs")
)
"""Operators of two tensors that are brought to one shape, element by element."""

RULES: tuple[Rule, ...] = (
    *SHAPE_RULES,
    *CAST_RULES,
    *(Rule(name, equation, partial(_neutral, value, sides, _one_number)) for name, equation, value, sides in _NEUTRAL),
    Rule("divide", "a / sqrt(x) = a * rsqrt(x), 1 / sqrt(x) = rsqrt(x)", _divide_by_root),
    Rule("add", "x + x = x * 2", _double),
    *QUADRATIC_RULES,
    Rule("add", "(x + a) + b = x + (a + b)", partial(_gather_constants, "add")),
    Rule("multiply", "(x * a) * b = x * (a * b)", partial(_gather_constants, "multiply")),
    Rule("multiply", "(x + a) * b = x * b + a * b", _multiply_first),
    *(Rule(n, f"{n}(dequantize(x)) = {n}(x)", _of_quantized) for n in ("argmax", "argmin", "argsort")),
    Rule("zeros_like", "zeros_like(x) = zeros(shape of x)", partial(_filled, "zeros")),
    Rule("ones_like", "ones_like(x) = ones(shape of x)", partial(_filled, "ones")),
    Rule("full_like", "full_like(x, v) = full(v, shape of x)", _full_like),
    Rule("reshape_like", "reshape_like(x, y) = reshape(x, shape of y)", _reshape_like),
    Rule("broadcast_to_like", "broadcast_to_like(x, y) = broadcast_to(x, shape of y)", partial(_like, "broadcast_to")),
    Rule("collapse_sum_like", "collapse_sum_like(x, y) = collapse_sum_to(x, …)", partial(_like, "collapse_sum_to")),
    *(Rule(n, f"{n}(x, full(v)) = {n}(x, v)", partial(_with_full, n)) for n in _BROADCASTING),
)
"""Those of TVM, in the order in which they are tried."""

BUILD_RULES: tuple[Rule, ...] = (
    *BUILD_SHAPE_RULES,
    *BUILD_CAST_RULES,
    *PRODUCT_RULES,
    *(Rule(name, equation, partial(_neutral, value, sides, scalar_value)) for name, equation, value, sides in _NEUTRAL),
    Rule("nearbyint", "nearbyint((x * a + b) / c) = nearbyint(x * (a / c) + b / c)", _rounded_quotient),
    Rule("power", "x ** 1 = x, x ** 2 = x * x", _power),
    Rule("negative", "-(-x) = x", partial(_twice, "negative")),
    Rule("nn.relu", "relu(relu(x)) = relu(x)", _idempotent("nn.relu")),
    Rule("abs", "abs(abs(x)) = abs(x)", _idempotent("abs")),
)
"""What builds do as well."""
