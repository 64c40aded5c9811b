"""Custom types for tests: registered for one test, and forgotten after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.ir import dtype as dt
from compiler.runtime.modules.packed_func import list_global_func_names, remove_global_func
from compiler.tir.expressions import datatype

MYFLOAT = "custom[myfloat]32"
"""Single precision in disguise: what it computes is what single precision computes."""

_BINARY = {"Add": "Add", "Sub": "Sub", "Mul": "Mul", "Div": "Div", "Max": "Max"}
_CALLS = {"tir.sqrt": "Sqrt", "tir.exp": "Exp", "tir.log": "Log", "tir.sigmoid": "Sigmoid", "tir.tanh": "Tanh"}


@contextmanager
def custom_types() -> Iterator[None]:
    """Forget at the end which types and lowerings were registered in between."""
    functions, codes = set(list_global_func_names()), dict(dt.CUSTOM_TYPES._codes)
    try:
        yield
    finally:
        for name in set(list_global_func_names()) - functions:
            remove_global_func(name)
        dt.CUSTOM_TYPES._codes = codes


def register_myfloat() -> None:
    """Register the type and what TVM's tutorial registers for it."""
    datatype.register("myfloat", 131)
    convert, back = {(32, 32): "FloatToCustom32"}, {(32, 32): "Custom32ToFloat"}
    datatype.register_op(datatype.create_lower_func(convert), "Cast", "llvm", "float", "myfloat")
    datatype.register_op(datatype.create_lower_func(back), "Cast", "llvm", "myfloat", "float")
    datatype.register_op(datatype.create_lower_func({32: "FloatToCustom32"}), "FloatImm", "llvm", "myfloat")
    for op, function in _BINARY.items():
        datatype.register_op(datatype.create_lower_func({32: f"Custom32{function}"}), op, "llvm", "myfloat")
    for op, function in _CALLS.items():
        lower = datatype.create_lower_func({32: f"Custom32{function}"})
        datatype.register_op(lower, "Call", "llvm", "myfloat", intrinsic_name=op)
    datatype.register_op(datatype.lower_ite, "Call", "llvm", "myfloat", intrinsic_name="tir.if_then_else")
    lower_extern = datatype.lower_call_pure_extern
    datatype.register_op(lower_extern, "Call", "llvm", "myfloat", intrinsic_name="tir.call_pure_extern")
    datatype.register_min_func(datatype.create_min_lower_func({32: "MinCustom32"}, "myfloat"), "myfloat")
