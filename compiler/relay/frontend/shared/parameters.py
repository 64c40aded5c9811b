"""Building of the module of a model, with its weights as parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.relay.expr import Constant, Tuple, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.frontend.shared.telling import tell_created
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.runtime.arrays.ndarray import NDArray


def is_weight(value: Constant) -> bool:
    """Return whether a tensor may become a parameter; small integer tensors are shapes, axes and the like."""
    return value.data.ndim > 1 or value.data.dtype.startswith(("float", "bfloat"))


def module_of(
    inputs: Sequence[Var], outputs: Sequence[RelayExpr], weights: Mapping[Constant, str]
) -> tuple[IRModule, dict[str, NDArray]]:
    """Build the module of a model, and return it with the weights that it uses."""
    body = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
    thaw = _Thaw(weights)
    if weights:
        body = thaw.visit(body)
    mod = infer_module(IRModule({"main": Function((*inputs, *thaw.variables.values()), body)}))
    tell_created(mod)
    return mod, {weights[c]: c.data for c in thaw.variables}


class _Thaw(ExprMutator):
    """Replaces weights by parameters."""

    def __init__(self, weights: Mapping[Constant, str]) -> None:
        super().__init__()
        self._weights = weights
        self.variables: dict[Constant, Var] = {}

    def visit_constant(self, value: Constant) -> RelayExpr:
        if value not in self._weights:
            return value
        if value not in self.variables:
            self.variables[value] = Var(self._weights[value], value.tensor_type)
        return self.variables[value]
