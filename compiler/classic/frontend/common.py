"""``tvm.relay.frontend.common``: helpers of converters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.classic.frontend.set_span import set_span
from compiler.ir.error import ArgumentError, OpNotImplemented
from compiler.ir.expr import RelayExpr
from compiler.ir.extension import public_module
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.types import Type
from compiler.relay import op
from compiler.relay.analysis import free_vars
from compiler.relay.binding import bind
from compiler.relay.expr import Var, const, var
from compiler.relay.function import Function
from compiler.relay.inference import infer_expr
from compiler.relay.interpreter import Interpreter
from compiler.relay.op_registry import OpFunction
from compiler.relay.transform.fold.fold_constant import FoldConstantExpr
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import NDArray, array

relay_op: Any = op

__all__ = [
    "ensure_scalar_shape", "fold_constant", "get_name", "get_relay_op", "infer_channels",
    "infer_shape", "infer_type", "infer_value", "new_var", "set_span", "to_int_list", "try_infer_value",
    "try_resolve_var_to_const", "unbind",
]  # fmt: skip


def infer_type(node: RelayExpr, mod: IRModule | None = None) -> RelayExpr:
    """Infer the types of an expression, which may refer to a module's; a function says the type of its result."""
    infer_expr(node, mod)
    if isinstance(node, Function) and node.ret_type is None:
        node = rebuild(node, ret_type=node.body.checked_type)
        infer_expr(node, mod)
    return node


def infer_shape(inputs: RelayExpr, mod: IRModule | None = None) -> tuple[Any, ...] | Type:
    """Infer the shape of a tensor, with expressions for symbolic extents; the type itself of other values."""
    t = infer_expr(inputs, mod)
    return t.dims if isinstance(t, TensorType) else t


def infer_channels(inputs: RelayExpr, transpose: bool = False) -> int:
    """Infer how many output channels weights have: ``OIHW``, or ``IOHW`` to ``transpose`` a convolution."""
    t = infer_expr(inputs)
    assert isinstance(t, TensorType)
    return t.concrete_shape[1 if transpose else 0]


def infer_value(input_val: RelayExpr, params: Mapping[str, Any] | None, mod: IRModule | None = None) -> NDArray:
    """Evaluate an expression, whose free variables have values by their names.

    Raises AssertionError if one has none.
    """
    given = params or {}
    variables = free_vars(input_val)
    missing = sorted({v.name_hint for v in variables} - set(given))
    if missing:
        raise AssertionError(f"infer_value: the variables {', '.join(missing)} have no value in params")
    values = {v: given[v.name_hint] for v in variables}
    bound = bind(input_val, {v: x if isinstance(x, RelayExpr) else const(x) for v, x in values.items()})
    infer_expr(bound, mod)
    value = Interpreter(mod).evaluate(bound)
    return array(value[0] if isinstance(value, tuple) else value)


def try_infer_value(
    val: RelayExpr,
    on_success: Callable[[np.ndarray], Any] | None = None,
    on_failure: Callable[[], Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[Any, bool]:
    """Evaluate an expression if its free variables have values by their names; return a result, and whether it is so.

    The result is what ``on_success`` makes of the value, by default the value, or what ``on_failure`` returns, by
    default the expression.
    """
    given = parameters or {}
    if any(v.name_hint not in given for v in free_vars(val)):
        return (val if on_failure is None else on_failure()), False
    value = infer_value(val, given).view()
    return (value if on_success is None else on_success(value)), True


def fold_constant(node: RelayExpr, mod: IRModule | None = None) -> RelayExpr:
    """Fold the constants of an expression, which may refer to what a module has."""
    infer_expr(node, mod)
    return FoldConstantExpr(node, mod)


def new_var(name_hint: str, type_annotation: Type | None = None, shape: Any = None, dtype: str = "float32") -> Var:
    """Return a variable; see :func:`tvm.relay.var`.  A data type is used with a shape."""
    return var(name_hint, type_annotation, shape, dtype)


def get_name(node: RelayExpr) -> str:
    """Return the name of a variable; empty for other expressions."""
    return getattr(node, "name_hint", "")


def get_relay_op(op_name: str) -> OpFunction:
    """Look up the function of an operator by name: ``add``, ``nn.conv2d`` or just ``conv2d``.

    Raises OpNotImplemented if there is none.
    """
    place = relay_op
    for part in op_name.split("."):
        place = getattr(place, part, None)
    candidates = [
        place,
        *(getattr(getattr(relay_op, namespace), op_name, None) for namespace in ("nn", "image", "vision")),
    ]
    function: OpFunction | None = next((f for f in candidates if callable(f)), None)
    if function is None:
        raise OpNotImplemented(f"get_relay_op: there is no operator {op_name!r}")
    return function


def unbind(data: RelayExpr, axis: int = 0) -> list[RelayExpr]:
    """Split a tensor along an axis and remove the axis.

    Raises ArgumentError if the extent of the axis is not static.
    """
    shape = infer_shape(data)
    if not isinstance(shape, tuple) or not isinstance(shape[axis], int):
        raise ArgumentError(f"unbind: the extent of axis {axis} must be static, got {shape}")
    parts = relay_op.split(data, shape[axis], axis)
    return [relay_op.squeeze(part, axis=[axis]) for part in parts]


def ensure_scalar_shape(x: RelayExpr) -> RelayExpr:
    """Convert a tensor of one element to a scalar.

    Raises AssertionError if it has more than one element.
    """
    shape = infer_shape(x)
    if shape == ():
        return x
    if not isinstance(shape, tuple) or any(extent != 1 for extent in shape):
        raise AssertionError(f"ensure_scalar_shape: expected one element, got the shape {shape}")
    squeezed: RelayExpr = relay_op.squeeze(x)
    return squeezed


def to_int_list(np_array: np.ndarray | Sequence[Any]) -> list[int]:
    """Convert an array to a list of Python integers."""
    return [int(x) for x in np_array]


def try_resolve_var_to_const(x: RelayExpr, graph_params: Mapping[str, Any]) -> RelayExpr:
    """Replace a parameter of a model by a constant; other expressions are returned unchanged."""
    if isinstance(x, Var) and x.name_hint in graph_params:
        return const(graph_params[x.name_hint])
    return x


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.relay.frontend.common", __all__)
