"""``relay.frontend.from_onnx``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.expr import Var
from compiler.relay.frontend.onnx import converters as _converters
from compiler.relay.frontend.onnx.config import checked_config, converting
from compiler.relay.frontend.onnx.errors import UnknownInputError
from compiler.relay.frontend.onnx.importer import Importer
from compiler.relay.frontend.onnx.integers import remembering_integers
from compiler.relay.frontend.onnx.partial import remembering
from compiler.relay.frontend.onnx.reader import (
    OLDEST_OPSET,
    ModelSource,
    dtype_name,
    only_dequantized,
    opset_imports,
    read_model,
    tensor_array,
)
from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import constant, keeping
from compiler.relay.frontend.shared.open_dims import naming_open_dims
from compiler.relay.frontend.shared.parameters import is_weight, module_of
from compiler.relay.frontend.shared.telling import tell_imported, tell_read
from compiler.relay.frontend.span_filling import begin_import
from compiler.relay.inference import infer_expr
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.runtime.arrays.ndarray import NDArray


def save_named(proto: onnx.ModelProto, path: str | os.PathLike[str]) -> None:
    """Save a copy of a model in which unnamed nodes are named after their first output."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for node in copy.graph.node:
        node.name = node.name or next(iter(filter(None, node.output)), "")
    try:
        with open(path, "wb") as file:
            file.write(copy.SerializeToString())
    except OSError as exc:
        raise ModelError(f"from_onnx: {os.fspath(path)!r} cannot be written: {exc.strerror}") from None


_VOCABULARY = (str(Path(__file__).parent.parent),)

assert _converters  # registers the converters


