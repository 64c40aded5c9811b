"""Whole models, built: the same results as onnxruntime's, at every level, by graph and by virtual machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.driver.relay.vm import VirtualMachine
from compiler.ir.transform import PassContext
from compiler.relay.frontend import from_onnx
from tests.models import build, inputs_of


def expected(model: Any, inputs: dict[str, Any]) -> Any:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def imported(name: str) -> tuple[Any, dict[str, Any], Any, dict[str, Any]]:
    model = build(name, small=True)
    inputs = inputs_of(model)
    mod, params = from_onnx(model, {k: v.shape for k, v in inputs.items()}, freeze_params=False)
    return mod, params, expected(model, inputs), inputs


def check(lib: Any, inputs: dict[str, Any], wanted: Any) -> None:
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    for _ in range(2):  # a second run finds the buffers as the first one left them
        module.run(**inputs)
        np.testing.assert_allclose(module.get_output(0).numpy(), wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["resnet18", "mobilenetv2", "bert", "gpt", "lstm"])
def test_models_match_onnxruntime(name: str) -> None:
    mod, params, wanted, inputs = imported(name)
    with PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)
        machine = VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tvm.cpu(0))
    check(lib, inputs, wanted)
    assert not any(call.reference for call in lib.program.calls)
    assert lib.memory.shared < lib.memory.unshared
    np.testing.assert_allclose(machine.run(**inputs).numpy(), wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("level", [0, 1])
def test_every_level_computes_the_same(level: int) -> None:
    mod, params, wanted, inputs = imported("lenet")
    with PassContext(opt_level=level):
        lib = relay.build(mod, "llvm", params=params)
    check(lib, inputs, wanted)
    assert any("tanh" in name and "conv2d" in name for name in lib.kernels) == (level > 0)


def test_an_exported_model_matches(tmp_path: Path) -> None:
    mod, params, wanted, inputs = imported("lenet")
    relay.build(mod, "llvm", params=params).export_library(tmp_path / "lenet.so")
    check(tvm.runtime.load_module(tmp_path / "lenet.so"), inputs, wanted)


def test_a_symbolic_batch_runs_with_any() -> None:
    mod, params = from_onnx(build("lenet", small=True), freeze_params=False)
    machine = VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tvm.cpu(0))
    rng = np.random.default_rng(2)
    model = build("lenet", small=True)
    ((name, example),) = inputs_of(model).items()
    for batch in (1, 3, 3):
        data = rng.standard_normal((batch, *example.shape[1:])).astype("float32")
        wanted = expected(model, {name: data})
        np.testing.assert_allclose(machine.run(data).numpy(), wanted, rtol=1e-3, atol=1e-4)
