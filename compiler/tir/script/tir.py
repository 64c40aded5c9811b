"""The ``T`` namespace of TVMScript: ``from tvm.script import tir as T``.

Besides the words below, ``T`` has each data type (``T.float32``, ``T.int32x4``), each operator of expressions
(``T.exp``, ``T.if_then_else``, …) and the binary operators as functions (``T.min``, ``T.Add``, …).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import TVMError, unknown_name
from compiler.ir.expr.primexpr import (
    Call,
    CommReducer,
    FloatImm,
    IntImm,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Reduce,
    SizeVar,
    StringImm,
    Var,
)
from compiler.ir.extension import extension_point
from compiler.ir.op import CallEffectKind, registered_ops
from compiler.tir.expressions import op as _ops
from compiler.tir.script.blocks import *  # noqa: F403
from compiler.tir.script.blocks import __all__ as _blocks
from compiler.tir.script.buffer_words import *  # noqa: F403
from compiler.tir.script.buffer_words import __all__ as _buffers
from compiler.tir.script.constant_words import allocate_const
from compiler.tir.script.definitions import DataType, HandleType
from compiler.tir.script.expression_words import *  # noqa: F403
from compiler.tir.script.expression_words import __all__ as _expressions
from compiler.tir.script.functions import macro, prim_func
from compiler.tir.script.loops import *  # noqa: F403
from compiler.tir.script.loops import __all__ as _loops
from compiler.tir.script.macros import meta_var
from compiler.tir.script.operators import FOLDING_FUNCTIONS, FUNCTIONS, binary_node, call_op, folded_binary
from compiler.tir.script.scope_words import *  # noqa: F403
from compiler.tir.script.scope_words import __all__ as _scopes
from compiler.tir.script.stores import buffer_store
from compiler.tir.statements.buffer import BufferLoad

__all__ = [
    *_blocks, *_buffers, *_expressions, *_loops, *_scopes, "allocate_const", "buffer_store", "handle", "macro",
    "meta_var", "prim_func",
]  # fmt: skip

_PREFIX = "tir."
_OPERATORS = {
    "call_cpacked": "tvm_call_cpacked",
    "call_cpacked_lowered": "tvm_call_cpacked_lowered",
    "call_packed": "tvm_call_packed",
    "call_packed_lowered": "tvm_call_packed_lowered",
}
"""Operators that programs call otherwise."""
_CLASSES = {
    **{kind.__name__: kind for kind in (BufferLoad, Call, CommReducer, FloatImm, IntImm, IterVar)},
    **{kind.__name__: kind for kind in (ProducerLoad, Reduce, SizeVar, StringImm, Var)},
    "CallEffectKind": CallEffectKind,
    "Ptr": HandleType(),
    "boolean": DataType("bool"),
    "buffer": Buffer,  # noqa: F405
    "ptr": HandleType(),
}
"""Nodes and types under the names of older releases."""
_FOLDING = ("call_intrin", "infinity", "max_value", "min_value")
"""Functions that make constants and calls of several operators, from a data type."""
_OF_OPERANDS = (
    *("abs", "bitwise_and", "bitwise_or", "bitwise_xor", "call_packed", "ceil", "floor", "isfinite", "isinf"),
    *("isnan", "nearbyint", "reinterpret", "round", "shift_left", "shift_right", "trunc"),
)
"""Functions that fold constants and refuse operands of other types."""
handle = HandleType()


@cache
def _word(name: str) -> Any:
    """Return a data type, an operator or a binary operator; None if none has that name."""
    if name in FUNCTIONS:
        return _named(partial(binary_node, FUNCTIONS[name]), name)
    if name in FOLDING_FUNCTIONS:
        return _named(partial(folded_binary, FOLDING_FUNCTIONS[name]), name)
    if name in _FOLDING:
        return getattr(_ops, name)
    if name in _OF_OPERANDS:
        return _of_operands(getattr(_ops, name))
    if name in _CLASSES:
        return _CLASSES[name]
    op = registered_ops().get(_PREFIX + _OPERATORS.get(name, name))
    if op is not None:
        return _named(partial(call_op, op), name, op.doc)
    try:
        dt.parse(name)
    except TVMError:
        return None
    return DataType(name)


def _of_operands(function: Callable[..., PrimExpr]) -> Callable[..., PrimExpr]:
    """Return a function that also takes the data type of its result behind the operands, as older releases write it."""

    @wraps(function)
    def word(*args: object, dtype: str | None = None) -> PrimExpr:
        return function(dtype, *args) if function is _ops.reinterpret and dtype is not None else function(*args)

    return word


def _named(function: partial[PrimExpr], name: str, doc: str | None = None) -> Callable[..., PrimExpr]:
    """Give a function what functions that are defined have."""
    function.__dict__.update(__name__=name, __qualname__=name)
    function.__doc__ = doc or function.func.__doc__
    return function


def __getattr__(name: str) -> Any:
    word = None if name.startswith("_") else _word(name)
    if word is None:
        load = extension_point("tvm.script.tir").find(name)
        if load is None:
            raise unknown_name("T", name, __dir__())
        return load()
    return word


def __dir__() -> list[str]:
    operators = [op.removeprefix(_PREFIX) for op in registered_ops() if op.startswith(_PREFIX)]
    return sorted({*__all__, *extension_point("tvm.script.tir").names(), *FUNCTIONS, *operators})
