"""Kernels made one by one: ``relay.backend.te_compiler``."""

from __future__ import annotations

import numpy as np

from compiler import nd, relay
from compiler.driver.relay.backend import te_compiler
from compiler.ir import IRModule
from compiler.relay.function import Function
from compiler.relay.transform import InferType


def _typed(body: relay.Expr, *params: relay.Var) -> Function:
    return InferType()(IRModule.from_expr(relay.Function(list(params), body)))["main"]


def test_a_function_of_operators_is_lowered_once_and_computes_it() -> None:
    x, y = relay.var("x", shape=(10, 4)), relay.var("y", shape=(1, 4))
    function = _typed(relay.nn.relu(relay.add(x, y)), x, y)
    engine = te_compiler.get()
    engine.clear()
    cached = engine.lower(function, "llvm")
    assert [tuple(t.shape) for t in cached.inputs] == [(10, 4), (1, 4)]
    assert [tuple(t.shape) for t in cached.outputs] == [(10, 4)]
    assert cached.prim_fn_var.name_hint == "tvmgen_default_fused_add_nn_relu"
    assert cached.funcs["tvmgen_default_fused_add_nn_relu"].attrs["tir.noalias"]
    assert cached.schedule[cached.outputs[0]].op is cached.outputs[0].op

    u, v = relay.var("u", shape=(10, 4)), relay.var("v", shape=(1, 4))
    assert engine.lower(_typed(relay.nn.relu(relay.add(u, v)), u, v), "llvm") is cached
    assert engine.lower(_typed(relay.nn.relu(relay.subtract(u, v)), u, v), "llvm") is not cached
    assert len(engine.items()) == 2

    a, b = (np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in ((10, 4), (1, 4)))
    out = nd.array(np.empty((10, 4), "float32"))
    engine.jit(function, "llvm")(nd.array(a), nd.array(b), out)
    np.testing.assert_array_equal(out.numpy(), np.maximum(a + b, 0))
