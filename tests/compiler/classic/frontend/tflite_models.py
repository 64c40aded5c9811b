"""Models of TensorFlow Lite with one operator, written as flatbuffers: what its converter would not make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
flatbuffers = pytest.importorskip("flatbuffers")
from tensorflow.lite.python import schema_py_generated as schema  # noqa: E402

TYPES = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "complex64": 8, "int8": 9}
TYPES |= {"resource": 14}


@dataclass(frozen=True)
class Given:
    """A tensor that a model takes when it runs, or keeps as a state."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    is_variable: bool = False


def model_of(
    operator: str, inputs: Sequence[Given | np.ndarray[Any, Any] | None], outputs: Sequence[Given], **options: object
) -> bytes:
    """Return the file of a model of one operator; arrays are constants, None stands for an input that is left out."""
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.description, model.subgraphs = 3, b"one operator", [graph]
    model.buffers, graph.tensors = [schema.BufferT()], []
    node = schema.OperatorT()
    node.inputs = [_entered(model, graph, x, f"x{i}") for i, x in enumerate(inputs)]
    node.outputs = [_entered(model, graph, y, f"y{i}") for i, y in enumerate(outputs)]
    given = zip(inputs, node.inputs, strict=True)
    graph.inputs = [at for x, at in given if isinstance(x, Given) and not x.is_variable]
    graph.outputs, graph.operators = list(node.outputs), [node]
    _set_options(node, operator, options)
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, operator)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    code.version = 1
    model.operatorCodes = [code]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _entered(model: Any, graph: Any, given: Given | np.ndarray[Any, Any] | None, name: str) -> int:
    if given is None:
        return -1
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.buffer = name.encode(), list(given.shape), 0
    tensor.type = TYPES[str(given.dtype)]
    if isinstance(given, Given):
        tensor.isVariable = given.is_variable
    else:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(given).tobytes(), np.uint8)
        tensor.buffer = len(model.buffers)
        model.buffers.append(buffer)
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def _set_options(node: Any, operator: str, options: dict[str, object]) -> None:
    name = options.pop("kind", None)
    if name is None:
        return
    table = getattr(schema, f"{name}T")()
    for field, value in options.items():
        assert hasattr(table, field), field
        setattr(table, field, value)
    if hasattr(schema.BuiltinOptions, str(name)):
        node.builtinOptionsType, node.builtinOptions = getattr(schema.BuiltinOptions, str(name)), table
    else:
        node.builtinOptions2Type, node.builtinOptions2 = getattr(schema.BuiltinOptions2, str(name)), table
