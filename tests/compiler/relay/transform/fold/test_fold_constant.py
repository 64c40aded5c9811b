"""What is computed while compiling, and what is left to the run."""

from __future__ import annotations

from functools import partial

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


def test_quantised_operators_are_evaluated_where_it_is_asked_for() -> None:
    data = relay.const(np.array([3.0, -8.0], "float32"))
    out = relay.nn.relu(relay.qnn.op.quantize(data, relay.const(2.0), relay.const(0)))
    mod = IRModule.from_expr(relay.Function([], out))
    assert "qnn.quantize(" in str(transform.FoldConstant()(mod))
    folded = transform.FoldConstant(fold_qnn=True)(mod)["main"].body
    np.testing.assert_array_equal(folded.data.numpy(), [2, 0])


def test_devices_that_are_said_of_constants_stay() -> None:
    on_cpu = partial(relay.annotation.on_device, device="cpu", constrain_result=True)
    x, c = relay.var("x", shape=(2,)), relay.var("c")
    sum_on_cpu = on_cpu(relay.add(on_cpu(relay.const(1.0)), relay.const(2.0)))
    mod = IRModule.from_expr(relay.Function([x], relay.Let(c, sum_on_cpu, relay.add(x, c))))
    folded = transform.FoldConstant()(transform.InferType()(mod))["main"].body
    assert (folded.op.name, folded.args[1].op.name) == ("add", "on_device")
    assert folded.args[1].args[0].data.numpy() == 3