def from_onnx(
    model: ModelSource,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, object] | None = None,
    export_node_renamed_model_path: str | os.PathLike[str] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert an ONNX model to a Relay module.

    Raises ModelError if the model cannot be read or contradicts itself. Raises UnsupportedOperatorError if operators
    are not supported; names all of them, with their nodes. Raises ConversionError if a node cannot be converted; names
    the node.

    Parameters
    ----------
    model : onnx.ModelProto, bytes, str or path
        A model, the contents of its file, or its path.
    shape : mapping of str to sequence of int, optional
        Shapes of inputs that the model does not specify; symbolic dimensions may be given by name, too.  Unspecified
        extents become ``relay.Any()``.
    dtype : str or mapping of str to str
        Data types of inputs that differ from the model's; a single one applies to inputs without a data type.
    opset : int, optional
        The operator set version, if the model states the wrong one.
    freeze_params : bool
        Whether the weights become constants of the module instead of parameters of ``main``.
    convert_config : mapping of str to object, optional
        Options of the conversion: see
        :class:`~compiler.relay.frontend.onnx.config.ConvertConfig`.
    export_node_renamed_model_path : str or path, optional
        A path to which the model is saved with names for all nodes, as printed in spans.

    Returns
    -------
    mod : IRModule
    params : dict of str to NDArray
        The weights by name, frozen or not; ``relay.build`` uses those that are parameters of ``main``.
    """
    config = checked_config(convert_config)
    proto = read_model(model)
    opsets = opset_imports(proto, _checked_opset(opset))
    if export_node_renamed_model_path is not None:
        save_named(proto, export_node_renamed_model_path)
    tell_read("ONNX", proto)
    begin_import()
    span = mint("graph", proto.graph.name or "model", mint_use("from_onnx", _VOCABULARY))
    with derived_from(span):
        importer = Importer(proto.functions, opsets, span)
        importer.check_operators(proto.graph)
        small = only_dequantized(proto.graph)
        weights = {t.name: constant(tensor_array(t, t.name in small)) for t in proto.graph.initializer}
        inputs = _inputs(proto.graph, dict(shape or {}), dtype, set(weights))
        kept = {} if freeze_params else {w: name for name, w in weights.items() if is_weight(w)}
        named = naming_open_dims(_open_dims(proto.graph, inputs))
        with keeping(frozenset(kept)), remembering(), remembering_integers(), converting(config), named:
            outputs = importer.graph(proto.graph, {**weights, **inputs})
        mod, params = module_of(list(inputs.values()), outputs, kept)
        held = {name: w.data for name, w in weights.items() if is_weight(w)}
        tell_imported(mod, held)
        frozen = held if freeze_params else {}
        return mod, {**frozen, **params}


def _checked_opset(opset: int | None) -> int | None:
    if opset is None:
        return None
    if not isinstance(opset, int) or isinstance(opset, bool) or opset < 1:
        raise ArgumentError(f"from_onnx: opset must be a positive int, got {show(opset)}")
    if opset < OLDEST_OPSET:
        raise ArgumentError(f"from_onnx: opset must be at least {OLDEST_OPSET}, got {opset}")
    return opset


def _inputs(
    graph: onnx.GraphProto, shapes: Mapping[str, object], dtype: str | Mapping[str, str], known: set[str]
) -> dict[str, Var]:
    declared = {item.name: item for item in graph.input if item.name not in known}
    symbols = {d.dim_param for item in declared.values() for d in item.type.tensor_type.shape.dim if d.dim_param}
    types = dict(dtype) if isinstance(dtype, Mapping) else {}
    for what, given, allowed in (("shape", shapes, {*declared, *symbols}), ("dtype", types, {*declared})):
        if strange := sorted(set(given) - allowed):
            names = ", ".join(repr(name) for name in declared) or "none"
            raise UnknownInputError(
                f"from_onnx: {what} names {strange[0]!r}, which is not an input of the model; inputs: {names}"
            )
    default = dtype if isinstance(dtype, str) else "float32"
    variables = {name: _input(item, shapes, types.get(name), default) for name, item in declared.items()}
    for value in variables.values():
        infer_expr(value)
    return variables


def _open_dims(graph: onnx.GraphProto, inputs: Mapping[str, Var]) -> dict[Var, list[tuple[Dim, str]]]:
    """Return the open extents of inputs, with the keys by which ``shape`` takes them."""
    found: dict[Var, list[tuple[Dim, str]]] = {}
    for item in graph.input:
        if (var := inputs.get(item.name)) is not None and isinstance(var.checked_type, TensorType):
            declared = item.type.tensor_type.shape.dim
            names = [d.dim_param or item.name for d in declared] or [item.name] * len(var.checked_type.dims)
            pairs = zip(var.checked_type.dims, names, strict=True)
            found[var] = [(dim, repr(name)) for dim, name in pairs if isinstance(dim, AnyDim)]
    return found


def _input(item: onnx.ValueInfoProto, shapes: Mapping[str, object], dtype: str | None, default: str) -> Var:
    what = f"input {item.name!r}"
    kind = item.type.WhichOneof("value")
    if kind not in ("tensor_type", None):
        raise ModelError(f"from_onnx: {what} is a {kind.removesuffix('_type')}; only tensors are supported")
    tensor = item.type.tensor_type
    dtype = dtype or (dtype_name(tensor.elem_type, f"from_onnx: {what}") if tensor.elem_type else default)
    dims = [_dim(d, shapes, what) for d in tensor.shape.dim]
    given = shapes.get(item.name)
    if given is None and kind is not None and not tensor.HasField("shape"):
        raise ModelError(f"from_onnx: {what} has no shape; give it: shape={{{item.name!r}: (…)}}")
    if given is not None:
        dims = _given_shape(given, dims if tensor.HasField("shape") else None, what)
    return Var(item.name, TensorType(tuple(dims), dtype))


def _dim(dim: onnx.TensorShapeProto.Dimension, shapes: Mapping[str, object], what: str) -> Dim:
    if dim.WhichOneof("value") == "dim_value":
        if dim.dim_value < -1:
            raise ModelError(f"from_onnx: {what} has the negative extent {dim.dim_value}")
        return AnyDim() if dim.dim_value == -1 else int(dim.dim_value)  # some exporters write a dynamic extent as -1
    extent = shapes.get(dim.dim_param) if dim.dim_param else None
    return AnyDim() if extent is None else _extent(extent, what)


def _given_shape(given: object, declared: list[Dim] | None, what: str) -> list[Dim]:
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(f"from_onnx: shape of {what} must be a tuple of ints, got {show(given)}")
    if declared == [] and tuple(given) == (1,):
        return [1]  # one element, as programs feed scalars
    if declared is not None and len(given) != len(declared):
        raise ArgumentError(
            f"from_onnx: {what} has {len(declared)} dimensions, shape gives {len(given)}: {show(given)}"
        )
    for own, extent in zip(declared or [], given, strict=False):
        if isinstance(own, int) and isinstance(extent, int) and extent >= 0 and own not in (extent, 0):
            raise ArgumentError(f"from_onnx: {what} has extent {own} where shape gives {extent}: {show(tuple(given))}")
    return [extent if isinstance(extent, AnyDim) else _extent(extent, what) for extent in given]


def _extent(value: Any, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
        raise ArgumentError(f"from_onnx: extents of {what} must be non-negative ints, got {show(value)}")
    return int(value)
