"""A node of an ONNX graph as its converter sees it: inputs that are expressions, attributes that are values."""

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
    """One application of an operator.

    Attributes
    ----------
    operator : str
    inputs : list of Expr or None
        None stands for an optional input that is left out.
    attributes : dict of str to object
        Tensors as NumPy arrays, graphs as protos.
    outputs : list of str
        Names; empty for an optional output that nobody wants.
    opset : int
        The version of the operator set that the node is written in.
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
        """Return the first ``count`` inputs; those left out are None."""
        return [self.input(i) for i in range(count)]

    def input(self, index: int) -> Any:
        """Return an input, or None if it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or the default where it is not given."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """Return an attribute that must be given."""
        if name not in self.attributes:
            raise ModelError(f"attribute {name!r} must be given")
        return self.attributes[name]

    def value(self, index: int, what: str) -> Any:
        """Return the value of an input that decides about shapes, None if it is left out.

        Raises
        ------
        ConversionError
            If only the running program would know it.
        """
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
        """Return the numbers of an input that decides about shapes, None if it is left out."""
        numbers = self.value(index, what)
        return None if numbers is None else [int(v) for v in numbers.reshape(-1)]

    def ints_or_attr(self, index: int, name: str) -> list[int] | None:
        """Return numbers that older operator sets have as an attribute and newer ones as an input."""
        return list(self.attributes[name]) if name in self.attributes else self.ints(index, name)

    def wants(self, index: int) -> bool:
        """Return whether an optional output is used."""
        return index < len(self.outputs) and bool(self.outputs[index])


def attribute_value(attr: onnx.AttributeProto, bindings: dict[str, Any]) -> Any:
    """Return what an attribute's proto holds; ``bindings`` are the attributes of the function around the node."""
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
