"""Custom data types: ``tvm.target.datatype``.

A program registers the name and the code of a type, ``custom[posit]16``, and for each operation that it does on such
numbers a function that says what the operation becomes, usually a call of a C library.  The pass
``LowerCustomDatatypes`` then leaves unsigned integers of the same width, which the calls take and return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, expected
from compiler.ir.expr.primexpr import BinaryOp, Call, Cast, CmpOp, FloatImm, PrimExpr, const
from compiler.ir.extension import public_module
from compiler.ir.node import rebuild
from compiler.runtime.modules.packed_func import get_global_func, register_func
from compiler.tir.expressions.named_calls import call_pure_extern

__all__ = [
    "create_lower_func", "create_min_lower_func", "get_type_code", "get_type_name", "get_type_registered",
    "lower_call_pure_extern", "lower_ite", "register", "register_min_func", "register_op",
]  # fmt: skip

Lowering: TypeAlias = Callable[[PrimExpr], PrimExpr]
"""Takes an operation whose operands are lowered already, and returns what it becomes."""

Width: TypeAlias = int | tuple[int, int]
"""Bits of a type, or of both types of a conversion."""

FIRST_CODE = 129
"""Codes below are those of TVM's own types."""

_LOWER = "tvm.datatype.lower"
_MINIMUM = "tvm.datatype.min"


def register(type_name: str, type_code: int) -> None:
    """Let ``custom[type_name]`` with a width in bits be a data type; its code, from 129 on, is its own.

    Raises DTypeError if the code is one of TVM's own types, or the name or the code stands for another type already.

    Examples
    --------
    ::

        tvm.target.datatype.register("posit", 131)
        x = te.placeholder((8,), "custom[posit]16")
    """
    if not isinstance(type_name, str) or not type_name.isidentifier():
        expected("datatype.register", "type_name", "a name", type_name)
    if isinstance(type_code, bool) or not isinstance(type_code, int):
        expected("datatype.register", "type_code", "a number", type_code)
    if type_code < FIRST_CODE:
        raise DTypeError(f"datatype.register: codes of custom types begin at {FIRST_CODE}, got {type_code}")
    dt.CUSTOM_TYPES.register(type_name, type_code)


def get_type_name(type_code: int) -> str:
    """Return the name that a code was registered with.

    Raises DTypeError if no type of that code is registered.
    """
    return dt.CUSTOM_TYPES.name(type_code)


def get_type_code(type_name: str) -> int:
    """Return the code that a name was registered with.

    Raises DTypeError if no type of that name is registered.
    """
    return dt.CUSTOM_TYPES.code(type_name)


def get_type_registered(type_code: int) -> bool:
    """Return whether a type of that code is registered."""
    return dt.CUSTOM_TYPES.is_code(type_code)


def register_op(
    lower_func: Lowering,
    op_name: str,
    target: str,
    src_type_name: str,
    dest_type_name: str | None = None,
    intrinsic_name: str | None = None,
) -> None:
    """Say what an operation on a custom type becomes on a target.

    Raises ArgumentError if a ``Cast`` lacks the type that it converts to, or a lowering of the operation is registered
    already.

    Parameters
    ----------
    lower_func : callable
        Takes the operation, with operands that are lowered already, and returns an expression;
        :func:`create_lower_func` makes one.
    op_name : str
        The class of the operation: ``Add``, ``Max``, ``LT``, ``Cast``, ``FloatImm`` or ``Call``.
    src_type_name : str
        The name of the custom type; of a ``Cast`` the type that is converted, such as ``float``.
    dest_type_name : str, optional
        Of a ``Cast``, the type that is converted to.
    intrinsic_name : str, optional
        Of a ``Call``, the operator, e.g. ``tir.exp``.
    """
    if op_name == "Cast" and dest_type_name is None:
        raise ArgumentError("register_op: dest_type_name, the type that the Cast converts to, must be given")
    name = _lowering_name(op_name, target, src_type_name, dest_type_name, intrinsic_name)
    if get_global_func(name, allow_missing=True) is not None:
        raise ArgumentError(f"register_op: the lowering of {name!r} is already registered")
    register_func(name, lower_func)


def _lowering_name(op_name: str, target: str, source: str, destination: str | None, intrinsic: str | None) -> str:
    """Return the name of the global function that lowers an operation, as TVM spells it."""
    last = f"{destination}.{source}" if op_name == "Cast" else source
    return ".".join(part for part in (_LOWER, target, op_name, intrinsic, last) if part)


def lowering_of(
    op_name: str, target: str, source: str, destination: str | None = None, intrinsic: str | None = None
) -> Lowering:
    """Return what was registered for an operation by :func:`register_op`."""
    name = _lowering_name(op_name, target, source, destination, intrinsic)
    lowering = get_global_func(name, allow_missing=True)
    if lowering is None:
        types = f"from {source} to {destination}" if destination else f"of {source}"
        raise DTypeError(
            f"LowerCustomDatatypes: no lowering of {intrinsic or op_name} {types} for target {target} is"
            f" registered; register one with tvm.target.datatype.register_op"
        )
    return lowering


