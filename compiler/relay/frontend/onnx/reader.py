"""Reading and validation of models, which may come from untrusted sources."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from compiler.ir.error import ArgumentError
from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import Array

MAX_DEPTH = 16
"""The maximum nesting depth of graphs."""
MAX_NODES = 200_000
"""The maximum number of nodes of a model, including those of subgraphs and functions."""
MAX_ELEMENTS = 1 << 31
"""The maximum number of elements of a tensor."""
OLDEST_OPSET = 1

ModelSource: TypeAlias = onnx.ModelProto | bytes | bytearray | memoryview | str | os.PathLike[str]
"""A model, the contents of its file, or a path."""

_UNSUPPORTED = ("STRING", "COMPLEX64", "COMPLEX128", "FLOAT8", "INT4", "UINT4", "FLOAT4", "INT2", "UINT2")


def read_model(model: ModelSource) -> onnx.ModelProto:
    """Read and validate a model."""
    proto = _decode(model)
    if not proto.HasField("graph") or not (proto.graph.node or proto.graph.output):
        raise ModelError("from_onnx: the model has no graph")
    _check_size(proto)
    return proto


def _decode(model: ModelSource) -> onnx.ModelProto:
    if isinstance(model, onnx.ModelProto):
        return model
    name, directory = "the model", ""
    if isinstance(model, (str, os.PathLike)):
        name, directory = repr(os.fspath(model)), os.path.dirname(os.path.abspath(model))
        try:
            with open(model, "rb") as file:
                model = file.read()
        except OSError as exc:
            raise ModelError(f"from_onnx: {os.fspath(model)!r} cannot be read: {exc.strerror}") from None
    if not isinstance(model, (bytes, bytearray, memoryview)):
        inner = getattr(model, "model_proto", None)
        if isinstance(inner, onnx.ModelProto):
            return inner
        raise ArgumentError(
            "from_onnx: model must be an onnx.ModelProto, an ONNXProgram of torch.onnx.export, the bytes of a file or "
            f"a path, got {type(model).__name__}"
        )
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(bytes(model))
    except (DecodeError, RecursionError, RuntimeError):
        raise ModelError(f"from_onnx: {_not_a_model(name, bytes(model))}") from None
    if not proto.HasField("graph"):
        raise ModelError(f"from_onnx: {_not_a_model(name, bytes(model))}")
    if directory:
        _take_in_external_data(proto, directory, name)
    return proto


def _take_in_external_data(proto: onnx.ModelProto, directory: str, name: str) -> None:
    """Read elements that lie in files beside the model; onnx refuses links, and paths out of the directory."""
    try:
        onnx.load_external_data_for_model(proto, directory)
    except (onnx.checker.ValidationError, ValueError, OSError) as exc:
        raise ModelError(f"from_onnx: {name} stores elements in another file, which cannot be read: {exc}") from None


_OTHER_FILES = {
    b"PK\x03\x04": "it is a ZIP archive; unpack it, or, if torch.save wrote it, save the model with torch.onnx.export",
    b"\x1f\x8b": "it is compressed by gzip; unpack it first",
    b"\x89HDF": "it is an HDF5 file, as Keras writes it; convert the model to ONNX",
    b"\x80": "it is a pickle of Python; save the model with torch.onnx.export",
    b"<": "it is a web page or XML; the download may have failed",
    b"{": "it is JSON",
    b"version https://git-lfs": "it is a pointer of Git LFS; fetch the file itself with git lfs pull",
}
"""What files that are not models begin with."""


def _not_a_model(name: str, data: bytes) -> str:
    """Return what is wrong with a file that cannot be decoded."""
    guesses = (text for start, text in _OTHER_FILES.items() if data.startswith(start))
    guess = next(guesses, "") if data else "it is empty"
    size = f"{len(data):,} bytes"
    if guess:
        return f"{name} ({size}) is not an ONNX model: {guess}"
    return f"{name} ({size}) is not an ONNX model, or its end is missing: expected a whole serialized onnx.ModelProto"


def _check_size(proto: onnx.ModelProto) -> None:
    count = 0
    graphs: list[tuple[onnx.GraphProto | onnx.FunctionProto, int]] = [
        (proto.graph, 1),
        *((function, 1) for function in proto.functions),
    ]
    while graphs:
        graph, depth = graphs.pop()
        if depth > MAX_DEPTH:
            raise ModelError(f"from_onnx: graphs are nested more than {MAX_DEPTH} levels deep")
        count += len(graph.node)
        if count > MAX_NODES:
            raise ModelError(f"from_onnx: the model has more than {MAX_NODES:,} nodes")
        graphs += [(inner, depth + 1) for node in graph.node for inner in subgraphs(node)]


def names_read(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield the names that nodes of a graph, and of those within it, read, and those of its outputs."""
    for node in graph.node:
        yield from node.input
        for inner in subgraphs(node):
            yield from names_read(inner)
    yield from (output.name for output in graph.output)


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Return the graphs in a node's attributes."""
    for attr in node.attribute:
        if attr.type == onnx.AttributeProto.GRAPH:
            yield attr.g
        elif attr.type == onnx.AttributeProto.GRAPHS:
            yield from attr.graphs


