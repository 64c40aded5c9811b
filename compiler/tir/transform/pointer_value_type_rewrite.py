"""Making memory that is only accessed a vector at a time an array of vectors."""

from __future__ import annotations

from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import Allocate
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.vector_type import use_vector_types


class PointerValueTypeRewrite(PrimFuncPass):
    """Make memory that is only accessed by aligned vectors of one length an array of such vectors.

    For example::

        B = T.allocate([64], "float32")          B = T.allocate([8], "float32x8")
        B_1[i * 8:i * 8 + 8] = …          →      B_1[i] = …
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if Allocate not in features(func).nodes:
            return func
        return func.with_body(use_vector_types(func.body))
