"""Nodes of an ONNX graph, with converted inputs and decoded attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, cast, overload

import onnx

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.reader import tensor_array
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import Array, known

Attributes: TypeAlias = dict[str, Any]
T = TypeVar("T")

_KINDS = onnx.AttributeProto


def operands(inputs: Sequence[RelayExpr | None]) -> Sequence[RelayExpr]:
    """Return inputs as nodes hold them: those that the operator's schema requires are given, others may be None."""
    return cast("Sequence[RelayExpr]", inputs)


class RunGraph(Protocol):
    """What converts a subgraph."""

    def __call__(
        self, graph: onnx.GraphProto, values: Sequence[RelayExpr], named: Callable[[RelayExpr], RelayExpr] | None = None
    ) -> list[RelayExpr]:
        """Return the outputs of a subgraph."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operator node.

    Converters ask :meth:`input` for an optional input, which is None if omitted.  Attributes that are tensors are
    arrays, those that are graphs protos.  Unused optional outputs have no name.  ``run(graph, values, named)`` converts
    a subgraph with expressions for its inputs, and returns its outputs; what it reads from outside is what ``named``
    returns for it.
    """

    operator: str
    inputs: Sequence[RelayExpr]
    attributes: Attributes
    outputs: Sequence[str]
    opset: int
    run: RunGraph

    def take(self, count: int) -> list[RelayExpr | None]:
        """Return the first ``count`` inputs, None for omitted ones."""
        return [self.input(i) for i in range(count)]

    def input(self, index: int) -> RelayExpr | None:
        """Return an input, or None if it is omitted."""
        return self.inputs[index] if index < len(self.inputs) else None

    @overload
    def attr(self, name: str) -> Any: ...
    @overload
    def attr(self, name: str, default: T) -> T: ...
    def attr(self, name: str, default: object = None) -> object:
        """Return an attribute, or the default if it is not given."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """Return an attribute that must be given."""
        if name not in self.attributes:
            raise ModelError(f"attribute {name!r} must be given")
        return self.attributes[name]

    def value(self, index: int, what: str) -> Array | None:
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

    def array(self, index: int, what: str) -> Array:
        """Return the value of an input that must be given and constant."""
        value = self.value(index, what)
        if value is None:
            raise ModelError(f"input {index} ({what}) must be given")
        return value

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


def attribute_value(attr: onnx.AttributeProto, bindings: Attributes) -> Any:
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
