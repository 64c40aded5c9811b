"""Calls of packed functions, with an array of argument values and one of type codes.

The machine code calls through the function pointer ``__strata_call_packed``, which the runtime sets when it loads the
code (:mod:`compiler.runtime.modules.packed_call`).
"""

from __future__ import annotations

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, PrimExpr, StringImm
from compiler.runtime.arrays.c_types import ArgTypeCode
from compiler.runtime.modules.packed_call import FAILED, VARIABLE, dtype_bits
from compiler.target.codegen.llvm.state import Emitter, FunctionState
from compiler.target.codegen.llvm.types import I8, I32, I64, POINTER, Literal, null, register_type
from compiler.tir.expressions.builtin import STACK_MAKE_ARRAY, STACK_MAKE_SHAPE

_ARRAY = ir.LiteralStructType([POINTER, I32, I32, I32, I32, POINTER, POINTER, I64])
"""A DLTensor: data, device type and id, rank, data type in four bytes, shape, strides, byte offset."""
_CPU = 1


class _FunctionPointer(Literal):
    """A function pointer, as a callee for llvmlite's ``call``."""

    function_type = ir.FunctionType(I32, [POINTER, POINTER, POINTER, I32, POINTER])
    is_var_arg = False


def call_packed(e: Emitter, n: Call) -> ir.Value:
    """Generate the call of a packed function; the enclosing function returns early if it fails."""
    value, _ = _call(e, n, _returned_kind(n.dtype))
    return _returned(e, value, n.dtype)


def call_rows(e: Emitter, name: PrimExpr, rows: tuple[ir.Value, ir.Value, int], dtype: str) -> ir.Value:
    """Generate the call of a packed function whose arguments are already in memory.

    ``rows`` are pointers to the argument values and their type codes, and the number of arguments.
    """
    value, _ = _call_rows(e, name, rows, _returned_kind(dtype))
    return _returned(e, value, dtype)


def _returned_kind(dtype: str) -> ArgTypeCode:
    return ArgTypeCode.FLOAT if dt.is_float(dtype) else ArgTypeCode.INT


def _returned(e: Emitter, bits: ir.Value, dtype: str) -> ir.Value:
    """Return the 64 bits of a result as a value of ``dtype``."""
    if dtype == "handle":
        return e.state.builder.inttoptr(bits, POINTER)
    if dtype == "void":
        return bits
    if dt.is_float(dtype):
        return e.convert(e.state.builder.bitcast(bits, register_type("float64")), "float64", dtype)
    return e.convert(bits, "int64", dtype)


def call_traced(e: Emitter, n: Call) -> ir.Value:
    """Generate the call of a tracing function, whose result, if any, replaces the last argument."""
    _state, builder, dtype = e.state, e.state.builder, n.dtype
    kind = ArgTypeCode.FLOAT if dt.is_float(dtype) else ArgTypeCode.INT
    value, given = _call(e, n, kind)
    passed = "float64" if kind is ArgTypeCode.FLOAT else "int64"
    answer = e.convert(builder.bitcast(value, register_type(passed)), passed, dtype)
    replaced = builder.icmp_signed("!=", given, ir.Constant(I64, 0))
    return builder.select(replaced, answer, e.visit(n.args[-1]))


def _call(e: Emitter, n: Call, kind: ArgTypeCode) -> tuple[ir.Value, ir.Value]:
    """Generate the call; return the 64 bits of the result, and a flag that is nonzero if there is one."""
    name, *args = n.args
    state = e.state
    pairs = [_argument(e, a) for a in args]
    values = _stored(state, I64, [value for value, _ in pairs], "packed.values")
    codes = _stored(state, I32, [ir.Constant(I32, code) for _, code in pairs], "packed.codes")
    return _call_rows(e, name, (values, codes, len(args)), kind)


