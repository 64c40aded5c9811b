"""InferType: infers the types of all expressions."""

from __future__ import annotations

from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, PassContext
from compiler.ir.types import Type
from compiler.relay.expr import GraphExpr
from compiler.relay.inference import infer_copies, infer_expr


class InferType(Pass):
    """Find the type of every expression.

    Level 0.  Expressions without a type are copied, and the copies have their ``checked_type`` filled in, so that what
    the program holds stays as it is; functions get their result types, and parameters without a type get the one that
    their uses need.  A TypeInferenceError names everything that does not fit.

    References
    ----------
    L. Damas and R. Milner, "Principal type-schemes for functional programs", POPL 1982 (algorithm W); the relations of
    operators are constraints that are solved once enough is known.

    Examples
    --------
    ``InferType()``::

        def @main(%x: Tensor[(1, 8), float32], %w) { nn.dense(%x, %w, units=4) }
        ->
        def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) -> Tensor[(1, 4), float32] {
          nn.dense(%x, %w, units=4)
        }
    """

    annotates = True

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Infer the types of the very module, whose answer is remembered, and not of a copy; ``mod`` itself if nothing
        changed.
        """
        return infer_copies(mod)


def InferTypeLocal(expr: GraphExpr) -> Type:
    """Return the type of one expression, taking over the types that its parts have already.

    Raises TypeInferenceError, which names everything that does not fit.
    """
    return infer_expr(expr)
