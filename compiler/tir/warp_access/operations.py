"""Counts the arithmetic operations of a thread, including those of matrix and dot product instructions.

A product of matrices by tensor cores is an instruction of a warp: each thread counts its share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import BinaryOp, Call, PrimExpr, StringImm, Var
from compiler.ir.functor import Visitor
from compiler.ir.op import Op
from compiler.ir.types import PointerType
from compiler.tir.layout.matrix_fragments import operand_dtype
from compiler.tir.statements.buffer import BufferLoad

_WARP = 32
_FRAGMENT_PRODUCTS = ("tir.tvm_mma_sync", "tir.tvm_bmma_sync")
_SHAPE_PRODUCTS = ("tir.ptx_mma", "tir.ptx_mma_sp")
_DOT_PRODUCTS = {"tir.dp4a": 4, "__dp4a": 4}
"""Products that an instruction adds up, by operator or by C function."""


def fragment_extents(shape: str) -> int:
    """Return how many products ``m * n * k`` make one product of fragments of a shape such as ``16, 16, 16``."""
    return prod(map(int, shape.split(",")))


def instruction_operations(call: Call, fragments: Mapping[Var, int]) -> float:
    """Return the operations that a thread does by an instruction, a product and a sum counted as two."""
    name = call.op.name if isinstance(call.op, Op) else ""
    if name in _FRAGMENT_PRODUCTS:
        accumulator = call.args[0]
        return 2 * fragments.get(accumulator, 0) / _WARP if isinstance(accumulator, Var) else 0.0
    if name in _SHAPE_PRODUCTS:
        shape = call.args[0]
        return 2 * prod(map(int, re.findall(r"\d+", shape.value))) / _WARP if isinstance(shape, StringImm) else 0.0
    if name.startswith("tir.call_") and call.args and isinstance(call.args[0], StringImm):
        name = call.args[0].value
    return 2.0 * _DOT_PRODUCTS.get(name, 0)


def matrix_types(call: Call) -> str:
    """Return what an instruction of tensor cores multiplies and adds up."""
    name = call.op.name if isinstance(call.op, Op) else ""
    if name in _FRAGMENT_PRODUCTS:
        operand, total = (_element(call.args[at]) for at in (2, 0))
    elif name in _SHAPE_PRODUCTS:
        words = [word.value if isinstance(word, StringImm) else "" for word in (call.args[3], call.args[5])]
        operand, total = (operand_dtype(word) or word for word in words)
    else:
        return ""
    return f"{operand} to {total}"


def _element(pointer: PrimExpr) -> str:
    annotation = pointer.type_annotation if isinstance(pointer, Var) else None
    return str(annotation.element_type.dtype) if isinstance(annotation, PointerType) else ""


def value_operations(value: PrimExpr) -> int:
    """Return the floating-point operations of an expression, those of indices left out."""
    count = _Arithmetic()
    count.visit(value)
    return count.operations


class _Arithmetic(Visitor):
    def __init__(self) -> None:
        self.operations = 0

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        """An index is none."""

    def visit_BinaryOp(self, n: BinaryOp) -> None:
        if dt.is_float(n.dtype):
            self.operations += dt.lanes(n.dtype)
        self.visit_Node(n)
