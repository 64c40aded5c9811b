"""CanonicalizeOps: rewrites specialised operators as general ones."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call
from compiler.relay.op.nn.bias import BiasAddAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, along_axis, dims_of, op_name


class CanonicalizeOps(RewritePass, opt_level=3, required=("InferType",)):
    """Write the addition of a bias as a plain addition, which more passes know.

    Level 3; requires InferType.

    Examples
    --------
    ``CanonicalizeOps()``::

        def @main(%x: Tensor[(1, 4, 8, 8), float32], %b: Tensor[(4), float32]) { nn.bias_add(%x, %b) }
        ->
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %b: Tensor[(4), float32]) {
          add(%x, expand_dims(%b, axis=1, num_newaxis=2))
        }
    """

    def mutator(self) -> GraphMutator:
        return _Canonicalizer()


class _Canonicalizer(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        dims = dims_of(call.args[0]) if op_name(new) == "nn.bias_add" else None
        if dims is None:
            return new
        data, bias = new.args
        return call_op("add", data, along_axis(bias, BiasAddAttrs.of(new).axis, len(dims)))
