"""Nodes of an ONNX graph, with converted inputs and decoded attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import onnx

from compiler.relay.frontend.onnx.reader import tensor_array
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import known

_KINDS = onnx.AttributeProto


@dataclass(frozen=True, slots=True)
class Node:
    """An operator node.

    Attributes
    ----------
    inputs : list of Expr or None
        None for omitted optional inputs.
    attributes : dict of str to object
        Tensors as NumPy arrays, graphs as protos.
    outputs : list of str
        The names of outputs; empty for unused optional ones.
    opset : int
        The operator set version of the node.
    run : callable
        ``run(graph, values)`` converts a subgraph with expressions for its inputs, and returns its outputs.
    """

    operator: str
    inputs: Sequence[Any]
    attributes: dict[str, Any]
    outputs: Sequence[str]
    opset: int
    run: Callable[[Any, Sequence[Any]], list[Any]]

    def take(self, count: int) -> list[Any]:
        """Return the first ``count`` inputs, None for omitted ones."""
        return [self.input(i) for i in range(count)]

    def input(self, index: int) -> Any:
        """Return an input, or None if it is omitted."""
        return self.inputs[index] if index < len(self.inputs) else None

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or the default if it is not given."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """Return an attribute that must be given."""
        if name not in self.attributes:
            raise ModelError(f"attribute {name!r} must be given")
        return self.attributes[name]

    def value(self, index: int, what: str) -> Any:
        """Return the value of an input that must be constant; None if it is omitted."""
        given = self.input(index)
        if given is None:
            return None
        constant_value = known(given)
        if constant_value is None:
            raise ConversionError(
                f"input {index} ({what}) must be known while importing, but is an input or computed from one"
            )
        return constant_value

    def ints(self, index: int, what: str) -> list[int] | None:
        """Return the integers of an input that must be constant; None if it is omitted."""
        numbers = self.value(index, what)
        return None if numbers is None else [int(v) for v in numbers.reshape(-1)]

    def ints_or_attr(self, index: int, name: str) -> list[int] | None:
        """Return integers that are an attribute in older operator sets and an input in newer ones."""
        return list(self.attributes[name]) if name in self.attributes else self.ints(index, name)

    def wants(self, index: int) -> bool:
        """Return whether an optional output is used."""
        return index < len(self.outputs) and bool(self.outputs[index])


def attribute_value(attr: onnx.AttributeProto, bindings: dict[str, Any]) -> Any:
    """Decode an attribute proto; ``bindings`` are the attributes of the enclosing function."""
    if attr.ref_attr_name:
        return bindings.get(attr.ref_attr_name)
    if attr.type == _KINDS.TENSOR:
        return tensor_array(attr.t)
    if attr.type == _KINDS.STRING:
        return attr.s.decode("utf-8", "replace")
    if attr.type == _KINDS.STRINGS:
        return [s.decode("utf-8", "replace") for s in attr.strings]
    if attr.type in (_KINDS.SPARSE_TENSOR, _KINDS.SPARSE_TENSORS):
        raise ConversionError(f"attribute {attr.name!r} holds a {_KINDS.AttributeType.Name(attr.type)}")
    value = onnx.helper.get_attribute_value(attr)
    return list(value) if attr.type in (_KINDS.INTS, _KINDS.FLOATS, _KINDS.GRAPHS) else value
