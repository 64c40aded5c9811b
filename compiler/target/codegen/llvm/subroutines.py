"""Return values, and calls between functions of a module.

A function returns a status, and stores the value of ``tir.ret`` through its last parameter, as the 64 bits of an
integer, a double or a pointer.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError, counted
from compiler.ir.expr.primexpr import Call, PrimExpr
from compiler.target.codegen.llvm.state import DeclaredFunction, Emitter
from compiler.target.codegen.llvm.types import I32, I64, constant, register_type
from compiler.target.codegen.signatures import returned_type


def return_value(e: Emitter, n: Call) -> ir.Value:
    """Generate ``tir.ret``: store the value for the caller and return."""
    state, builder = e.state, e.state.builder
    if state.in_parallel:
        raise BuildError("LLVM code generation: cannot return from inside a parallel loop")
    if state.result is not None and n.args:
        (value,) = n.args
        if returned_type(value.dtype) != state.returns:
            raise BuildError(
                f"LLVM code generation: {state.function.name} returns values of different types, {state.returns}"
                f" and {value.dtype}"
            )
        passed = dt.is_bool(value.dtype) or value.dtype == "handle"
        wide = e.visit(value) if passed else e.convert(e.visit(value), value.dtype, state.returns)
        builder.store(builder.zext(wide, I64) if dt.is_bool(value.dtype) else wide, state.result)
    state.leave(0)
    state.enter(state.block("after.return"))
    return constant(I32, 0)


def call_function(e: Emitter, n: Call, callee: DeclaredFunction, args: Sequence[PrimExpr]) -> ir.Value:
    """Generate the call of a function of the same module, whose failure is propagated."""
    state, builder, signature = e.state, e.state.builder, callee.signature
    if callee.func.buffer_map:
        raise BuildError(
            f"LLVM code generation: {signature.name} takes buffers and cannot be called from another function"
        )
    if len(args) != len(callee.func.params):
        raise BuildError(f"{signature.name}: expected {counted(len(callee.func.params), 'argument')}, got {len(args)}")
    if signature.threads and state.threads is None:
        raise BuildError(f"{signature.name}: a function with parallel loops cannot be called from a parallel loop")
    values = [_argument(e, a, p.dtype) for a, p in zip(args, callee.func.params, strict=True)]
    slot = state.alloca(I64, 8, "returned") if signature.returns else None
    if slot is not None:
        builder.store(ir.Constant(I64, 0), slot)
    values += [state.threads] * signature.threads + [slot] * (slot is not None)
    status = builder.call(callee.code, values)
    state.require(builder.icmp_signed("==", status, ir.Constant(I32, 0)), status)
    if slot is None or dt.is_void(n.dtype):
        return constant(I32 if dt.is_void(n.dtype) else register_type(n.dtype), 0)
    if signature.returns == "handle":
        return builder.load(slot, typ=register_type("handle"))
    loaded = builder.load(slot, typ=register_type("int64" if dt.is_bool(signature.returns) else signature.returns))
    return e.convert(loaded, "int64" if dt.is_bool(signature.returns) else signature.returns, n.dtype)


def _argument(e: Emitter, a: PrimExpr, dtype: str) -> ir.Value:
    if (a.dtype == "handle") != (dtype == "handle"):
        raise BuildError(f"LLVM code generation: a parameter of type {dtype} is given {a} of type {a.dtype}")
    value = e.visit(a)
    value = value if a.dtype == dtype else e.convert(value, a.dtype, dtype)
    return e.convert(value, dtype, "float32") if dtype == "float16" else value
