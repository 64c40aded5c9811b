"""DivToMul: turns divisions by constants into multiplications."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, array_const
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, call_of, type_of, typed


class DivToMul(RewritePass, required=("InferType",)):
    """Multiply by the reciprocals of floating-point constants instead of dividing by the constants.

    Level 0; requires InferType.  A reciprocal is rounded, so that the last place of a result may differ, unless the
    constant is a power of two.

    Examples
    --------
    ``DivToMul()``::

        def @main(%x: Tensor[(3), float32]) { divide(%x, 4f) }
        ->
        def @main(%x: Tensor[(3), float32]) { multiply(%x, 0.25f) }
    """

    def mutator(self) -> GraphMutator:
        return _Reciprocals()


class _Reciprocals(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        division = call_of(new, "divide")
        divisor = division.args[1] if division else None
        if division is None or not isinstance(divisor, Constant) or not divisor.data.dtype.startswith("float"):
            return new
        with np.errstate(divide="ignore"):
            reciprocal = array_const(np.reciprocal(divisor.value))
        return call_op("multiply", division.args[0], typed(reciprocal, type_of(divisor)))
