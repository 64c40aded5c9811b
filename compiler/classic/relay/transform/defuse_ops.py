"""DefuseOps: the inverse of FuseOps."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, expect
from compiler.relay.function import Function
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, is_primitive


class DefuseOps(RewritePass, opt_level=3, required=("InferType",)):
    """Put the bodies of kernels where they are called: the inverse of :class:`FuseOps`.

    Level 3; requires InferType.

    Examples
    --------
    ``DefuseOps()``::

        def @main(%x: Tensor[(3), float32]) {
          fn (%p0: Tensor[(3), float32], Primitive=1) { nn.relu(exp(%p0)) }(%x)
        }
        ->
        def @main(%x: Tensor[(3), float32]) { nn.relu(exp(%x)) }
    """

    def mutator(self) -> GraphMutator:
        return _Defuser()


class _Defuser(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        if not is_primitive(new.op):
            return new
        body, kernel = GraphMutator(), expect(Function, new.op)
        body.memo_map.update(zip(kernel.params, new.args, strict=True))
        return body.rewrite(kernel.body)
