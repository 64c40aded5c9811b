"""Prints a compute DAG, one line per value, as ``print(task.compute_dag)`` shows it."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Add, Max, Min, Mul, PrimExpr, Reduce, is_const_int
from compiler.ir.printing.text import TextBuilder
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation
from compiler.tir.printing.loops import LoopPrinter

_UPDATES: dict[type[PrimExpr], str] = {Add: "+=", Mul: "*=", Max: "max=", Min: "min="}


def operation_text(op: Operation) -> str:
    """Return what an operation computes: ``A = PLACEHOLDER [64, 64]``, ``C(i, j) += A[i, k]*B[k, j]``."""
    if not isinstance(op, ComputeOp):
        shape = ", ".join(map(str, op.output(0).shape))
        return f"{op.name} = {type(op).__name__.removesuffix('Op').upper()} [{shape}]\n"
    axes = ", ".join(axis.var.name for axis in op.axis)
    several = len(op.body) > 1
    lines = (f"{op.name}{f'.v{k}' if several else ''}({axes}) {_value_text(body)}\n" for k, body in enumerate(op.body))
    return "".join(lines)


def _value_text(body: PrimExpr) -> str:
    """Return how a value is assigned, or what a reduction combines with it."""
    if not isinstance(body, Reduce):
        return f"= {_text(body)}"
    update = _UPDATES.get(type(body.combiner.result[body.value_index]), "reduce=")
    source = body.source[body.value_index]
    condition = "" if is_const_int(body.condition, 1) else f" where {_text(body.condition)}"
    return f"{update} {_text(source)}{condition}"


def _text(expr: PrimExpr) -> str:
    out = TextBuilder()
    LoopPrinter(out).expr(expr)
    out.newline()
    return out.text().rstrip()