def has_lowering(
    op_name: str, target: str, source: str, destination: str | None = None, intrinsic: str | None = None
) -> bool:
    """Return whether something was registered for an operation by :func:`register_op`."""
    name = _lowering_name(op_name, target, source, destination, intrinsic)
    return get_global_func(name, allow_missing=True) is not None


def register_min_func(func: Callable[[int], PrimExpr], type_name: str) -> None:
    """Say which is the smallest number of a custom type, with which maxima begin.

    The function takes the width in bits and returns an expression of that type; :func:`create_min_lower_func` makes
    one. Raises ArgumentError if one is registered already.
    """
    register_func(f"{_MINIMUM}.{type_name}", func)


def minimum_of(dtype: str) -> PrimExpr:
    """Return the smallest number of a custom type."""
    name = dt.custom_name(dtype)
    minimum = get_global_func(f"{_MINIMUM}.{name}", allow_missing=True)
    if minimum is None:
        raise DTypeError(
            f"min_value: no smallest number of {dtype} is registered; register one with"
            f" tvm.target.datatype.register_min_func"
        )
    smallest: PrimExpr = minimum(dt.bits(dtype))
    return smallest


def create_min_lower_func(extern_func_map: Mapping[int, str], type_name: str) -> Callable[[int], PrimExpr]:
    """Return a function for :func:`register_min_func` that calls a C function.

    Raises DTypeError when it is called with a width that no function is known for. ``extern_func_map`` has the names of
    the C functions, which take nothing, by width in bits.
    """
    functions = _Functions(dict(extern_func_map.items()))

    def minimum(bits: int) -> PrimExpr:
        dtype = f"custom[{type_name}]{bits}"
        return functions.call(bits, dtype, dtype)

    return minimum


def create_lower_func(extern_func_map: Mapping[Width, str]) -> Lowering:
    """Return a lowering that calls a C function with the operands.

    Raises DTypeError when it is called with an operation of a width that no function is known for. ``extern_func_map``
    has the names of the C functions by width in bits: of the operands of a comparison, of the result otherwise; of a
    conversion by the pair of both widths, the operand's first.
    """
    functions = _Functions(extern_func_map)
    return lambda op: functions.call(_width(op), stored_type(op.dtype), type(op).__name__, *_operands(op))


@dataclass(frozen=True, slots=True)
class _Functions:
    """The C functions for one operation, by the widths that it is done in."""

    names: Mapping[Width, str]

    def call(self, width: Width, dtype: str, what: str, *args: PrimExpr) -> PrimExpr:
        """Return a call of the function for a width; an error says what it was wanted for."""
        if width not in self.names:
            known = ", ".join(map(_in_bits, self.names)) or "none"
            raise DTypeError(
                f"tvm.target.datatype: no function is known for {what} of {_in_bits(width)} bits, only for {known}"
            )
        return call_pure_extern(dtype, self.names[width], *args)


def _in_bits(width: Width) -> str:
    return " to ".join(map(str, width)) if isinstance(width, tuple) else str(width)


def _width(op: PrimExpr) -> Width:
    """Return the width by which the function for an operation is found."""
    match op:
        case Cast():
            return dt.bits(op.value.dtype), dt.bits(op.dtype)
        case CmpOp():
            return dt.bits(op.a.dtype)
    return dt.bits(op.dtype)


def _operands(op: PrimExpr) -> tuple[PrimExpr, ...]:
    """Return what the function for an operation is called with; of a number, its value in single precision."""
    match op:
        case FloatImm():
            return (const(op.value, "float32"),)
        case Cast():
            return (op.value,)
        case BinaryOp():
            return op.a, op.b
        case Call():
            return op.args
    raise DTypeError(f"tvm.target.datatype: {type(op).__name__} has no operands to pass to a function")


def stored_type(dtype: str) -> str:
    """Return the unsigned integers that numbers of a custom type are stored as; other types as they are."""
    return dt.with_lanes(f"uint{dt.bits(dtype)}", dt.lanes(dtype)) if dt.is_custom(dtype) else dtype


def lower_ite(ite_op: Call) -> PrimExpr:
    """Return ``if_then_else`` of the bits of two numbers: a lowering for ``tir.if_then_else``."""
    return rebuild(ite_op, dtype=stored_type(ite_op.dtype))


def lower_call_pure_extern(op: Call) -> PrimExpr:
    """Return a call of a C function with the bits of numbers: a lowering for ``tir.call_pure_extern``."""
    return rebuild(op, dtype=stored_type(op.dtype))


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.target.datatype", __all__)
