"""Graphs of operators, as a small functional language: ``tvm.relay``.

What stands on higher floors is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
import typing

from compiler.ir.error import unknown_name
from compiler.ir.module import GlobalVar
from compiler.relay import analysis, expr, op, printer, ty
from compiler.relay.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from compiler.relay.binding import bind
from compiler.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    const,
    var,
)
from compiler.relay.expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from compiler.relay.operator import OpPattern
from compiler.relay.ty import AnyDim as Any
from compiler.relay.ty import (
    FuncType,
    GlobalTypeVar,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    scalar_type,
)

_HIGHER = {
    "build": ("compiler.driver.relay.build", "build"),
    "build_module": ("compiler.driver.relay.build_module", None),
    "create_executor": ("compiler.driver.relay.executor", "create_executor"),
    "load_param_dict": ("compiler.runtime.params", "load_param_dict"),
    "save_param_dict": ("compiler.runtime.params", "save_param_dict"),
    "frontend": ("compiler.relay.frontend", None),
    "optimize": ("compiler.driver.relay.build_module", "optimize"),
    "prelude": ("compiler.relay.prelude", None),
    "Prelude": ("compiler.relay.prelude", "Prelude"),
    "ScopeBuilder": ("compiler.relay.scope_builder", "ScopeBuilder"),
    "parse": ("compiler.relay.parser", "parse"),
    "parse_expr": ("compiler.relay.parser", "parse_expr"),
    "fromtext": ("compiler.relay.parser", "fromtext"),
    "dataflow_pattern": ("compiler.relay.dataflow_pattern", None),
    "transform": ("compiler.relay.transform", None),
    "vm": ("compiler.driver.relay.vm", None),
}
"""Where names of higher floors stand; without a second part they are modules."""

RelayExpr = Expr

__all__ = [
    "Any",
    "Call",
    "Clause",
    "Constant",
    "Constructor",
    "Expr",
    "ExprFunctor",
    "ExprMutator",
    "ExprVisitor",
    "FuncType",
    "Function",
    "GlobalTypeVar",
    "GlobalVar",
    "If",
    "Let",
    "Match",
    "OpPattern",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "RefCreate",
    "RefRead",
    "RefType",
    "RefWrite",
    "RelayExpr",
    "TensorType",
    "Tuple",
    "TupleGetItem",
    "TupleType",
    "TupleWrapper",
    "Type",
    "TypeCall",
    "TypeData",
    "TypeVar",
    "Var",
    "analysis",
    "bind",
    "const",
    "expr",
    "op",
    "printer",
    "scalar_type",
    "ty",
    "var",
]


def __dir__() -> list[str]:
    return sorted({*__all__, *_HIGHER, *(name for name in dir(op) if not name.startswith("_"))})


if not typing.TYPE_CHECKING:  # a type checker knows all names, and refuses others

    def __getattr__(name: str) -> typing.Any:
        if name in _HIGHER:
            module, attribute = _HIGHER[name]
            found = importlib.import_module(module)
            return found if attribute is None else getattr(found, attribute)
        if not name.startswith("_") and hasattr(op, name):
            return getattr(op, name)
        raise unknown_name("tvm.relay", name, __dir__())
