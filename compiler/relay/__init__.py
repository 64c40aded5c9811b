"""Relay: a functional language of tensor graphs: ``tvm.relay``.

Operators are reached as ``relay.name``, whichever file of :mod:`compiler.relay.op` they stand in.
"""

from __future__ import annotations

import typing

from compiler.ir.extension import public_module
from compiler.ir.function import GlobalVar
from compiler.ir.source_span import SourceName, Span
from compiler.relay import adt, analysis, expr, op, printer, ty, type_functor
from compiler.relay.adt import *  # noqa: F403
from compiler.relay.binding import bind
from compiler.relay.expr import Call, Constant, Expr, If, Let, Tuple, TupleGetItem, TupleWrapper, Var, const, var
from compiler.relay.expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from compiler.relay.function import Function
from compiler.relay.operator import OpPattern
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.relay.ty import AnyDim as Any
from compiler.relay.ty import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    ShapeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
    scalar_type,
)
from compiler.relay.type_functor import TypeFunctor, TypeMutator, TypeVisitor

RelayExpr = Expr

__all__ = [
    *adt.__all__, "Any", "Call", "Constant", "Expr", "ExprFunctor", "ExprMutator", "ExprVisitor", "FuncType",
    "Function", "GlobalTypeVar", "GlobalVar", "If", "IncompleteType", "Let", "OpPattern", "RefCreate", "RefRead",
    "RefType", "RefWrite", "RelayExpr", "ShapeVar", "SourceName", "Span", "TensorType", "Tuple", "TupleGetItem",
    "TupleType", "TupleWrapper", "Type", "TypeCall", "TypeConstraint", "TypeFunctor", "TypeKind", "TypeMutator",
    "TypeRelation", "TypeVar", "TypeVisitor", "Var", "analysis", "bind", "const", "expr", "op", "printer",
    "scalar_type", "ty", "type_functor", "var",
]  # fmt: skip


_operators = {name: getattr(op, name) for name in op.__all__ if name not in ("get", "memory", "vm")}
globals().update(_operators)

if not typing.TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.relay", [*__all__, *_operators])
