"""FastMath: transcendental functions by quick approximations."""

from __future__ import annotations

from typing import Any

from compiler.ir.node import rebuild
from compiler.ir.op import registered_ops
from compiler.ir.transform import register_named_pass
from compiler.relay.expr import Call
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, mutator_pass, op_name, tensor_type

_FAST = {"exp": "fast_exp", "tanh": "fast_tanh", "erf": "fast_erf", "nn.softmax": "nn.fast_softmax"}


def FastMath() -> FunctionPass:
    """Replaces ``exp``, ``tanh``, ``erf`` and ``nn.softmax`` of ``float32`` by approximations.

    They are right to a few units in the last places instead of to the last one, and free of branches::

        exp(%x)                 ->        fast_exp(%x)
    """
    return mutator_pass(_Replacer, 4, "FastMath", "InferType")


class _Replacer(GraphMutator):
    def visit_call(self, call: Call) -> Any:
        new = super().visit_call(call)
        fast: Any = registered_ops().get(_FAST.get(op_name(new), ""))
        found = tensor_type(call) if fast is not None else None
        return rebuild(new, op=fast) if found is not None and found.dtype == "float32" else new


register_named_pass("FastMath", FastMath)
