"""Built-in operators of TIR: control flow, external calls, memory access and backend primitives."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.primexpr import Call, ExprLike, IntImm, PrimExpr, StringImm, cast, convert, match_types
from compiler.ir.op import CallEffect, Op, register_op
from compiler.ir.origin import Span, current_span
from compiler.tir.statements.buffer import Buffer, BufferLoad

IF_THEN_ELSE = register_op("tir.if_then_else", doc="One of two values; only the selected one is evaluated.")
LIKELY = register_op("tir.likely", reference=lambda x: x, doc="A condition that is likely to hold.")
RET = register_op("tir.ret", effect=CallEffect.UPDATE_STATE, doc="Returns from the function.")
REINTERPRET = register_op("tir.reinterpret", prints_dtype=True, doc="Reinterprets bits as another data type.")
POPCOUNT = register_op(
    "tir.popcount", reference=lambda x: np.bitwise_count(x).astype(np.asarray(x).dtype), doc="Number of bits set."
)
CLZ = register_op("tir.clz", doc="Number of zero bits above the highest bit set.")
VECTOR_LOW = register_op("tir.vectorlow", prints_dtype=True, doc="The lower half of a vector.")
VECTOR_HIGH = register_op("tir.vectorhigh", prints_dtype=True, doc="The upper half of a vector.")
VECTOR_COMBINE = register_op("tir.vectorcombine", prints_dtype=True, doc="Concatenates two vectors.")
TYPE_ANNOTATION = register_op("tir.type_annotation", prints_dtype=True, doc="A data type as an argument of a call.")
ACCESS_PTR = register_op("tir.tvm_access_ptr", effect=CallEffect.READ_STATE, doc="Pointer to a part of a buffer.")
ADDRESS_OF = register_op("tir.address_of", doc="Pointer to an element.")
ISNULLPTR = register_op("tir.isnullptr", doc="Whether a pointer is null.")
TUPLE = register_op("tir.tvm_tuple", doc="A tuple of values.")
UNDEF = register_op("tir.undef", effect=CallEffect.READ_STATE, doc="An undefined value.")
PREFETCH = register_op("tir.prefetch", effect=CallEffect.UPDATE_STATE, doc="Hint that an address is read soon.")
ASSUME = register_op("tir.assume", effect=CallEffect.EXPR_ANNOTATION, doc="A condition that the compiler may assume.")
STORAGE_SYNC = register_op("tir.tvm_storage_sync", effect=CallEffect.UPDATE_STATE, doc="Waits for all threads.")
THREAD_ALLREDUCE = register_op("tir.tvm_thread_allreduce", effect=CallEffect.UPDATE_STATE, doc="Reduces over threads.")
CALL_EXTERN = register_op(
    "tir.call_extern", effect=CallEffect.UPDATE_STATE, prints_dtype=True, doc="Calls a C function."
)
CALL_PURE_EXTERN = register_op(
    "tir.call_pure_extern", prints_dtype=True, doc="Calls a C function whose result depends on its arguments alone."
)
CALL_LLVM_INTRIN = register_op(
    "tir.call_llvm_intrin", effect=CallEffect.UPDATE_STATE, prints_dtype=True, doc="Calls an intrinsic of LLVM."
)
CALL_LLVM_PURE_INTRIN = register_op(
    "tir.call_llvm_pure_intrin", prints_dtype=True, doc="Calls an intrinsic of LLVM that has no effect."
)
CALL_PACKED = register_op(
    "tir.tvm_call_packed", effect=CallEffect.UPDATE_STATE, doc="Calls a registered Python function."
)
STACK_MAKE_SHAPE = register_op("tir.tvm_stack_make_shape", effect=CallEffect.READ_STATE, doc="Extents as one value.")
STACK_MAKE_ARRAY = register_op(
    "tir.tvm_stack_make_array", effect=CallEffect.READ_STATE, doc="An array for a called function, on the stack."
)


def if_then_else(cond: ExprLike, t: ExprLike, f: ExprLike) -> PrimExpr:
    """Return ``t`` where ``cond`` holds, else ``f``; the other one is not evaluated, and may be out of bounds.

    The two values are brought to one data type. Raises DTypeError if ``cond`` is not of type ``bool``.
    """
    condition = convert(cond)
    if condition.dtype != "bool":
        raise DTypeError(f"if_then_else: cond must be of type bool, got {condition.dtype} in {show(condition)}")
    then, other = match_types(t, f, "if_then_else")
    if isinstance(condition, IntImm):
        return then if condition.value else other
    return Call(then.dtype, IF_THEN_ELSE, (condition, then, other))


def likely(cond: ExprLike, span: object = None) -> PrimExpr:
    """Mark a condition that nearly always holds; loops are split so that it need not be evaluated.

    ``span`` is ignored; the origin is the user's line.
    """
    condition = convert(cond)
    return condition if isinstance(condition, IntImm) else Call(condition.dtype, LIKELY, (condition,))


def ret(val: ExprLike) -> PrimExpr:
    """Return from the function with a value."""
    value = convert(val)
    return Call(value.dtype, RET, (value,))


def reinterpret(dtype: str, value: ExprLike) -> PrimExpr:
    """Return the bits of a value read as another data type of the same size.

    Raises DTypeError if the two types differ in size.
    """
    e = convert(value)
    if e.dtype == dtype:
        return e
    source, target = dt.parse(e.dtype), dt.parse(dtype)
    if source.bits * source.lanes != target.bits * target.lanes:
        raise DTypeError(f"reinterpret: {e.dtype} and {dtype} differ in size")
    return Call(dtype, REINTERPRET, (e,))


def popcount(x: ExprLike) -> PrimExpr:
    """Return the number of bits set in an integer.

    Raises DTypeError if ``x`` is not an integer.
    """
    e = _integer("popcount", x)
    return Call(e.dtype, POPCOUNT, (e,))


def clz(x: ExprLike) -> PrimExpr:
    """Return the number of zero bits above the highest bit set in an integer, of type ``int32``.

    Raises DTypeError if ``x`` is not an integer.
    """
    e = _integer("clz", x)
    return Call("int32", CLZ, (e,))


def vectorlow(dtype: str, vec: ExprLike) -> PrimExpr:
    """Return the lower half of a vector."""
    return Call(dtype, VECTOR_LOW, (convert(vec),))


def vectorhigh(dtype: str, vec: ExprLike) -> PrimExpr:
    """Return the upper half of a vector."""
    return Call(dtype, VECTOR_HIGH, (convert(vec),))


def vectorcombine(dtype: str, vec1: ExprLike, vec2: ExprLike) -> PrimExpr:
    """Return two vectors, the lower and the upper half, as one."""
    return Call(dtype, VECTOR_COMBINE, (convert(vec1), convert(vec2)))


def type_annotation(dtype: str) -> PrimExpr:
    """Return an expression that stands for a data type among the arguments of a call."""
    return Call(dtype, TYPE_ANNOTATION, ())


def tvm_access_ptr(ptype: str, data: ExprLike, offset: ExprLike, extent: ExprLike, rw_mask: ExprLike) -> PrimExpr:
    """Return a pointer to ``extent`` elements of a buffer from ``offset`` on.

    ``rw_mask`` says whether they are read (1), written (2) or both (3) through the pointer.
    """
    args = (type_annotation(ptype), *(convert(a) for a in (data, offset, extent, rw_mask)))
    return Call("handle", ACCESS_PTR, args)


def storage_sync(scope: str) -> PrimExpr:
    """Return the call that lets the threads of a block (``shared``) or of a warp (``warp``) wait for each other."""
    return Call("int32", STORAGE_SYNC, (StringImm(scope),))


def address_of(buffer_load: Buffer | BufferLoad, span: Span | None = None) -> PrimExpr:
    """Return a pointer to an element; of a buffer, to its first one.

    Raises ArgumentError if ``buffer_load`` is neither.
    """
    if isinstance(buffer_load, Buffer):
        first = tuple(cast(d.dtype, 0) for d in buffer_load.shape)
        return address_of(BufferLoad(buffer_load, first), span)
    if isinstance(buffer_load, BufferLoad):
        return Call("handle", ADDRESS_OF, (buffer_load,), span=current_span() if span is None else span)
    raise ArgumentError(f"address_of: expected a buffer or an element of one, got {show(buffer_load)}")


def isnullptr(x: ExprLike, span: Span | None = None) -> PrimExpr:
    """Return whether a pointer is null."""
    return Call("bool", ISNULLPTR, (convert(x),), span=current_span() if span is None else span)


def tvm_tuple(*value: ExprLike) -> PrimExpr:
    """Return several values as one, as an attribute of a statement takes them."""
    return Call("handle", TUPLE, tuple(convert(v) for v in value))


def undef() -> PrimExpr:
    """Return an undefined value of type ``int32``."""
    return Call("int32", UNDEF, ())


def assume(cond: ExprLike) -> PrimExpr:
    """State that a condition holds here."""
    return Call("bool", ASSUME, (convert(cond),))


def checked_dtype(dtype: str) -> str:
    """Return a data type, or raise an error if it is malformed."""
    dt.parse(dtype)
    return dtype


def _integer(name: str, x: ExprLike) -> PrimExpr:
    e = convert(x)
    if not dt.is_integral(e.dtype):
        raise DTypeError(f"{name}: expected an integer operand, got {e.dtype} in {show(e)}")
    return e


def is_call(e: object, op: Op) -> TypeGuard[Call]:
    """Return whether ``e`` is a call of ``op``."""
    return isinstance(e, Call) and e.op is op
