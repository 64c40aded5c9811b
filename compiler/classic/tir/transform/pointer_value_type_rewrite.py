"""Rewrites buffers that are only accessed in whole vectors to vector types."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Ramp
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.loops.vector_type import use_vector_types_of_parameters
from compiler.tir.transform.pass_base import FunctionRewrite


class PointerValueTypeRewrite(FunctionRewrite):
    """Make memory that is only accessed by aligned vectors of one length an array of such vectors.

    For example::

        B = T.allocate([64], "float32")          B = T.allocate([8], "float32x8")
        B_1[i * 8:i * 8 + 8] = …          →      B_1[i] = …

    The memory of parameters is looked at, too: whoever calls the function must then align it for vectors.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return use_vector_types_of_parameters(func) if Ramp in features(func).nodes else func
