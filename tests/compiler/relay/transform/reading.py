"""Graphs as short texts, to compare what passes make."""

from __future__ import annotations

from typing import Any

import compiler.relay
from compiler.ir import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.analysis import free_vars, post_order

relay: Any = compiler.relay
"""As programs call it."""
transform: Any = compiler.relay.transform


def module_of(out: Any) -> IRModule:
    """Return the module of a function of an expression's free variables."""
    return transform.InferType()(IRModule.from_expr(relay.Function(free_vars(out), out)))


def after(out: Any, *passes: Any, level: int = 4) -> Any:
    """Return the body of ``main`` after some passes, whose results must have types, and the one that they had."""
    mod = module_of(out)
    wanted = mod["main"].checked_type
    with PassContext(opt_level=level):
        for each in passes:
            mod = transform.InferType()(each(mod))
    assert mod["main"].checked_type == wanted
    return mod["main"].body


def shown(expr: Any) -> str:
    """Return an expression as one line; kernels in braces, constants as their value or their shape."""
    match expr:
        case relay.Call() if isinstance(expr.op, relay.Function):
            return "{" + shown(expr.op.body) + "}(" + _list(expr.args) + ")"
        case relay.Call():
            return f"{expr.op.name}({_list(expr.args)})"
        case relay.Var():
            return str(expr.name_hint)
        case relay.Constant():
            return str(expr.value.item()) if expr.value.size == 1 else f"c{list(expr.value.shape)}"
        case relay.Tuple():
            return f"({_list(expr.fields)})"
        case relay.TupleGetItem():
            return f"{shown(expr.tuple_value)}.{expr.index}"
        case _:
            return type(expr).__name__


def _list(parts: Any) -> str:
    return ", ".join(shown(p) for p in parts)


def kernels(expr: Any) -> set[str]:
    """Return the operators of each kernel, in the order of evaluation."""
    return {
        " ".join(name for name in map(_step, post_order(e.body)) if name)
        for e in post_order(expr)
        if isinstance(e, relay.Function) and e.attrs.get("Primitive")
    }


def _step(expr: Any) -> str:
    if isinstance(expr, relay.Call):
        return str(expr.op.name)
    return {relay.Tuple: "tuple", relay.TupleGetItem: "item", relay.Constant: "const"}.get(type(expr), "")
