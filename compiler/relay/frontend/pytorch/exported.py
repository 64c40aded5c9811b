"""The importer of exported programs, which converts call by call."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import torch

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.origin import Span, derived_from
from compiler.relay.frontend.pytorch.dtypes import dtype_name
from compiler.relay.frontend.pytorch.inputs import Described, Infos, as_value, input_variables
from compiler.relay.frontend.pytorch.numbers import are_plain
from compiler.relay.frontend.pytorch.registry import Argument, Convert, apply, find
from compiler.relay.frontend.pytorch.script import called, type_name
from compiler.relay.frontend.pytorch.tensors import settled_value
from compiler.relay.frontend.pytorch.values import TorchValue, item_of
from compiler.relay.frontend.pytorch.weights import Weights, is_count, tensor_constant
from compiler.relay.frontend.shared.errors import ConversionError, UnsupportedOperatorError, naming_node
from compiler.relay.frontend.span_filling import mint_layer

Values: TypeAlias = "dict[torch.fx.Node, TorchValue]"


def import_program(program: torch.export.ExportedProgram, infos: Infos, custom: Mapping[str, Convert], default: str,
                   weights: Weights, span: Span) -> tuple[list[Described], TorchValue]:  # fmt: skip
    """Convert an exported program; return its input variables and its result."""
    functional = program if _is_functional(program, custom) else program.run_decompositions({})
    _check_operators(functional.graph, custom)
    values, given = _weights_and_inputs(functional, weights)
    dtypes = [_dtype_of(node) for node in given]
    inputs = input_variables(infos, [node.name for node in given], dtypes, default)
    if any(isinstance(described, dict) for described in inputs):
        raise ArgumentError(
            "from_pytorch: in an exported program the tensors of a dict are separate inputs: "
            f"{', '.join(node.name for node in given)}"
        )
    values.update(zip(given, map(as_value, inputs), strict=True))
    for node in functional.graph.nodes:
        if node.op == "call_function":
            values[node] = _call(node, values, custom, span)
    return inputs, _results(functional, values)


_OF_PYTHON = {
    operator.add: "aten::add",
    operator.sub: "aten::sub",
    operator.mul: "aten::mul",
    operator.truediv: "aten::div",
    operator.floordiv: "aten::floordiv",
    operator.mod: "aten::remainder",
    operator.neg: "aten::neg",
    operator.eq: "aten::eq",
    operator.ne: "aten::ne",
    operator.lt: "aten::lt",
    operator.le: "aten::le",
    operator.gt: "aten::gt",
    operator.ge: "aten::ge",
    torch.sym_float: "aten::Float",
    torch.sym_int: "aten::Int",
    torch.sym_max: "prim::max",
    torch.sym_min: "prim::min",
}
"""Python functions on extents, and the operators that replace them for dynamic extents."""


def _is_functional(program: torch.export.ExportedProgram, custom: Mapping[str, Convert]) -> bool:
    """Return whether no operator is in-place and all have converters, so that no decomposition is needed.

    Decomposition takes most of the time of an import.
    """
    if any(spec.kind.name != "USER_OUTPUT" for spec in program.graph_signature.output_specs):
        return False
    for node in program.graph.nodes:
        if node.op not in ("placeholder", "output", "call_function"):
            return False
        if node.op == "call_function" and node.target is not operator.getitem and node.target not in _OF_PYTHON:
            if not isinstance(node.target, torch._ops.OpOverload) or node.target._schema.is_mutable:
                return False
            name = operator_name(node.target)
            if name not in custom and find(name) is None:
                return False
    return True


def _check_operators(graph: torch.fx.Graph, custom: Mapping[str, Convert]) -> None:
    missing: dict[str, list[str]] = {}
    for node in graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            name = operator_name(node.target)
            if name not in custom and find(name) is None:
                missing.setdefault(name, []).append(called(layer_of(node), _place(node)))
    if missing:
        raise UnsupportedOperatorError("from_pytorch", missing)


def operator_name(target: torch.fx.node.Target) -> str:
    """Return the name of the operator that is called, in the words of the registry."""
    if target in _OF_PYTHON:
        return _OF_PYTHON[target]
    return str(target._schema.name) if isinstance(target, torch._ops.OpOverload) else str(target)


def _weights_and_inputs(program: torch.export.ExportedProgram, weights: Weights) -> tuple[Values, list[torch.fx.Node]]:
    """Split the placeholders into tensors of the model, with their values, and inputs."""
    values: Values = {}
    inputs: list[torch.fx.Node] = []
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    tensors = {**program.state_dict, **program.constants}
    for node, spec in zip(placeholders, program.graph_signature.input_specs, strict=True):
        kind = spec.kind.name
        if kind == "USER_INPUT":
            inputs.append(node)
        elif kind == "CONSTANT_TENSOR" or (kind == "BUFFER" and is_count(tensors[spec.target])):
            values[node] = tensor_constant(tensors[spec.target])
        elif kind in ("PARAMETER", "BUFFER"):
            values[node] = weights.variable(spec.target, spec.target, tensors[spec.target])
        else:
            raise ArgumentError(f"from_pytorch: input {node.name!r} of kind {kind} is not supported")
    return values, inputs


def _dtype_of(node: torch.fx.Node) -> str | None:
    value = node.meta.get("val")
    return dtype_name(value.dtype) if isinstance(value, torch.Tensor) else None


class _Value:
    """A wrapper of a node's value that ``torch.fx`` does not look into."""

    def __init__(self, value: TorchValue) -> None:
        self.value = value


