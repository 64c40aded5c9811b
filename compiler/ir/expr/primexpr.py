"""Scalar and vector expressions: indices, conditions and values at all levels.

Variables and constants stand in :mod:`~compiler.ir.expr.scalars`, conversions in :mod:`~compiler.ir.expr.coercion`,
expressions made of others in :mod:`~compiler.ir.expr.operations`, axes and reductions in :mod:`~compiler.ir.expr.axes`,
and what Python's operators build in :mod:`~compiler.ir.expr.arithmetic`.
"""

import typing

from compiler.ir.expr.arithmetic import (
    binary,
    bitwise,
    fold,
    of_truth_values,
)
from compiler.ir.expr.axes import (
    CommReducer,
    IterVar,
    Range,
    Reduce,
)
from compiler.ir.expr.coercion import (
    Broadcast,
    Cast,
    Ramp,
    as_exprs,
    bound_value,
    cast,
    check_bound_value,
    const,
    convert,
    is_const_int,
    match_types,
    require_condition,
    wrap_int,
)
from compiler.ir.expr.number_operations import trunc_div, trunc_mod
from compiler.ir.expr.operations import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Call,
    CmpOp,
    Div,
    FloorDiv,
    FloorMod,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    Shuffle,
    Sub,
)
from compiler.ir.expr.operators import (
    ExprLike,
    ExprOperators,
)
from compiler.ir.expr.producer import DataProducer, ProducerLoad
from compiler.ir.expr.scalars import (
    AnyDim,
    FloatImm,
    IntImm,
    PrimExpr,
    SizeVar,
    StringImm,
    Var,
)
from compiler.ir.extension import public_module

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "AnyDim",
    "BinaryOp",
    "Broadcast",
    "Call",
    "Cast",
    "CmpOp",
    "CommReducer",
    "DataProducer",
    "Div",
    "ExprLike",
    "ExprOperators",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "IterVar",
    "Let",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "PrimExpr",
    "ProducerLoad",
    "Ramp",
    "Range",
    "Reduce",
    "Select",
    "Shuffle",
    "SizeVar",
    "StringImm",
    "Sub",
    "Var",
    "as_exprs",
    "binary",
    "bitwise",
    "bound_value",
    "cast",
    "check_bound_value",
    "const",
    "convert",
    "fold",
    "is_const_int",
    "match_types",
    "of_truth_values",
    "require_condition",
    "trunc_div",
    "trunc_mod",
    "wrap_int",
]

if not typing.TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.tir.expr", __all__)
