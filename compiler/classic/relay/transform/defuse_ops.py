"""DefuseOps: the inverse of FuseOps."""

from __future__ import annotations

from typing import Any

from compiler.relay.expr import Call
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, is_primitive

__all__ = [
    "DefuseOps",
]


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
    def visit_call(self, call: Call) -> Any:
        new = super().visit_call(call)
        if not is_primitive(new.op):
            return new
        body = GraphMutator()
        body.memo_map.update(zip(new.op.params, new.args, strict=True))
        return body.rewrite(new.op.body)
