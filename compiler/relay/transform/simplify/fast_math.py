"""FastMath: approximates transcendental functions."""

from __future__ import annotations

from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.op import registered_ops
from compiler.relay.expr import Call
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, op_name, tensor_type

_FAST = {"exp": "fast_exp", "tanh": "fast_tanh", "erf": "fast_erf", "nn.softmax": "nn.fast_softmax"}


class FastMath(RewritePass, opt_level=4, required=("InferType",)):
    """Replace ``exp``, ``tanh``, ``erf`` and ``nn.softmax`` of ``float32`` by approximations.

    Level 4; requires InferType.  They are right to a few units in the last places instead of to the last one, and free
    of branches.

    Examples
    --------
    ``FastMath()``::

        def @main(%x: Tensor[(3), float32]) { tanh(exp(%x)) }
        ->
        def @main(%x: Tensor[(3), float32]) { fast_tanh(fast_exp(%x)) }
    """

    def mutator(self) -> GraphMutator:
        return _Replacer()


class _Replacer(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        fast: Any = registered_ops().get(_FAST.get(op_name(new), ""))
        t = tensor_type(call) if fast is not None else None
        return rebuild(new, op=fast) if t is not None and t.dtype == "float32" else new
