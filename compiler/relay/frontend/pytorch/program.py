"""Conversion of scripted and exported models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.origin import Span
from compiler.relay.expr import Tuple
from compiler.relay.frontend.pytorch import converters as _converters
from compiler.relay.frontend.pytorch.dtypes import dtype_name, tensor, using_float
from compiler.relay.frontend.pytorch.exported import import_program
from compiler.relay.frontend.pytorch.inputs import Described, Infos, input_variables, parameters
from compiler.relay.frontend.pytorch.quantization import keeping_scales
from compiler.relay.frontend.pytorch.reader import ModelSource, input_infos_of, read_model
from compiler.relay.frontend.pytorch.registry import Convert
from compiler.relay.frontend.pytorch.script import Importer, inlined
from compiler.relay.frontend.pytorch.values import TorchValue
from compiler.relay.frontend.pytorch.weights import Weights
from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import settle
from compiler.relay.frontend.shared.telling import tell_created, tell_imported, tell_read
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.runtime.arrays.ndarray import NDArray

assert _converters is not None  # registers the converters


def convert_model(model: ModelSource, infos: Infos | None, custom: Mapping[str, Convert], default: str, friendly: bool,
                  keep_quantized: bool, span: Span) -> tuple[IRModule, dict[str, NDArray]]:  # fmt: skip
    """Convert a model to a module and its weights; see :func:`from_pytorch`."""
    default = dtype_name(default)
    model = read_model(model)
    tell_read("PyTorch", model)
    infos = input_infos_of(model) if infos is None else infos
    weights = Weights(friendly, keep_quantized)
    with using_float(default), keeping_scales():
        if isinstance(model, torch.jit.ScriptModule):
            inputs, result = _script(model, infos, custom, default, weights, span)
        else:
            inputs, result = import_program(model, infos, custom, default, weights, span)
        body = as_expression(result)
    mod = infer_module(IRModule({"main": Function((*parameters(inputs), *weights.variables), body)}))
    tell_created(mod)
    tell_imported(mod, weights.by_path())
    return mod, weights.params


def as_expression(value: TorchValue) -> RelayExpr:
    """Convert the result of a model to an expression, with tuples for lists and tuples."""
    if isinstance(value, dict):
        return as_expression(tuple(value.values()))
    if isinstance(value, (list, tuple)):
        fields = tuple(as_expression(v) for v in value if v is not None)
        return fields[0] if len(fields) == 1 else settle(Tuple(fields))
    if isinstance(value, (RelayExpr, bool, int, float)):
        return tensor(value)
    raise ModelError(f"from_pytorch: the model returns {show(value)}, which is not a tensor")


def _script(model: torch.jit.ScriptModule, infos: Infos, custom: Mapping[str, Convert], default: str, weights: Weights,
            span: Span) -> tuple[list[Described], TorchValue]:  # fmt: skip
    graph = inlined(model)
    importer = Importer(model, weights, custom, span)
    _module, *given = graph.inputs()
    names = [value.debugName().split(".")[0] for value in given]
    inputs = input_variables(infos, names, [_traced_dtype(value) for value in given], default)
    _check_dicts(names, given, inputs)
    return inputs, importer.graph(graph, inputs)


def _check_dicts(names: Sequence[str], given: Sequence[torch.Value], inputs: Sequence[Described]) -> None:
    for name, value, described in zip(names, given, inputs, strict=True):
        is_dict = value.type().kind() == "DictType"
        if is_dict and not isinstance(described, dict):
            raise ArgumentError(
                f"from_pytorch: input {name!r} of the model is a dict: give the shapes of its tensors by their keys, "
                f"such as ({name!r}, {{'key': (1, 3)}})"
            )
        if isinstance(described, dict) and not is_dict:
            raise ArgumentError(f"from_pytorch: input_infos gives a dict for input {name!r}, which is {value.type()}")


def _traced_dtype(value: torch.Value) -> str | None:
    """Return the traced data type of an input."""
    kind = value.type()
    dtype = kind.dtype() if kind.kind() == "TensorType" else None
    return None if dtype is None else dtype_name(dtype)