def _call(node: torch.fx.Node, values: Values, custom: Mapping[str, Convert], span: Span) -> TorchValue:
    given = torch.fx.node.map_arg((node.args, node.kwargs), lambda other: _Value(values[other]))
    args, kwargs = [_plain(a) for a in given[0]], {name: _plain(a) for name, a in given[1].items()}
    if node.target is operator.getitem:
        return item_of(args[0], args[1])
    name, scope, layer = operator_name(node.target), _scope(node), layer_of(node)
    made_of = mint_layer(f"{name} {scope}".strip(), layer, span)
    with derived_from(made_of), naming_node("from_pytorch", f"node {called(layer, _place(node))} ({name})"):
        if name in custom:
            return settled_value(custom[name](args, [type_name(a) for a in args]))
        if node.target in _OF_PYTHON and are_plain(args):
            number: TorchValue = node.target(*args)
            return number
        convert = find(name)
        assert convert is not None  # checked by _check_operators
        arguments = _arguments(node.target, args, kwargs)
        if name in ("aten::as_strided", "aten::as_strided_copy"):
            arguments.append(Argument("memory", node.args[0].meta["val"].stride()))
        return settled_value(apply(convert, arguments))


def _plain(argument: TorchValue | _Value) -> TorchValue:
    """Replace nodes within an argument by their values."""
    if isinstance(argument, _Value):
        return argument.value
    if isinstance(argument, (list, tuple)):
        return [_plain(item) for item in argument]
    return argument


def _arguments(
    target: torch.fx.node.Target, args: Sequence[TorchValue], kwargs: Mapping[str, TorchValue]
) -> list[Argument]:
    """Return the arguments of a call by schema names, including defaults."""
    if target in _OF_PYTHON:
        return [Argument(name, arg) for name, arg in zip(("self", "other"), args, strict=False)]
    arguments = []
    for i, formal in enumerate(target._schema.arguments):
        if i < len(args):
            arguments.append(Argument(formal.name, args[i]))
        elif formal.name in kwargs:
            arguments.append(Argument(formal.name, kwargs[formal.name]))
        elif formal.has_default_value():
            arguments.append(Argument(formal.name, formal.default_value, is_default=True))
        else:
            raise ConversionError(f"its argument {formal.name} is missing")
    return arguments


def _scope(node: torch.fx.Node) -> str:
    """Return the module path of a node."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]).removeprefix("L['self']").lstrip(".") if stack else ""


def layer_of(node: torch.fx.Node) -> str:
    """Return the name of a node with its path in the model: ``layer1.0/relu_3``."""
    return "/".join(filter(None, (_scope(node), node.name)))


def _place(node: torch.fx.Node) -> str:
    """Return the innermost line of the user's program that created a node."""
    lines = [line.strip() for line in str(node.meta.get("stack_trace") or "").splitlines() if "File " in line]
    own = [line for line in lines if "site-packages/torch" not in line]
    if not own:
        return ""
    _, path, rest = own[-1].split('"', 2)
    return f"{path}:{rest.split(',')[1].removeprefix(' line ')}"


def _results(program: torch.export.ExportedProgram, values: Values) -> TorchValue:
    """Return the user outputs, without mutated buffers."""
    (outputs,) = next(node for node in program.graph.nodes if node.op == "output").args
    specs = program.graph_signature.output_specs
    own = [out for out, spec in zip(outputs, specs, strict=True) if spec.kind.name == "USER_OUTPUT"]
    results = [values[out] if isinstance(out, torch.fx.Node) else out for out in own]
    return results[0] if len(results) == 1 and isinstance(results[0], RelayExpr) else results
