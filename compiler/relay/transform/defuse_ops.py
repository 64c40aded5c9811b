"""DefuseOps: the inverse of FuseOps."""

from __future__ import annotations

from typing import Any

from compiler.ir.transform import register_named_pass
from compiler.relay.expr import Call
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, is_primitive, mutator_pass


def DefuseOps() -> FunctionPass:
    """Puts the bodies of kernels where they are called.

    For example::

    fn (%p0, Primitive=1) { nn.relu(exp(%p0)) }(%x)       ->        nn.relu(exp(%x))
    """
    return mutator_pass(_Defuser, 3, "DefuseOps", "InferType")


class _Defuser(GraphMutator):
    def visit_call(self, call: Call) -> Any:
        new = super().visit_call(call)
        if not is_primitive(new.op):
            return new
        body = GraphMutator()
        body.memo_map.update(zip(new.op.params, new.args, strict=True))
        return body.rewrite(new.op.body)


register_named_pass("DefuseOps", DefuseOps)
