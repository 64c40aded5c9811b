"""Inspection of values at run time: ``debug``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FUNCTION, optional
from compiler.ir.env_func import EnvFunc
from compiler.relay.expr import Call, Expr
from compiler.relay.op.type_relations import identity
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import Array
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.modules.packed_func import register_func
from compiler.topi import elementwise as topi

_numbers = count()


class DebugAttrs(Attrs):
    debug_func: EnvFunc | None = attr_field(
        optional(FUNCTION), "A global function that the interpreter calls with the value.", None
    )


def _show(attrs: DebugAttrs, x: Array) -> Array:
    if attrs.debug_func is not None:
        attrs.debug_func(array(x))
    return x


_DEBUG = register(
    "debug",
    doc="Return the value that is given, and let a function look at it when the interpreter computes it.",
    inputs={"expr": "A tensor."},
    attrs=DebugAttrs,
    relation=identity,
    compute=lambda attrs, inputs, out_type: [topi.identity(inputs[0])],
    reference=_show,
    gradient=lambda call, grad: [grad],
)


@public_function(_DEBUG, debug_func="callable, optional: Called with the value as an NDArray.")
def debug(expr: Expr, debug_func: Callable[..., Any] | None = None) -> Call:
    """Return the value that is given, and let a function look at it when the interpreter computes it."""
    if debug_func is None:
        return _DEBUG(expr)
    name = f"debugger_func{next(_numbers)}"
    register_func(name, debug_func)
    return _DEBUG(expr, debug_func=EnvFunc(name))
