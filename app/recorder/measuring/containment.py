"""Proves that a program accesses only its arguments and its own memory.

What is proven here is what makes a measurement worth something: a program that a script wrote down is measured in a
process that it cannot reach out into.  Proofs assume that integers do not overflow, so that every part of an index,
and of a condition that is used, is proven to fit into 32 bits as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from math import prod

from compiler.arith import Analyzer
from compiler.driver.pipeline import lower_blocks
from compiler.ir import dtype as dt
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import (
    And,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    CmpOp,
    FloatImm,
    IntImm,
    Not,
    Or,
    PrimExpr,
    Ramp,
    Range,
    Select,
    Var,
    const,
    is_const_int,
)
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.te.program.kinds import callable_operators
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, DeclBuffer, Evaluate, For, IfThenElse, SeqStmt
from compiler.tir.transform.loops.reduce_in_pairs import PAIRWISE

_HARMLESS = (Var, IntImm, FloatImm, BinaryOp, CmpOp, And, Or, Not, Select, Cast, Ramp, Broadcast, SeqStmt)
_INDEX = (Var, IntImm, BinaryOp)
_CONDITION = (*_INDEX, CmpOp, And, Or, Not)
_PRAGMAS = frozenset({"pragma_auto_unroll_max_step", "pragma_unroll_explicit", PAIRWISE})
_LIMIT = 2**31


class NotContained(TVMError):
    """A program that is not proved to be contained; the message has the reason."""


def check_contained(func: PrimFunc) -> None:
    """Check that a function is contained: it accesses only its arguments and its own memory.

    Parameters
    ----------
    func : PrimFunc
        A function with or without blocks.

    Raises
    ------
    NotContained
        If this cannot be proved.
    """
    mod = IRModule({"main": func})
    for lowering in lower_blocks():
        mod = lowering(mod)
    lowered = mod["main"]
    _Containment(lowered).visit(lowered.body)


class _Containment(Visitor):
    """Visits loops and stores, tracking what is known about the variables."""

    def __init__(self, func: PrimFunc) -> None:
        self._analyzer = Analyzer()
        self._operators = callable_operators()
        self._allocated: dict[Var, int] = {}
        self._buffers: set[Buffer] = set()
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None or buffer.data in self._allocated:
                raise NotContained("a parameter is not a tensor, or shares its memory with another")
            self._allocated[buffer.data] = _bytes(buffer.shape, buffer.dtype)
            self._declare(buffer)

    # statements

    def visit_For(self, n: For) -> None:
        self._check_integers(n.min, _INDEX)
        self._check_integers(n.extent, _INDEX)
        self._analyzer.bind(n.loop_var, Range.from_fields(n.min, n.extent), override=True)
        self.visit(n.body)

    def visit_Allocate(self, n: Allocate) -> None:
        if n.buffer_var in self._allocated:
            raise NotContained(f"{n.buffer_var.name!r} is allocated twice")
        self._allocated[n.buffer_var] = _bytes(n.extents, n.dtype)
        self.visit(n.condition)
        self.visit(n.body)

    def visit_DeclBuffer(self, n: DeclBuffer) -> None:
        self._declare(n.buffer)
        self.visit(n.body)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key not in _PRAGMAS:
            raise NotContained(f"it has the attribute {n.attr_key!r}")
        self.visit(n.value)
        self.visit(n.body)

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self.visit(n.condition)
        self._branch(n.condition, n.then_case)
        if n.else_case is not None:
            self._branch(Not(n.condition), n.else_case)

    def visit_Evaluate(self, n: Evaluate) -> None:
        self.visit(n.value)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._check_access(n)
        self.visit(n.value)

    # expressions

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._check_access(n)

    def visit_Call(self, n: Call) -> None:
        name = getattr(n.op, "name", str(n.op))
        if self._operators.get(name) is not n.op:
            raise NotContained(f"it calls {name}, which is not a pure intrinsic")
        if n.op is not IF_THEN_ELSE:
            for arg in n.args:
                self.visit(arg)
            return
        condition, then, otherwise = n.args
        self.visit(condition)
        self._branch(condition, then)
        self._branch(Not(condition), otherwise)

    def visit_Node(self, n: Node) -> None:
        if not isinstance(n, _HARMLESS):
            raise NotContained(f"it has a {type(n).__name__}")
        Visitor.visit_Node(self, n)

    # proofs

    def _branch(self, condition: PrimExpr, n: Node) -> None:
        """Visit a branch under its condition."""
        with self._analyzer.constraint(condition) if self._is_exact(condition) else nullcontext():
            self.visit(n)

    def _is_exact(self, condition: PrimExpr) -> bool:
        """Return whether a condition is evaluated without overflow."""
        try:
            self._check_integers(condition, _CONDITION)
        except NotContained:
            return False
        return True

    def _declare(self, buffer: Buffer) -> None:
        compact = not buffer.strides and is_const_int(buffer.elem_offset, 0)
        if not compact or self._allocated.get(buffer.data, -1) < _bytes(buffer.shape, buffer.dtype):
            raise NotContained(f"buffer {buffer.name!r} is larger than the memory allocated for it")
        self._buffers.add(buffer)

    def _check_access(self, n: BufferLoad | BufferStore) -> None:
        buffer = n.buffer
        if buffer not in self._buffers:
            raise NotContained(f"buffer {buffer.name!r} is not declared")
        if n.predicate is not None:
            self.visit(n.predicate)
        for index, extent in zip(n.indices, buffer.shape, strict=True):
            scalar = self._scalar(index)
            self._check_integers(scalar, _INDEX)
            if not self._analyzer.can_prove(And(scalar >= 0, scalar < extent)):
                raise NotContained(f"index {index} of buffer {buffer.name!r} is not proven to be below {extent}")

    def _scalar(self, index: PrimExpr) -> PrimExpr:
        """Convert a vector index to a scalar one over a variable that ranges over the lanes."""
        lanes = dt.lanes(index.dtype)
        if lanes == 1:
            return index
        if dt.is_scalable(index.dtype):
            raise NotContained(f"{index} has as many lanes as a processor says")
        lane = Var("lane", "int32")
        self._analyzer.bind(lane, Range.from_fields(const(0), const(lanes)))
        return _of_lane(index, lane)

    def _check_integers(self, e: PrimExpr, allowed: tuple[type[PrimExpr], ...]) -> None:
        """Check that all parts of an expression are integers that fit into 32 bits."""
        todo = [e]
        while todo:
            n = todo.pop()
            if not isinstance(n, allowed):
                raise NotContained(f"an index or a loop depends on {n}")
            if n.dtype != "bool":
                bound = self._analyzer.const_int_bound(n)
                if n.dtype not in ("int32", "int64") or bound.min_value < -_LIMIT or bound.max_value >= _LIMIT:
                    raise NotContained(f"{n} may not fit into 32 bits")
            todo.extend(getattr(n, name) for name in n.children)


def _of_lane(e: PrimExpr, lane: Var) -> PrimExpr:
    match e:
        case Ramp():
            return e.base + e.stride * lane
        case Broadcast():
            return e.value
        case BinaryOp():
            return type(e)(_of_lane(e.a, lane), _of_lane(e.b, lane))
    raise NotContained(f"{e} is an index whose bounds cannot be proven")


def _bytes(shape: Sequence[PrimExpr], dtype: str) -> int:
    extents = [extent.value for extent in shape if isinstance(extent, IntImm)]
    if len(extents) < len(shape) or any(extent <= 0 for extent in extents):
        raise NotContained(f"the shape {tuple(shape)} is not constant")
    return prod(extents) * numpy_dtype(dt.element(dtype)).itemsize * dt.lanes(dtype)
