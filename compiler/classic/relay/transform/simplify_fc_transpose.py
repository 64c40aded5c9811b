"""SimplifyFCTranspose: pre-transposes the weights of dense layers."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.relay.analysis.layers import transposed_weight
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.relay.analysis.variables import free_vars
from compiler.relay.expr import Call, Var
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, tensor_type, typed


class SimplifyFCTranspose(FunctionPass, required=("InferType",)):
    """Replace ``nn.dense(x, transpose(weight))`` by ``nn.dense(x, weight.T)``, where ``weight.T`` is a new parameter.

    Level 0; requires InferType.  ``target_weight_name`` has the names of these weights, as
    ``relay.analysis.search_fc_transpose`` finds them.  Whoever runs the program passes the transposed weights for the
    new parameters; ``relay.data_dep_optimization.simplify_fc_transpose.convert`` does both.

    Examples
    --------
    ``SimplifyFCTranspose(['w'])``::

        def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 4), float32]) {
          nn.dense(%x, transpose(%w, axes=[1, 0]))
        }
        ->
        def @main(%x: Tensor[(2, 3), float32], %w.T: Tensor[(4, 3), float32]) { nn.dense(%x, %w.T) }
    """

    target_weight_name: Sequence[str]

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        body = _WeightTransposer(frozenset(self.target_weight_name)).rewrite(func.body)
        used = free_vars(body)
        stay = [param for param in func.params if param in used]
        added = [var for var in used if var not in stay]
        return rebuild(func, params=(*stay, *added), body=body)


class _WeightTransposer(GraphMutator):
    def __init__(self, names: frozenset[str]) -> None:
        super().__init__()
        self._names = names
        self._new: dict[Var, Var] = {}

    def visit_call(self, call: Call) -> RelayExpr:
        weight = transposed_weight(call)
        if weight is None or weight.name_hint not in self._names:
            return super().visit_call(call)
        t = tensor_type(call.args[1])
        new = self._new.setdefault(weight, typed(Var(f"{weight.name_hint}.T", t), t))
        return rebuild(call, args=(self.visit(call.args[0]), new))
