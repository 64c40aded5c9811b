"""Writing a graph node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Writer:
    """Collects nodes and weights; every value is known by its name.

    Weights are drawn in the order in which they are asked for, so that a seed always gives the same model.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._inputs: list[Any] = []

    def input(self, name: str, shape: Any, kind: int = TensorProto.FLOAT) -> str:
        """Declare an input of the model."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Apply an operator; returns the name of its output, or the names if there are several."""
        stem = f"{operator.lower()}_{len(self._nodes)}"
        names = [stem if outputs == 1 else f"{stem}_{i}" for i in range(outputs)]
        self._nodes.append(helper.make_node(operator, list(inputs), names, name=stem, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Add a tensor whose elements are given."""
        name = f"const_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape: int, scale: float | None = None) -> str:
        """Add random weights; by default such that results stay as large as inputs."""
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
        values = self._random.standard_normal(shape) * (np.sqrt(2 / fan) if scale is None else scale)
        return self.constant(values)

    def around(self, middle: float, count: int, spread: float = 0.1) -> str:
        """Add a vector of numbers near another."""
        return self.constant(middle + spread * self._random.random(count))

    def model(self, name: str, output: str, shape: Any) -> Any:
        """Return the model that computes ``output``."""
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, name, self._inputs, [result], self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
