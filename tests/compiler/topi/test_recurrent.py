"""Recurrent layers as generated for processors with registers of several sizes, and for devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.driver.relay.build import build
from compiler.relay.transform.layout.legalize import Legalize
from tests.compiler.relay.op.examples import EXAMPLES

LAYERS = EXAMPLES["nn.recurrent"]


def results_of(mod: Any, target: str, arrays: list[Any]) -> list[Any]:
    executor = graph_executor.GraphModule(build(mod, target)["default"](tvm.cpu(0)))
    executor.run(**{f"x{i}": a for i, a in enumerate(arrays)})
    return [executor.get_output(i).numpy() for i in range(executor.get_num_outputs())]


def module_of(example: Any) -> Any:
    variables = example.variables
    return tvm.IRModule.from_expr(relay.Function(variables, example.call(variables)))


@pytest.mark.sample(3)
@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell"])
@pytest.mark.parametrize("example", LAYERS)
def test_narrower_registers_compute_the_same(example: Any, cpu: str) -> None:
    mod = module_of(example)
    wanted = relay.create_executor("debug", mod=mod).evaluate()(*example.arrays)
    for result, reference in zip(results_of(mod, f"llvm -mcpu={cpu}", example.arrays), wanted, strict=True):
        np.testing.assert_allclose(result, reference.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.sample(3)
@pytest.mark.parametrize("example", LAYERS)
def test_a_device_gets_the_steps_as_operators(example: Any) -> None:
    mod = relay.transform.InferType()(module_of(example))
    with tvm.target.Target("cuda"):
        steps = Legalize("FTVMQnnLegalize")(mod)
    assert "nn.recurrent" not in steps.astext()
    wanted = relay.create_executor("debug", mod=mod).evaluate()(*example.arrays)
    for result, reference in zip(results_of(steps, "llvm", example.arrays), wanted, strict=True):
        np.testing.assert_allclose(result, reference.numpy(), rtol=1e-4, atol=1e-5)


def test_rows_of_a_large_batch_go_to_several_cores() -> None:
    gates, weight = relay.var("x0", shape=(8, 64, 512)), relay.var("x1", shape=(8, 128, 64))
    others = [relay.var("x2", shape=(512,)), *(relay.var(f"x{i}", shape=(64, 128)) for i in (3, 4))]
    layer = relay.nn.recurrent(gates, weight, others[0], others[1:], cell="lstm")
    kernels = build(tvm.IRModule.from_expr(relay.Function([gates, weight, *others], layer.astuple())), "llvm").kernels
    (kernel,) = kernels.values()
    assert "T.parallel" in str(kernel.prim_func)
    assert kernel.flops == 2 * 8 * 64 * 128 * 4 * 128
