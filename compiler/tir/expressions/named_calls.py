"""Calls of functions and intrinsics by name: operators, C functions, packed functions and LLVM intrinsics."""

from __future__ import annotations

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import Call, ExprLike, PrimExpr, StringImm, const, convert
from compiler.ir.op import Op
from compiler.runtime.modules.llvm_intrinsics import has_intrinsic
from compiler.tir.expressions.builtin import (
    CALL_EXTERN,
    CALL_LLVM_INTRIN,
    CALL_LLVM_PURE_INTRIN,
    CALL_PACKED,
    CALL_PURE_EXTERN,
    STACK_MAKE_ARRAY,
    STACK_MAKE_SHAPE,
    checked_dtype,
)
from compiler.tir.statements.buffer import Buffer


def call_intrin(dtype: str, func_name: str | Op, *args: ExprLike) -> PrimExpr:
    """Call a registered operator by name, e.g. ``call_intrin("float32", "tir.exp", x)``."""
    op = Op.get(func_name) if isinstance(func_name, str) else func_name
    return Call(checked_dtype(dtype), op, tuple(convert(a) for a in args))


def call_extern(dtype: str, func_name: str, *args: ExprLike) -> PrimExpr:
    """Call a C function by name."""
    return _named_call(CALL_EXTERN, dtype, func_name, args)


def call_pure_extern(dtype: str, func_name: str, *args: ExprLike) -> PrimExpr:
    """Call a C function without side effects."""
    return _named_call(CALL_PURE_EXTERN, dtype, func_name, args)


def call_packed(func_name: str, *args: ExprLike | Buffer) -> PrimExpr:
    """Call a packed function by its registered name; buffers are passed as DLTensors, the result is an ``int32``."""
    given = tuple(_as_array(a) if isinstance(a, Buffer) else a for a in args)
    return _named_call(CALL_PACKED, "int32", func_name, given)


def _as_array(buffer: Buffer) -> PrimExpr:
    """Describe a buffer as a DLTensor: pointer, shape, strides, rank, a zero of its data type, and offset."""
    shape = Call("handle", STACK_MAKE_SHAPE, buffer.shape)
    strides = Call("handle", STACK_MAKE_SHAPE, buffer.strides) if buffer.strides else const(0)
    kind = const(0, buffer.dtype)
    rank = const(len(buffer.shape))
    return Call("handle", STACK_MAKE_ARRAY, (buffer.data, shape, strides, rank, kind, buffer.elem_offset))


def call_llvm_intrin(dtype: str, name: str, *args: ExprLike) -> PrimExpr:
    """Call an LLVM intrinsic.

    As in TVM, the number of arguments in the signature stands before the arguments. Raises ArgumentError if LLVM has no
    such intrinsic.
    """
    return _named_call(CALL_LLVM_INTRIN, dtype, _intrinsic("call_llvm_intrin", name), args)


def call_llvm_pure_intrin(dtype: str, name: str, *args: ExprLike) -> PrimExpr:
    """Call an LLVM intrinsic without side effects.

    As in TVM, the number of arguments in the signature stands before the arguments. Raises ArgumentError if LLVM has no
    such intrinsic.
    """
    return _named_call(CALL_LLVM_PURE_INTRIN, dtype, _intrinsic("call_llvm_pure_intrin", name), args)


def _intrinsic(operation: str, name: str) -> str:
    if isinstance(name, str) and not has_intrinsic(name):
        raise ArgumentError(f"{operation}: LLVM has no intrinsic {show(name)}")
    return name


def _named_call(op: Op, dtype: str, name: str, args: tuple[object, ...]) -> PrimExpr:
    if not isinstance(name, str):
        raise ArgumentError(f"{op.name.removeprefix('tir.')}: func_name must be a string, got {show(name)}")
    return Call(checked_dtype(dtype or "void"), op, (StringImm(name), *(convert(a) for a in args)))