def opset_imports(proto: onnx.NodeProto, override: int | None = None) -> dict[str, int]:
    """Return the version of each operator set that a model or function is written in."""
    versions = {"" if o.domain == "ai.onnx" else o.domain: int(o.version) for o in proto.opset_import}
    if override is not None:
        versions[""] = override
    version = versions.setdefault("", OLDEST_OPSET) if not versions else versions.get("")
    newest = onnx.defs.onnx_opset_version()
    if version is not None and version > newest:
        raise ModelError(f"from_onnx: operator set {version} is newer than {newest}, the newest supported one")
    return versions


def dtype_name(elem_type: int, what: str) -> str:
    """Return the data type of an element type's number."""
    try:
        name: str = onnx.TensorProto.DataType.Name(elem_type)
    except ValueError:
        raise ModelError(f"{what} has the unknown element type {elem_type}") from None
    if name == "UNDEFINED" or name.startswith(_UNSUPPORTED):
        raise ModelError(f"{what} has elements of type {name.lower()}, which are not supported")
    return {"FLOAT": "float32", "DOUBLE": "float64"}.get(name, name.lower())


def only_dequantized(graph: onnx.GraphProto) -> frozenset[str]:
    """Return the weights of four bits that DequantizeLinear alone reads: to it they are bytes of few values."""
    small = {t.name for t in graph.initializer if t.data_type in _IN_BYTES}
    if not small:
        return frozenset()
    small -= {output.name for output in graph.output}
    for node in graph.node:
        if node.op_type != "DequantizeLinear":
            small -= set(node.input)
        for inner in subgraphs(node):
            small -= _names_within(inner)
    return frozenset(small)


def _names_within(graph: onnx.GraphProto) -> set[str]:
    """Return what the nodes and outputs of a graph and of those in it read."""
    names = {output.name for output in graph.output}
    for node in graph.node:
        names.update(node.input)
        for inner in subgraphs(node):
            names |= _names_within(inner)
    return names


_IN_BYTES: dict[int, str] = {onnx.TensorProto.INT4: "int8", onnx.TensorProto.UINT4: "uint8"}
"""What numbers of four bits, two to a byte of the file, are held in."""


def tensor_array(tensor: onnx.TensorProto, in_bytes: bool = False) -> Array:
    """Return a tensor's elements; ``in_bytes`` each of four bits in a byte of its own."""
    what = f"tensor {tensor.name!r}"
    is_small = in_bytes and tensor.data_type in _IN_BYTES
    dtype = _IN_BYTES[tensor.data_type] if is_small else dtype_name(tensor.data_type, what)
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        raise ModelError(
            f"{what} stores its elements in another file: pass the path of the model with that file beside it, or"
            f" save the model without external data"
        )
    if any(d < 0 for d in tensor.dims):
        raise ModelError(f"{what} has the negative extent {min(tensor.dims)}")
    count = math.prod(tensor.dims)
    if count > MAX_ELEMENTS:
        raise ModelError(f"{what} claims to have {count:,} elements; {MAX_ELEMENTS:,} are allowed")
    _check_claim(tensor, count, dtype, what, 2 if is_small else 1)
    try:
        values = np.asarray(numpy_helper.to_array(tensor))
        return values.astype(dtype) if is_small else values
    except (ValueError, TypeError) as exc:
        raise ModelError(f"{what} cannot be read: {exc}") from None


def _check_claim(tensor: onnx.TensorProto, count: int, dtype: str, what: str, in_a_unit: int) -> None:
    """Compare what a shape claims with what is there, before memory is taken for it; units may hold several numbers."""
    size = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    if tensor.HasField("raw_data"):
        held = len(tensor.raw_data) // size
    else:
        held = max(len(getattr(tensor, field)) for field in _DATA_FIELDS)
    if held != -(-count // in_a_unit):
        shape, held = tuple(tensor.dims), held * in_a_unit
        raise ModelError(f"{what} claims to have {count:,} elements (shape {shape}), but holds {held:,} elements")


_DATA_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
