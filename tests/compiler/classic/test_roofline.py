"""What the instrument of the roofline model keeps of a build."""

from __future__ import annotations

from typing import Any

import pytest

import compiler.relay
from compiler.classic.roofline import SaveLoweredTIR
from compiler.ir import IRModule
from compiler.ir.transform import PassContext
from compiler.tir.statements.function import PrimFunc

relay: Any = compiler.relay


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_every_kernel_of_a_build_is_kept_as_loops(target: str) -> None:
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(3, 8))
    mod = IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, w)))))
    saved = SaveLoweredTIR()
    with PassContext(opt_level=2, instruments=[saved]):
        lib = relay.build(mod, target)
    names = [var.name_hint for var in saved.functions]
    assert names == ["tvmgen_default_fused_nn_dense_nn_relu", "tvmgen_default_fused_nn_softmax"]
    assert all(isinstance(func, PrimFunc) for func in saved.functions.values())
    assert all(f'"func_name": "{name}"' in lib.get_graph_json() for name in names)


def test_a_pass_says_when_kernels_are_kept() -> None:
    x = relay.var("x", shape=(4,))
    saved, early = SaveLoweredTIR(), SaveLoweredTIR("tir.VectorizeLoop")
    with PassContext(opt_level=3, instruments=[saved, early]):
        relay.build(IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    (late,), (before,) = saved.functions.values(), early.functions.values()
    assert "vectorized" in str(before)
    assert "vectorized" not in str(late)
