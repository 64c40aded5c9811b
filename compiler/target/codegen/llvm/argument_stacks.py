"""Structures in memory: argument stacks, and the calls that read their arguments from them."""

from __future__ import annotations

from llvmlite import ir

from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, StringImm
from compiler.target.codegen.llvm.packed_calls import call_rows, text_constant
from compiler.target.codegen.llvm.state import Emitter
from compiler.target.codegen.llvm.types import I8, I32, I64, constant, register_type
from compiler.tir.expressions.struct_fields import ARRAY_BYTES, VALUE_BYTES, Field

_ELEMENT_BYTES = {"arg_value": VALUE_BYTES, "arg_tcode": 4, "shape": 8, "array": ARRAY_BYTES}
_ALIGNMENT = 8


def stack_alloca(e: Emitter, n: Call) -> ir.Value:
    """Generate code for ``tvm_stack_alloca``: a stack of argument values, type codes, arrays or shapes."""
    kind, count = n.args
    if not isinstance(kind, StringImm) or kind.value not in _ELEMENT_BYTES or not isinstance(count, IntImm):
        raise BuildError(f"LLVM code generation: {n} takes one of {', '.join(_ELEMENT_BYTES)} and a constant")
    row = ir.ArrayType(I8, max(1, count.value) * _ELEMENT_BYTES[kind.value])
    return e.state.alloca(row, _ALIGNMENT, kind.value)


def struct_get(e: Emitter, n: Call) -> ir.Value:
    """Generate code for ``tvm_struct_get``: read a field of an array or an argument value."""
    address, which = _field(e, n)
    return address if which is Field.ADDRESS else e.state.builder.load(address, typ=register_type(n.dtype))


def struct_set(e: Emitter, n: Call) -> ir.Value:
    """Generate code for ``tvm_struct_set``: write a field of an array or an argument value."""
    address, _ = _field(e, n)
    value = n.args[3]
    stored = text_constant(e.state, value.value) if isinstance(value, StringImm) else e.visit(value)
    e.state.builder.store(stored, address)
    return constant(I32, 0)


def _field(e: Emitter, n: Call) -> tuple[ir.Value, Field]:
    structure, number, which = n.args[:3]
    if not isinstance(number, IntImm) or not isinstance(which, IntImm):
        raise BuildError(f"LLVM code generation: {n} must select a field by a constant")
    field = Field(which.value)
    offset = ir.Constant(I32, field.offset + number.value * field.structure_bytes)
    return e.state.builder.gep(e.visit(structure), [offset], inbounds=True, source_etype=I8), field


def call_packed_lowered(e: Emitter, n: Call) -> ir.Value:
    """Generate the call of a packed function whose arguments are on the stacks."""
    name, values, kinds, begin, end = n.args
    if not isinstance(begin, IntImm) or not isinstance(end, IntImm):
        raise BuildError(f"LLVM code generation: {n} must give the positions of its arguments as constants")
    rows = (_behind(e, values, I64, begin.value), _behind(e, kinds, I32, begin.value), end.value - begin.value)
    return call_rows(e, name, rows, n.dtype)


def _behind(e: Emitter, row: PrimExpr, element: ir.Type, position: int) -> ir.Value:
    return e.state.builder.gep(e.visit(row), [constant(I64, position)], inbounds=True, source_etype=element)
