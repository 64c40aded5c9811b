"""What is computed while compiling, and what is left to the run."""

from __future__ import annotations

import numpy as np

from compiler import relay
from compiler.ir.module import IRModule
from compiler.relay import transform


def test_constant_indices_out_of_range_are_left_to_the_run() -> None:
    data, updates = relay.const(np.zeros((1, 4), "float32")), relay.const(np.ones((1, 4), "float32"))
    call = relay.scatter_nd(data, relay.const(np.ones((2, 1, 4), "int64")), updates)
    mod = transform.FoldConstant()(IRModule.from_expr(relay.Function([], call)))
    assert mod["main"].body.op.name == "scatter_nd"


def test_dropout_of_a_constant_is_left_for_simplify_inference() -> None:
    data = relay.const(np.arange(4, dtype="float32"))
    mod = transform.FoldConstant()(IRModule.from_expr(relay.Function([], relay.nn.dropout(data))))
    assert "nn.dropout(" in str(mod)
    assert "nn.dropout(" not in str(transform.SimplifyInference()(mod))
