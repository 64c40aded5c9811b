"""Calls of packed functions from C.

The calling convention is the same as in machine code: :mod:`compiler.target.codegen.llvm.packed_calls`.
"""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, PrimExpr, StringImm
from compiler.runtime.arrays.c_types import ArgTypeCode
from compiler.runtime.modules.packed_call import FAILED, VARIABLE, dtype_bits
from compiler.target.codegen.source.expressions import Expressions, quoted
from compiler.tir.expressions.builtin import STACK_MAKE_ARRAY, STACK_MAKE_SHAPE

_DECLARATION = [
    f"__attribute__((weak)) int32_t (*{VARIABLE})(const char*, int64_t*, int32_t*, int32_t, int64_t*) = NULL;",
]
_ARRAY = [
    "struct array {",
    "    void* data;",
    "    int32_t device_type, device_id, ndim, dtype;",
    "    int64_t *shape, *strides;",
    "    uint64_t byte_offset;",
    "};",
]


def write_packed_call(e: Expressions, n: Call) -> str:
    """Emit the call of a packed function, before the current statement; return the variable that holds the result.

    That with the suffix ``_status`` is nonzero if the call failed.
    """
    name, *args = n.args
    if not isinstance(name, StringImm):
        raise BuildError(f"code generation: call_packed takes the name of a function first, got {name}")
    e.program.definitions.setdefault(VARIABLE, _DECLARATION)
    call = e.names.fresh("packed")
    kinds = [_kind(a) for a in args]
    arrays = [_array(e, a) if kind is ArgTypeCode.DLTENSOR_HANDLE else "" for a, kind in zip(args, kinds, strict=True)]
    e.out.write(f"int64_t {call}_values[] = {{")
    for number, (argument, kind) in enumerate(zip(args, kinds, strict=True)):
        e.out.write(", " if number else "")
        _value(e, argument, kind, arrays[number])
    e.out.line("};" if args else "0};")
    codes = ", ".join(str(int(kind)) for kind in kinds) or "0"
    e.out.line(f"int32_t {call}_codes[] = {{{codes}}};")
    e.out.line(f"int64_t {call}_result[2] = {{0, {int(ArgTypeCode.INT)}}};")
    values = f"{quoted(name.value)}, {call}_values, {call}_codes, {len(args)}, {call}_result"
    failed = e.program.message(FAILED)
    e.out.line(f"int32_t {call}_status = {VARIABLE}({values}) != 0 ? {failed} : 0;")
    e.out.line(f"int64_t {call} = {call}_result[0];")
    return call


def _kind(a: PrimExpr) -> ArgTypeCode:
    if isinstance(a, StringImm):
        return ArgTypeCode.STR
    if isinstance(a, Call) and a.op is STACK_MAKE_ARRAY:
        return ArgTypeCode.DLTENSOR_HANDLE
    if a.dtype.startswith("handle"):
        return ArgTypeCode.HANDLE
    return ArgTypeCode.FLOAT if dt.is_float(a.dtype) else ArgTypeCode.INT


def _value(e: Expressions, a: PrimExpr, kind: ArgTypeCode, array: str) -> None:
    """Emit the 64 bits of an argument."""
    if kind is ArgTypeCode.DLTENSOR_HANDLE:
        e.out.write(f"(int64_t)(intptr_t)&{array}")
    elif kind is ArgTypeCode.FLOAT:
        e.write(e.program.reinterpretation("float64", "int64"), "((double)(", a, "))")
    elif kind is ArgTypeCode.INT:
        e.write("(int64_t)(", a, ")")
    else:
        e.write("(int64_t)(intptr_t)(", a, ")")


def _array(e: Expressions, n: PrimExpr) -> str:
    """Emit a variable that describes an array, and return its name."""
    assert isinstance(n, Call)
    data, shape, strides, rank, kind, offset = n.args
    e.program.definitions.setdefault("struct array", _ARRAY)
    name = e.names.fresh("array")
    extents, steps = _extents(e, shape, f"{name}_shape"), _extents(e, strides, f"{name}_strides")
    size = dt.storage_bytes(kind.dtype)
    e.write(f"struct array {name} = {{", data, ", 1, 0, ", rank, f", {dtype_bits(kind.dtype)}, {extents}, {steps}, ")
    e.write("(uint64_t)(", offset, f") * {size}}};")
    e.out.newline()
    return name


def _extents(e: Expressions, n: PrimExpr, name: str) -> str:
    if not isinstance(n, Call) or n.op is not STACK_MAKE_SHAPE:
        return "NULL"
    e.out.write(f"int64_t {name}[] = {{")
    for number, extent in enumerate(n.args):
        e.write(", " if number else "", extent)
    e.out.line("};" if n.args else "0};")
    return name