def _call_rows(
    e: Emitter, name: PrimExpr, rows: tuple[ir.Value, ir.Value, int], kind: ArgTypeCode
) -> tuple[ir.Value, ir.Value]:
    if not isinstance(name, StringImm):
        raise BuildError(f"LLVM code generation: call_packed takes the name of a function first, got {name}")
    state, builder = e.state, e.state.builder
    values, codes, number = rows
    result = _stored(state, I64, [ir.Constant(I64, 0), ir.Constant(I64, kind)], "packed.result")
    function = _FunctionPointer(POINTER, builder.load(_variable(state), typ=POINTER).get_reference())
    count = ir.Constant(I32, number)
    status = builder.call(function, [text_constant(state, name.value), values, codes, count, result])
    state.require(builder.icmp_signed("==", status, ir.Constant(I32, 0)), state.shared.message(FAILED))
    given = builder.gep(result, [ir.Constant(I64, 1)], inbounds=True, source_etype=I64)
    return builder.load(result, typ=I64), builder.load(given, typ=I64)


def text_constant(state: FunctionState, text: str) -> ir.GlobalVariable:
    """Return a null-terminated string constant."""
    data = bytearray(text.encode() + b"\0")
    content = ir.Constant(ir.ArrayType(I8, len(data)), data)
    module = state.shared.module
    variable = ir.GlobalVariable(module, content.type, module.get_unique_name("text"))
    variable.initializer, variable.global_constant, variable.linkage = content, True, "private"
    return variable


def _variable(state: FunctionState) -> ir.GlobalVariable:
    module = state.shared.module
    if VARIABLE not in module.globals:
        variable = ir.GlobalVariable(module, POINTER, VARIABLE)
        variable.initializer, variable.linkage = null(), "weak"  # each module that is linked into a library has its own
    return module.globals[VARIABLE]


def _argument(e: Emitter, a: PrimExpr) -> tuple[ir.Value, ArgTypeCode]:
    """Return the 64 bits of an argument and its type code."""
    builder = e.state.builder
    if isinstance(a, StringImm):
        return builder.ptrtoint(text_constant(e.state, a.value), I64), ArgTypeCode.STR
    if isinstance(a, Call) and a.op is STACK_MAKE_ARRAY:
        return builder.ptrtoint(_array(e, a), I64), ArgTypeCode.DLTENSOR_HANDLE
    if a.dtype.startswith("handle"):
        return builder.ptrtoint(e.visit(a), I64), ArgTypeCode.HANDLE
    if dt.lanes(a.dtype) > 1:
        raise BuildError(f"LLVM code generation: call_packed takes numbers, pointers and texts, got {a.dtype} {a}")
    if dt.is_float(a.dtype):
        wide = e.convert(e.visit(a), a.dtype, "float64")
        return builder.bitcast(wide, I64), ArgTypeCode.FLOAT
    return e.convert(e.visit(a), a.dtype, "int64"), ArgTypeCode.INT


def _array(e: Emitter, n: Call) -> ir.Value:
    """Build a DLTensor on the stack and return its address."""
    data, shape, strides, rank, kind, offset = n.args
    state, builder = e.state, e.state.builder
    array = state.alloca(_ARRAY, 8, "array")
    size = ir.Constant(I64, dt.storage_bytes(kind.dtype))
    start = builder.mul(e.convert(e.visit(offset), offset.dtype, "int64"), size)
    fields = [
        e.visit(data),
        ir.Constant(I32, _CPU),
        ir.Constant(I32, 0),
        e.visit(rank),
        ir.Constant(I32, dtype_bits(kind.dtype)),
        _extents(e, shape),
        _extents(e, strides),
        start,
    ]
    for number, value in enumerate(fields):
        indices = [ir.Constant(I32, 0), ir.Constant(I32, number)]
        builder.store(value, builder.gep(array, indices, inbounds=True, source_etype=_ARRAY))
    return array


def _extents(e: Emitter, a: PrimExpr) -> ir.Value:
    if not isinstance(a, Call) or a.op is not STACK_MAKE_SHAPE:
        return null()
    return _stored(e.state, I64, [e.convert(e.visit(x), x.dtype, "int64") for x in a.args], "extents")


def _stored(state: FunctionState, typ: ir.Type, values: list[ir.Value], name: str) -> ir.Value:
    """Store values in an array on the stack and return its address."""
    row = ir.ArrayType(typ, max(1, len(values)))
    memory = state.alloca(row, 8, name)
    for number, value in enumerate(values):
        indices = [ir.Constant(I32, 0), ir.Constant(I32, number)]
        state.builder.store(value, state.builder.gep(memory, indices, inbounds=True, source_etype=row))
    return memory
