"""Memory traffic of a graph: operators, kernels, and bytes read and written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.ir.module import IRModule
from compiler.ir.types import Type
from compiler.relay.analysis.aliases import is_alias
from compiler.relay.analysis.traversal import operands
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.ty import TensorType, TupleType
from compiler.runtime.arrays.ndarray import numpy_dtype


@dataclass(slots=True)
class MemoryTraffic:
    """What a run of a graph reads and writes, in bytes, if nothing stays in cache between kernels.

    ``kernels`` counts calls of fused functions, and of operators that stand alone; those that only look at memory in
    another shape are none.
    """

    kernels: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    untyped: int = 0  # of these calls, those whose type is not inferred


def memory_traffic(module: IRModule) -> MemoryTraffic:
    """Return what a run of a module's functions reads and writes, each call counted once.

    Values whose type is not inferred, or has an unknown extent, count nothing.
    """
    traffic = MemoryTraffic()
    for expr in _outside_kernels(module):
        if isinstance(expr, Call) and _is_kernel(expr.op) and not is_alias(expr):
            traffic.kernels += 1
            traffic.untyped += expr.checked_type_ is None
            traffic.bytes_read += sum(bytes_of(arg.checked_type_) for arg in expr.args)
            traffic.bytes_written += bytes_of(expr.checked_type_)
    return traffic


def _is_kernel(op: GraphExpr) -> bool:
    return isinstance(op, RelayOp) or (isinstance(op, Function) and bool(op.attrs.get("Primitive")))


def _outside_kernels(module: IRModule) -> list[GraphExpr]:
    """Return every expression of a module's functions once, but those inside of kernels."""
    todo: list[GraphExpr] = [func for func in module.functions.values() if isinstance(func, Function)]
    seen: dict[GraphExpr, None] = {}
    while todo:
        expr = todo.pop()
        if expr in seen:
            continue
        seen[expr] = None
        if isinstance(expr, Function) and expr.attrs.get("Primitive"):
            continue
        todo += operands(expr)
    return list(seen)


def bytes_of(kind: Type | None) -> int:
    """Return the bytes that a value of a type takes; none where an extent is unknown, or it is no tensor."""
    if isinstance(kind, TupleType):
        return sum(bytes_of(field) for field in kind.fields)
    if not isinstance(kind, TensorType) or not kind.is_static:
        return 0
    return int(np.prod(kind.concrete_shape, dtype=np.int64)) * numpy_dtype(kind.dtype).itemsize
