"""InferType: the types of all expressions."""

from __future__ import annotations

from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.ir.types import Type
from compiler.relay.expr import GraphExpr
from compiler.relay.inference import infer_expr, infer_module


class InferType(ModulePass):
    """Finds the type of every expression.

    The expressions stay the same objects, with their ``checked_type`` filled in; functions get their result types, and
    parameters without a type get the one that their uses need::

        fn (%x: Tensor[(1, 8), float32], %w) { nn.dense(%x, %w, units=4) }
        fn (%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) -> Tensor[(1, 4), float32] { … }

    Raises
    ------
    TypeInferenceError
        Naming everything that does not fit.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return infer_module(mod)


def InferTypeLocal(expr: GraphExpr) -> Type:
    """Return the type of one expression, taking over the types that its parts have already."""
    return infer_expr(expr)
