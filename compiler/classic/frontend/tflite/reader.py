"""Reading of flatbuffers, in which any access may fail if the file is damaged."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import tflite

from compiler.classic.frontend.tflite.sparsity import dense
from compiler.ir.error import ArgumentError, show
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, naming_node
from compiler.relay.frontend.shared.folding import Array

ModelSource: TypeAlias = "tflite.Model | bytes | bytearray | memoryview | str | os.PathLike[str]"

IDENTIFIER = b"TFL3"
MAX_TENSORS = 200_000
MAX_RANK = 16

_DTYPES = {
    tflite.TensorType.FLOAT16: "float16", tflite.TensorType.FLOAT32: "float32", tflite.TensorType.FLOAT64: "float64",
    tflite.TensorType.INT8: "int8", tflite.TensorType.INT16: "int16", tflite.TensorType.INT32: "int32",
    tflite.TensorType.INT64: "int64", tflite.TensorType.UINT8: "uint8", tflite.TensorType.UINT16: "uint16",
    tflite.TensorType.UINT32: "uint32", tflite.TensorType.UINT64: "uint64", tflite.TensorType.BOOL: "bool",
}  # fmt: skip
_TYPE_NAMES = {number: name.lower() for name, number in vars(tflite.TensorType).items() if not name.startswith("_")}
_OPERATORS = {number: name for name, number in vars(tflite.BuiltinOperator).items() if not name.startswith("_")}
_OPTIONS = {number: name for name, number in vars(tflite.BuiltinOptions).items() if not name.startswith("_")}
_OPTIONS_2 = {number: name for name, number in vars(tflite.BuiltinOptions2).items() if not name.startswith("_")}


@dataclass(frozen=True, slots=True)
class Quantization:
    """Quantization parameters: ``real = scale * (integer - zero_point)``.

    Both are scalars, or one number per slice along ``axis``.
    """

    scale: Array
    zero_point: Array
    axis: int

    def same_as(self, other: Quantization | None) -> bool:
        """Return whether two quantizations are equal."""
        return (
            other is not None
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """The description of a tensor, whose unknown extents are 1, and its elements if the model has them.

    A variable one holds the state of a node, which is initially zero.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None
    data: Array | None
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator node: its name, tensor numbers and options."""

    operator: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A graph of a model."""

    tensors: tuple[TensorInfo, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operations: tuple[Operation, ...]


@contextmanager
def reading() -> Iterator[None]:
    """Convert errors of accesses within the context to a ModelError about a damaged file."""
    try:
        yield
    except (struct.error, IndexError, TypeError, ValueError, OverflowError, AttributeError, MemoryError) as exc:
        raise ModelError(f"from_tflite: the model is damaged: a part of it is outside of the file ({exc})") from None


def called(operation: Operation) -> list[int]:
    """Return the numbers of the subgraphs that a node calls."""
    options = operation.options
    fields = ("Subgraph", *(name for name in dir(options) if name.endswith("SubgraphIndex")))
    return [int(getattr(options, name)()) for name in fields if hasattr(options, name)]


def read_model(model: ModelSource) -> tuple[Subgraph, ...]:
    """Read the subgraphs of a model, the main one first."""
    flat = _opened(model)
    with reading():
        if not flat.SubgraphsLength():
            raise ModelError("from_tflite: the model has no graph")
        if flat.SubgraphsLength() > MAX_TENSORS:
            raise ModelError(f"from_tflite: the model claims to have more than {MAX_TENSORS:,} graphs")
        return tuple(_subgraph(flat, flat.Subgraphs(i)) for i in range(flat.SubgraphsLength()))


def _opened(model: ModelSource) -> Any:
    if isinstance(model, tflite.Model):
        return model
    name = "the model"
    if isinstance(model, (str, os.PathLike)):
        name = repr(os.fspath(model))
        try:
            with open(model, "rb") as file:
                model = file.read()
        except OSError as exc:
            raise ModelError(f"from_tflite: {name} cannot be read: {exc.strerror}") from None
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise ArgumentError(
            f"from_tflite: model must be a tflite.Model, the bytes of a file or a path, got {show(model)}"
        )
    data = bytes(model)
    if data[4:8] != IDENTIFIER:
        raise ModelError(
            f"from_tflite: {name} ({len(data):,} bytes) is not a model of TensorFlow Lite: its bytes 4 to 7 must be "
            f"{IDENTIFIER.decode()!r}, got {data[4:8]!r}"
        )
    with reading():
        return tflite.Model.GetRootAs(data, 0)


def _subgraph(model: tflite.Model, graph: tflite.SubGraph) -> Subgraph:
    if graph.TensorsLength() > MAX_TENSORS or graph.OperatorsLength() > MAX_TENSORS:
        raise ModelError(f"from_tflite: the model claims to have more than {MAX_TENSORS:,} tensors or nodes")
    tensors = tuple(_tensor(model, graph.Tensors(i)) for i in range(graph.TensorsLength()))
    inputs, outputs = _numbers(graph, "Inputs", len(tensors)), _numbers(graph, "Outputs", len(tensors))
    operations = tuple(_operation(model, graph.Operators(i), len(tensors)) for i in range(graph.OperatorsLength()))
    return Subgraph(tensors, inputs, outputs, operations)


def _numbers(table: tflite.SubGraph | tflite.Operator, field: str, count: int) -> tuple[int, ...]:
    """Return the tensor numbers in a field, -1 for omitted ones."""
    length = getattr(table, f"{field}Length")()
    if length > MAX_TENSORS:
        raise ModelError(f"from_tflite: {length:,} {field.lower()} are named; there are {MAX_TENSORS:,} at most")
    numbers = tuple(int(getattr(table, field)(i)) for i in range(length))
    for number in numbers:
        if not -1 <= number < count:
            raise ModelError(f"from_tflite: tensor {number} is referenced, but there are {count:,}")
    return numbers


def _operation(model: tflite.Model, operator: tflite.Operator, count: int) -> Operation:
    number = operator.OpcodeIndex()
    if number >= model.OperatorCodesLength():
        raise ModelError(
            f"from_tflite: operator code {number} is referenced, but there are {model.OperatorCodesLength()}"
        )
    code = model.OperatorCodes(number)
    builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    name = _OPERATORS.get(builtin, f"operator {builtin}")
    if name == "CUSTOM":
        name = f"CUSTOM {(code.CustomCode() or b'').decode('utf-8', 'replace')}"
    return Operation(
        name, _numbers(operator, "Inputs", count), _numbers(operator, "Outputs", count), _options(operator)
    )


def _options(operator: tflite.Operator) -> Any:
    table, kind = operator.BuiltinOptions(), _OPTIONS.get(operator.BuiltinOptionsType(), "NONE")
    if kind == "NONE":
        table, kind = operator.BuiltinOptions2(), _OPTIONS_2.get(operator.BuiltinOptions2Type(), "NONE")
    if table is None or kind == "NONE":
        return None
    options = getattr(tflite, kind)()
    options.Init(table.Bytes, table.Pos)
    return options


def _tensor(model: tflite.Model, tensor: tflite.Tensor) -> TensorInfo:
    name = (tensor.Name() or b"").decode("utf-8", "replace")
    kind = tensor.Type()
    if tensor.ShapeLength() > MAX_RANK:
        raise ModelError(f"from_tflite: tensor {name!r} claims to have {tensor.ShapeLength():,} dimensions")
    shape = tuple(int(tensor.Shape(i)) for i in range(tensor.ShapeLength()))
    if any(extent < -1 for extent in shape):
        raise ModelError(f"from_tflite: tensor {name!r} has the negative extent {min(shape)}")
    shape = tuple(1 if extent == -1 else extent for extent in shape)
    dtype = _DTYPES.get(kind, "")
    raw = _buffer(model, tensor.Buffer())
    if raw is not None and not dtype:
        raise ConversionError(
            f"from_tflite: tensor {name!r} has elements of type {_TYPE_NAMES.get(kind, kind)}, which are not supported"
        )
    if raw is None:  # a constant without elements has no buffer of its own; what a node computes takes its place
        data = np.zeros(shape, dtype) if 0 in shape and dtype else None
    else:
        data = _data(name, raw, shape, dtype, tensor.Sparsity())
    return TensorInfo(name, shape, dtype, _quantization(tensor.Quantization()), data, bool(tensor.IsVariable()))


def _buffer(model: tflite.Model, number: int) -> Array | None:
    if number >= model.BuffersLength():
        raise ModelError(f"from_tflite: buffer {number} is referenced, but there are {model.BuffersLength():,}")
    buffer = model.Buffers(number)
    return buffer.DataAsNumpy() if buffer.DataLength() else None


def _data(
    name: str, raw: Array, shape: tuple[int, ...], dtype: str, sparsity: tflite.SparsityParameters | None
) -> Array:
    """Return the elements of a tensor, densifying sparse ones."""
    if sparsity is None:
        return _elements(name, raw, shape, dtype)
    stored = _elements(name, raw, (raw.size // np.dtype(dtype).itemsize,), dtype)
    with naming_node("from_tflite", f"tensor {name!r}"):
        return dense(stored, shape, sparsity)


def _elements(name: str, raw: Array, shape: tuple[int, ...], dtype: str) -> Array:
    claimed = math.prod(shape) * np.dtype(dtype).itemsize
    if claimed != raw.size:
        raise ModelError(
            f"from_tflite: tensor {name!r} of shape {shape} and data type {dtype} needs {claimed:,} bytes, but its "
            f"buffer has {raw.size:,}"
        )
    return raw.view(dtype).reshape(shape)


def _quantization(given: tflite.QuantizationParameters | None) -> Quantization | None:
    if given is None or not given.ScaleLength():
        return None
    scale = np.asarray(given.ScaleAsNumpy(), "float32")
    zero = np.asarray(given.ZeroPointAsNumpy() if given.ZeroPointLength() else np.zeros(len(scale)), "int64")
    if len(zero) not in (1, len(scale)):
        raise ModelError(f"from_tflite: there are {len(scale)} scales, but {len(zero)} zero points")
    return Quantization(scale, np.broadcast_to(zero, scale.shape).astype("int32"), given.QuantizedDimension())
