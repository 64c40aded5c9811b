"""Whole models, compared with onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from compiler.driver.relay import vm
from compiler.driver.relay.build import build as build_graph
from compiler.ir.origin import OriginTable, recording
from compiler.relay.analysis import post_order_visit
from compiler.relay.expr import Call
from compiler.relay.frontend import from_onnx
from compiler.relay.interpreter import Interpreter
from compiler.runtime.device import cpu
from compiler.runtime.graph.graph_module import GraphModule
from tests.models import BY_MACHINE, MODELS, build, inputs_of

BUILT_ELSEWHERE = ("resnet18", "mobilenetv2", "bert", "gpt", "lstm")
"""tests/compiler/driver/relay/test_models.py builds them, too."""


def _expected(model, feeds):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)


def _run(mod, feeds):
    return Interpreter(mod).evaluate("main", feeds)


@pytest.mark.parametrize("name", MODELS)
def test_small_models_match_onnxruntime(name):
    model = build(name, small=True)
    onnx.checker.check_model(model, full_check=True)
    feeds = inputs_of(model)
    mod, params = from_onnx(model.SerializeToString())
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    assert params
    assert all((value.numpy() == weights[key]).all() for key, value in params.items())
    assert len(mod["main"].params) == len(feeds)
    np.testing.assert_allclose(_run(mod, feeds), _expected(model, feeds)[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_weights_may_be_parameters(name):
    model = build(name, small=True)
    feeds = inputs_of(model)
    mod, params = from_onnx(model, freeze_params=False)
    names = {tensor.name for tensor in model.graph.initializer}
    assert set(params) <= names
    assert [p.name_hint for p in mod["main"].params] == [*feeds, *params]
    values = feeds | {key: value.numpy() for key, value in params.items()}
    np.testing.assert_allclose(_run(mod, values), _expected(model, feeds)[0], rtol=1e-3, atol=1e-4)


def _operators(mod):
    found = []
    post_order_visit(mod["main"], lambda e: found.append(e.op.name) if isinstance(e, Call) else None)
    return found


def test_arithmetic_on_shapes_leaves_no_trace():
    assert set(_operators(from_onnx(build("bert", small=True))[0])) <= {
        *("take", "add", "nn.layer_norm", "reshape", "transpose", "nn.dense", "nn.batch_matmul", "nn.softmax"),
        *("divide", "multiply", "erf", "broadcast_to"),
    }


def test_a_symbolic_batch_stays_symbolic():
    model = build("lenet")
    mod, _ = from_onnx(model)
    assert [str(p.type_annotation) for p in mod["main"].params] == ["Tensor[(?, 1, 28, 28), float32]"]
    assert str(mod["main"].ret_type) == "Tensor[(?, 10), float32]"
    fixed, _ = from_onnx(model, shape={"data": (3, 1, 28, 28)})
    assert str(fixed["main"].ret_type) == "Tensor[(3, 10), float32]"
    named, _ = from_onnx(model, shape={"batch": 4})
    assert str(named["main"].ret_type) == "Tensor[(4, 10), float32]"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in BUILT_ELSEWHERE else name for name in MODELS]
)
def test_small_models_match_onnxruntime_compiled(name):
    model = build(name, small=True, **({"batch": 2} if name == "lenet" else {}))
    feeds = inputs_of(model)
    mod, _ = from_onnx(model)
    if name in BY_MACHINE:
        result = vm.VirtualMachine(vm.compile(mod, "llvm"), cpu()).run(**feeds)
    else:
        module = GraphModule(build_graph(mod, "llvm")["default"](cpu()))
        module.run(**feeds)
        result = module.get_output(0)
    np.testing.assert_allclose(result.numpy(), _expected(model, feeds)[0], rtol=1e-3, atol=1e-4)


def test_expressions_know_their_node():
    with recording(OriginTable()) as table:
        mod, _ = from_onnx(build("lenet"))
    labels = set()
    post_order_visit(mod["main"].body, lambda e: labels.update(_labels(table, e)) if isinstance(e, Call) else None)
    assert {"Conv conv_0", "MaxPool maxpool_2", "Gemm gemm_15", "Softmax softmax_16"} <= labels
    lines = [row.location for row in table.rows if row.location is not None]
    assert {line.file for line in lines} == {__file__}


def _labels(table, expr):
    return [table.rows[i].label for i in expr.span]
