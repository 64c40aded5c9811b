"""Shared by graph rewrites: a bottom-up mutator, and helpers for reading and building graphs."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, TypeVar

import numpy as np

from compiler.ir.expr import RelayExpr, set_checked_type
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import traversing
from compiler.ir.transform import PassContext
from compiler.ir.types import Type
from compiler.relay.analysis import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem, array_const, expect
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.function import is_primitive as is_primitive
from compiler.relay.inference import infer_expr
from compiler.relay.op.common import along_axis as along_axis
from compiler.relay.operator import RelayOp
from compiler.relay.operator import call_of as call_of
from compiler.relay.operator import op_name as op_name
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.ty import Dim, TensorType
from compiler.runtime.arrays.ndarray import numpy_dtype

E = TypeVar("E", bound=RelayExpr)


def outside_kernels(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return what an expression is made of, for walks that leave kernels alone."""
    return () if is_primitive(expr) else operands(expr)


class GraphMutator(ExprMutator):
    """A mutator for rewrites that change no type; kernels stay as they are.

    Operands are rewritten before what uses them, so that a graph of any depth needs no deep recursion; what is
    rewritten has the type of what it replaces.
    """

    def rewrite(self, expr: GraphExpr) -> RelayExpr:
        with traversing():
            for part in post_order(expr, outside_kernels):
                self.visit(part)
        return self.memo_map[expr]

    def rewrite_function(self, func: Function) -> Function:
        """Return a function with its body rewritten."""
        return expect(Function, self.rewrite(func))

    def visit(self, expr: GraphExpr) -> RelayExpr:
        visited = expr in self.memo_map
        result = super().visit(expr)
        if not visited and result is not expr and result.checked_type_ is None:
            set_checked_type(result, expr.checked_type_)
        return result

    def visit_function(self, fn: Function) -> RelayExpr:
        return fn if is_primitive(fn) else super().visit_function(fn)


class ElementMutator(GraphMutator):
    """A mutator for rewrites that look through tuples: an element of a tuple that is spelt out is that element."""

    def visit_tuple_getitem(self, op: TupleGetItem) -> RelayExpr:
        value = self.visit(op.tuple_value)
        return value.fields[op.index] if isinstance(value, Tuple) else rebuild(op, tuple_value=value)


class RewritePass(FunctionPass, abstract=True):
    """A pass that rewrites the body of every function by a fresh mutator."""

    method: ClassVar[str] = "mutator"

    @abstractmethod
    def mutator(self) -> GraphMutator:
        """Return what rewrites one function."""

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return self.mutator().rewrite_function(func)


def relay_op(expr: GraphExpr) -> RelayOp | None:
    """Return the operator that an expression calls, or None."""
    return expr.op if isinstance(expr, Call) and isinstance(expr.op, RelayOp) else None


def typed(expr: E, t: Type | None) -> E:
    """Fill in the type of an expression that is new and return the expression."""
    set_checked_type(expr, t)
    return expr


def type_of(expr: GraphExpr) -> Type:
    """Return the type of an expression, inferred if it is new."""
    t: Type | None = expr.checked_type_
    if t is None:
        op = expr.op if isinstance(expr, Call) else None
        if not isinstance(expr, Call) or not isinstance(op, RelayOp) or op.relation is None:
            return infer_expr(expr)
        # What inference would do, without its preparations for what is not known yet.
        t = op.relation(tuple([type_of(arg) for arg in expr.args]), expr.attrs)
        set_checked_type(expr, t)
    return t


def tensor_type(expr: GraphExpr) -> TensorType | None:
    """Return the type of an expression if it is a tensor."""
    t = type_of(expr)
    return t if isinstance(t, TensorType) else None


def dims_of(expr: GraphExpr) -> tuple[Dim, ...] | None:
    """Return the shape of an expression that is a tensor."""
    t = tensor_type(expr)
    return None if t is None else t.dims


def dtype_of(expr: GraphExpr) -> str:
    """Return the data type of an expression that is a tensor; empty for others."""
    t = tensor_type(expr)
    return "" if t is None else t.dtype


def scalar_value(expr: GraphExpr) -> np.generic | None:
    """Return the one value that all elements of a constant have, as a NumPy scalar; None if there is none."""
    if not isinstance(expr, Constant) or expr.value.size == 0 or expr.value.size > 4096:
        return None
    value = expr.value
    first = value.flat[0]
    return first if bool(np.all(value == first)) else None


def const_like(value: float, dtype: str) -> Constant:
    """Return a scalar constant of a data type."""
    return array_const(np.asarray(value, numpy_dtype(dtype)))


def users_of(expr: GraphExpr) -> dict[GraphExpr, int]:
    """Return how often each part of an expression is used; the expression itself counts as used once."""
    count: dict[GraphExpr, int] = {expr: 1}
    for part in post_order(expr, outside_kernels):
        for operand in outside_kernels(part):
            count[operand] = count.get(operand, 0) + 1
    return count
