"""What operators of one operand make of zeros, infinities and NaN is what onnxruntime makes of them, signs included."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from compiler.driver.relay.build import build
from compiler.relay.frontend import from_onnx
from compiler.runtime.device import cpu
from compiler.runtime.graph.graph_module import GraphModule

OPERATORS = (
    "Abs", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
    "HardSwish", "Identity", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink",
    "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh",
)  # fmt: skip
X = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.3] * 4, "float32")
"""Enough for whole vectors of every processor."""


def kind(values: np.ndarray[Any, Any]) -> list[str]:
    return [f"{v:g}" if v == 0 or not np.isfinite(v) else "finite" for v in values.tolist()]


@pytest.mark.parametrize("operator", OPERATORS)
def test_zeros_infinities_and_nan_are_those_of_onnxruntime(operator: str) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, X.shape) for name in "xy")
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "special", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": X})[0]
    mod, params = from_onnx(model)
    module = GraphModule(build(mod, "llvm", params=params)["default"](cpu()))
    module.run(x=X)
    assert kind(module.get_output(0).numpy()) == kind(wanted)
