"""Reading and validation of graphs, which may come from untrusted sources."""

from __future__ import annotations

import math
import os
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError, Message

from compiler.classic.frontend.tensorflow.messages import GraphDef, SavedModel
from compiler.classic.frontend.tensorflow.saved_model import archive_files, directory_files, freeze
from compiler.ir.error import ArgumentError, show
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import Array
from compiler.relay.frontend.shared.tensors import bounded

ModelSource: TypeAlias = "Message | bytes | bytearray | memoryview | str | os.PathLike[str]"
MAX_NODES = 200_000
MAX_ELEMENTS = 1 << 31

_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 9: "int64", 10: "bool", 14: "bfloat16",
    17: "uint16", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
"""The codes of ``tensorflow.DataType``."""
_VALUES = {
    "float32": "float_val", "float64": "double_val", "int64": "int64_val", "bool": "bool_val", "uint32": "uint32_val",
    "uint64": "uint64_val",
}  # fmt: skip
"""The fields of listed elements by data type; others use the int field."""


def read_graph(model: ModelSource) -> tuple[Message, list[str]]:
    """Read TensorFlow's message, a file or a SavedModel, and the names of its outputs if the model has them."""
    name = "the graph"
    if isinstance(model, (str, os.PathLike)):
        name = repr(os.fspath(model))
        if os.path.isdir(model):
            return _bounded(name, *freeze(directory_files(model), name))
        if os.path.basename(model) == "saved_model.pb":
            return _bounded(name, *freeze(directory_files(os.path.dirname(model)), name))
        model = _contents(model, name)
    elif isinstance(model, Message):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise ArgumentError(
            "from_tensorflow: graph must be a GraphDef, the bytes of a file, or the path of one or of a SavedModel, "
            f"got {show(model)}"
        )
    data = bytes(model)
    if data.startswith(b"PK\x03\x04"):
        return _bounded(name, *freeze(archive_files(data, name), name))
    return _bounded(name, *_graph_or_saved_model(data, name))


def _graph_or_saved_model(data: bytes, name: str) -> tuple[Message, list[str]]:
    graph = _parsed(GraphDef, data)
    if graph is not None and graph.node and all(node.name and node.op for node in graph.node):
        return graph, []
    saved = _parsed(SavedModel, data)
    if saved is not None and any(meta.graph_def.node for meta in saved.meta_graphs):
        return freeze({"saved_model.pb": data}.get, name)
    raise ModelError(
        f"from_tensorflow: {name} ({len(data):,} bytes) is not a frozen graph of TensorFlow, or its end is missing: "
        "expected a whole serialized GraphDef, or a ZIP archive of a SavedModel's directory"
    )


def _bounded(name: str, graph: Message, outputs: list[str]) -> tuple[Message, list[str]]:
    if len(graph.node) > MAX_NODES:
        raise ModelError(f"from_tensorflow: {name} has more than {MAX_NODES:,} nodes")
    return graph, outputs


def _contents(path: str | os.PathLike[str], name: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as exc:
        raise ModelError(f"from_tensorflow: {name} cannot be read: {exc.strerror}") from None


def _parsed(kind: type[Message], data: bytes) -> Any:
    message = kind()
    try:
        message.ParseFromString(data)
    except (DecodeError, RecursionError, RuntimeError):
        return None
    return message


def attributes_of(node: Message) -> dict[str, Any]:
    """Decode the attributes of a node: tensors to arrays, shapes to lists, data types to names."""
    return {entry.key: _value(entry.key, entry.value) for entry in node.attr}


def _value(key: str, attribute: Message) -> Any:
    kind = attribute.WhichOneof("value")
    if kind is None:
        return None
    value: Any = getattr(attribute, kind)
    if kind == "s":
        return value.decode("utf-8", "replace")
    if kind == "type":
        return _DTYPES.get(value, f"data type {value}")
    if kind == "shape":
        return shape_of_message(value)
    if kind == "tensor":
        return _array(key, value)
    if kind == "list":
        return _list(value)
    if kind == "func":
        return value.name
    return value


def _list(value: Message) -> list[Any]:
    for field in ("i", "f", "b"):
        if items := list(getattr(value, field)):
            return items
    if value.func:
        return [item.name for item in value.func]
    return [item.decode("utf-8", "replace") for item in value.s] or [_DTYPES.get(item, "") for item in value.type]


def dtype_of_number(number: int) -> str:
    """Return the name of a data type by its code."""
    if number not in _DTYPES:
        raise ConversionError(f"elements of TensorFlow's data type {number} are not supported")
    return _DTYPES[number]


def shape_of_message(shape: Message) -> list[int] | None:
    """Return the extents of a shape, -1 for unknown ones; None for unknown rank."""
    return None if shape.unknown_rank else [int(dim.size) for dim in shape.dim]


def _array(key: str, tensor: Message) -> Array:
    dtype = dtype_of_number(tensor.dtype)
    shape = shape_of_message(tensor.tensor_shape) or []
    if any(extent < 0 for extent in shape) or math.prod(shape) > MAX_ELEMENTS:
        raise ModelError(f"attribute {key!r} claims to have the shape {shape}")
    count = math.prod(shape)
    plain = "uint16" if dtype in ("float16", "bfloat16") else dtype
    if tensor.tensor_content:
        values = np.frombuffer(tensor.tensor_content, np.uint8)
        if values.size != count * np.dtype(plain).itemsize:
            raise ModelError(f"attribute {key!r} claims to have the shape {shape}, but holds {values.size:,} bytes")
        values = values.view(plain)
    else:
        values = _listed_elements(key, tensor, plain if plain != "uint16" else dtype, count)
    if dtype == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return values.view(dtype if dtype == "float16" else plain).reshape(shape)


def _listed_elements(key: str, tensor: Message, dtype: str, count: int) -> Array:
    """Decode listed elements, of which the last is repeated to fill the tensor."""
    half = dtype in ("float16", "bfloat16")
    listed = list(getattr(tensor, "half_val" if half else _VALUES.get(dtype, "int_val")))
    if len(listed) > count:
        raise ModelError(f"attribute {key!r} holds {len(listed):,} elements, but its shape has {count:,}")
    if len(listed) < count:
        bounded(count)
    values = np.zeros(count, "uint16" if half else dtype)
    values[: len(listed)] = listed
    values[len(listed) :] = listed[-1] if listed else 0
    return values
