"""Scalar and vector expressions: indices, conditions and values at all levels.

Variables and constants stand in :mod:`~compiler.ir.expr.scalars`, conversions in :mod:`~compiler.ir.expr.coercion`,
expressions made of others in :mod:`~compiler.ir.expr.operations`, axes and reductions in :mod:`~compiler.ir.expr.axes`,
and what Python's operators build in :mod:`~compiler.ir.expr.arithmetic`.
"""

import typing

from compiler.ir.expr import arithmetic, axes, coercion, operations, scalars
from compiler.ir.expr.arithmetic import *  # noqa: F403
from compiler.ir.expr.axes import *  # noqa: F403
from compiler.ir.expr.coercion import *  # noqa: F403
from compiler.ir.expr.number_operations import trunc_div, trunc_mod
from compiler.ir.expr.operations import *  # noqa: F403
from compiler.ir.expr.operators import ExprLike, ExprOperators
from compiler.ir.expr.producer import DataProducer, ProducerLoad
from compiler.ir.expr.scalars import *  # noqa: F403
from compiler.ir.extension import public_module

__all__ = [
    *scalars.__all__, *operations.__all__, *coercion.__all__, *axes.__all__, *arithmetic.__all__, "DataProducer",
    "ExprLike", "ExprOperators", "ProducerLoad", "trunc_div", "trunc_mod",
]  # fmt: skip

if not typing.TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.tir.expr", __all__)
