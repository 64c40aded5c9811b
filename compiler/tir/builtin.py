"""Operators that are not arithmetic: control, calls, memory, and what backends and passes say to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.op import CallEffect, Op, register_op
from compiler.ir.primexpr import Call, ExprLike, IntImm, PrimExpr, StringImm, cast, convert, match_types
from compiler.tir.buffer import Buffer, BufferLoad

IF_THEN_ELSE = register_op("tir.if_then_else", doc="One of two values; only the one chosen is evaluated.")
LIKELY = register_op("tir.likely", reference=lambda x: x, doc="A condition that nearly always holds.")
RET = register_op("tir.ret", effect=CallEffect.UPDATE_STATE, doc="Returns from the function.")
REINTERPRET = register_op("tir.reinterpret", prints_dtype=True, doc="The same bits as another data type.")
POPCOUNT = register_op(
    "tir.popcount", reference=lambda x: np.bitwise_count(x).astype(np.asarray(x).dtype), doc="Number of bits set."
)
CLZ = register_op("tir.clz", doc="Number of zero bits above the highest bit set.")
VECTOR_LOW = register_op("tir.vectorlow", prints_dtype=True, doc="The lower half of a vector.")
VECTOR_HIGH = register_op("tir.vectorhigh", prints_dtype=True, doc="The upper half of a vector.")
VECTOR_COMBINE = register_op("tir.vectorcombine", prints_dtype=True, doc="Two vectors as one.")
TYPE_ANNOTATION = register_op("tir.type_annotation", prints_dtype=True, doc="Stands for a data type in a call.")
ACCESS_PTR = register_op("tir.tvm_access_ptr", effect=CallEffect.READ_STATE, doc="Pointer to a part of a buffer.")
ADDRESS_OF = register_op("tir.address_of", doc="Pointer to an element.")
ISNULLPTR = register_op("tir.isnullptr", doc="Whether a pointer is null.")
TUPLE = register_op("tir.tvm_tuple", doc="Several values as one.")
UNDEF = register_op("tir.undef", effect=CallEffect.READ_STATE, doc="A value that nobody may depend on.")
PREFETCH = register_op("tir.prefetch", effect=CallEffect.UPDATE_STATE, doc="Hint that an address is read soon.")
ASSUME = register_op("tir.assume", effect=CallEffect.EXPR_ANNOTATION, doc="A condition that holds here.")
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
CALL_PACKED = register_op("tir.call_packed", effect=CallEffect.UPDATE_STATE, doc="Calls a registered Python function.")


def if_then_else(cond: ExprLike, t: ExprLike, f: ExprLike) -> PrimExpr:
    """Return ``t`` where ``cond`` holds, else ``f``; the other one is not evaluated, and may be out of bounds.

    Parameters
    ----------
    cond : PrimExpr
        One truth value.
    t, f : PrimExpr
        Brought to one data type.
    """
    condition = convert(cond)
    if condition.dtype != "bool":
        raise DTypeError(f"if_then_else: cond must be of type bool, got {condition.dtype} in {show(condition)}")
    then, other = match_types(t, f, "if_then_else")
    if isinstance(condition, IntImm):
        return then if condition.value else other
    return Call(then.dtype, IF_THEN_ELSE, (condition, then, other))


def likely(cond: ExprLike, span: object = None) -> PrimExpr:
    """Mark a condition that nearly always holds: loops are split so that it need not be asked."""
    condition = convert(cond)
    return condition if isinstance(condition, IntImm) else Call(condition.dtype, LIKELY, (condition,))


def ret(val: ExprLike) -> PrimExpr:
    """Return from the function with ``val``."""
    value = convert(val)
    return Call(value.dtype, RET, (value,))


def reinterpret(dtype: str, value: ExprLike) -> PrimExpr:
    """Return the bits of ``value`` read as another data type of the same size."""
    e = convert(value)
    if e.dtype == dtype:
        return e
    source, target = dt.parse(e.dtype), dt.parse(dtype)
    if source.bits * source.lanes != target.bits * target.lanes:
        raise DTypeError(f"reinterpret: {e.dtype} and {dtype} differ in size")
    return Call(dtype, REINTERPRET, (e,))


def popcount(x: ExprLike) -> PrimExpr:
    """Return the number of bits set in an integer."""
    e = _integer("popcount", x)
    return Call(e.dtype, POPCOUNT, (e,))


def clz(x: ExprLike) -> PrimExpr:
    """Return, as int32, the number of zero bits above the highest bit set in an integer."""
    e = _integer("clz", x)
    return Call("int32", CLZ, (e,))


def vectorlow(dtype: str, vec: ExprLike) -> PrimExpr:
    """Return the lower half of ``vec``, of type ``dtype``."""
    return Call(dtype, VECTOR_LOW, (convert(vec),))


def vectorhigh(dtype: str, vec: ExprLike) -> PrimExpr:
    """Return the upper half of ``vec``, of type ``dtype``."""
    return Call(dtype, VECTOR_HIGH, (convert(vec),))


def vectorcombine(dtype: str, low: ExprLike, high: ExprLike) -> PrimExpr:
    """Return ``low`` followed by ``high`` as one vector of type ``dtype``."""
    return Call(dtype, VECTOR_COMBINE, (convert(low), convert(high)))


def type_annotation(dtype: str) -> PrimExpr:
    """Return an expression that stands for a data type among the arguments of a call."""
    return Call(dtype, TYPE_ANNOTATION, ())


def tvm_access_ptr(ptype: str, data: ExprLike, offset: ExprLike, extent: ExprLike, rw_mask: ExprLike) -> PrimExpr:
    """Return a pointer to ``extent`` elements of type ``ptype`` behind ``data``, from ``offset`` on.

    ``rw_mask`` says what happens through it: 1 reads, 2 writes, 3 both.
    """
    args = (type_annotation(ptype), *(convert(a) for a in (data, offset, extent, rw_mask)))
    return Call("handle", ACCESS_PTR, args)


def address_of(obj: Buffer | BufferLoad) -> PrimExpr:
    """Return a pointer to an element, the first one of a buffer."""
    if isinstance(obj, Buffer):
        return address_of(BufferLoad(obj, tuple(cast(d.dtype, 0) for d in obj.shape)))
    if isinstance(obj, BufferLoad):
        return Call("handle", ADDRESS_OF, (obj,))
    raise ArgumentError(f"address_of: expected a buffer or an element of one, got {show(obj)}")


def isnullptr(var: ExprLike) -> PrimExpr:
    """Return whether a pointer is null."""
    return Call("bool", ISNULLPTR, (convert(var),))


def tvm_tuple(*value: ExprLike) -> PrimExpr:
    """Return several values as one."""
    return Call("handle", TUPLE, tuple(convert(v) for v in value))


def undef() -> PrimExpr:
    """Return a value that nobody may depend on."""
    return Call("int32", UNDEF, ())


def assume(cond: ExprLike) -> PrimExpr:
    """State that a condition holds here."""
    return Call("bool", ASSUME, (convert(cond),))


def call_intrin(dtype: str, func_name: str | Op, *args: ExprLike) -> PrimExpr:
    """Call a registered operator by name, e.g. ``call_intrin("float32", "tir.exp", x)``."""
    op = Op.get(func_name) if isinstance(func_name, str) else func_name
    return Call(_dtype("call_intrin", dtype), op, tuple(convert(a) for a in args))


def call_extern(dtype: str, func_name: str, *args: ExprLike) -> PrimExpr:
    """Call a C function by name."""
    return _named_call(CALL_EXTERN, dtype, func_name, args)


def call_pure_extern(dtype: str, func_name: str, *args: ExprLike) -> PrimExpr:
    """Call a C function whose result depends on its arguments alone."""
    return _named_call(CALL_PURE_EXTERN, dtype, func_name, args)


def call_packed(func_name: str, *args: ExprLike) -> PrimExpr:
    """Call a Python function that was registered with the runtime."""
    return _named_call(CALL_PACKED, "int32", func_name, args)


def call_llvm_intrin(dtype: str, name: str, *args: ExprLike) -> PrimExpr:
    """Call an intrinsic of LLVM; the first of ``args`` is the number of arguments of its signature, as in TVM."""
    return _named_call(CALL_LLVM_INTRIN, dtype, name, args)


def call_llvm_pure_intrin(dtype: str, name: str, *args: ExprLike) -> PrimExpr:
    """Call an intrinsic of LLVM that has no effect; arguments as for :func:`call_llvm_intrin`."""
    return _named_call(CALL_LLVM_PURE_INTRIN, dtype, name, args)


def _named_call(op: Op, dtype: str, name: str, args: tuple[Any, ...]) -> PrimExpr:
    if not isinstance(name, str):
        raise ArgumentError(f"{op.name.removeprefix('tir.')}: func_name must be a string, got {show(name)}")
    return Call(_dtype(op.name, dtype), op, (StringImm(name), *(convert(a) for a in args)))


def _dtype(operation: str, dtype: str) -> str:
    dt.parse(dtype)
    return dtype


def _integer(name: str, x: ExprLike) -> PrimExpr:
    e = convert(x)
    if not dt.is_integral(e.dtype):
        raise DTypeError(f"{name}: expected an integer operand, got {e.dtype} in {show(e)}")
    return e


def is_call(e: object, op: Op) -> bool:
    """Return whether ``e`` is a call of ``op``."""
    return isinstance(e, Call) and e.op is op
