"""Function bodies by which the ONNX standard defines operators, which then need no converter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.errors import UnsupportedOperatorError
from compiler.relay.frontend.onnx.node import Attributes, attribute_value
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import type_of


@dataclass(frozen=True, slots=True)
class Body:
    """A function body to convert instead of a node."""

    function: onnx.FunctionProto
    defaults: Attributes


def schema_of(domain: str, name: str, opset: int) -> Any:
    """Return the schema of an operator, or None."""
    try:
        return defs.get_schema(name, opset, domain)
    except defs.SchemaError:
        return None


def has_body(domain: str, name: str, opset: int) -> bool:
    """Return whether the standard defines an operator by a function body."""
    schema = schema_of(domain, name, opset)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def fixed_body(domain: str, name: str, opset: int) -> onnx.FunctionProto | None:
    """Return the context-independent function body of an operator, or None."""
    schema = schema_of(domain, name, opset)
    if schema is None or not schema.has_function:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(schema.get_function_with_opset_version(_newest(schema.function_opset_versions, opset)))
    return function


def body_of(
    node: onnx.NodeProto, domain: str, opset: int, inputs: Sequence[RelayExpr | None], attributes: Attributes
) -> Body:
    """Return the function body of a node, in whose attributes those of the enclosing function are resolved."""
    schema = schema_of(domain, node.op_type, opset)
    if schema is None or not (schema.has_function or schema.has_context_dependent_function):
        raise UnsupportedOperatorError({node.op_type: [node.name or next(iter(node.output), "")]})
    function = fixed_body(domain, node.op_type, opset) or onnx.FunctionProto()
    if not schema.has_function and schema.has_context_dependent_function:
        version = _newest(schema.context_dependent_function_opset_versions, opset)
        types = [_type_proto(value) for value in inputs]
        made = schema.get_context_dependent_function_with_opset_version(version, _resolved(node, attributes), types)
        function.ParseFromString(made)
    if not function.node:
        raise ConversionError("this combination of inputs and attributes is not supported")
    defaults = {name: attribute_value(attr.default_value, {}) for name, attr in schema.attributes.items()}
    return Body(function, {name: value for name, value in defaults.items() if value is not None})


def _resolved(node: onnx.NodeProto, attributes: Attributes) -> bytes:
    """Resolve references to attributes of the enclosing function."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attr in node.attribute:
        if not attr.ref_attr_name:
            copy.attribute.append(attr)
        elif attr.name in attributes:
            value = attributes[attr.name]
            tensor = attr.type == onnx.AttributeProto.TENSOR
            value = onnx.numpy_helper.from_array(value) if tensor else value
            copy.attribute.append(helper.make_attribute(attr.name, value, attr_type=attr.type))
    encoded: bytes = copy.SerializeToString()
    return encoded


def _newest(versions: Sequence[int], opset: int) -> int:
    return max((v for v in versions if v <= opset), default=min(versions))


def _type_proto(value: RelayExpr | None) -> bytes:
    if value is None:
        return b""
    t = type_of(value)
    element = _ELEMENTS.get(t.dtype) or helper.np_dtype_to_tensor_dtype(np.dtype(t.dtype))
    dims = [d if isinstance(d, int) else None for d in t.dims]
    encoded: bytes = helper.make_tensor_type_proto(element, dims).SerializeToString()
    return encoded


_ELEMENTS = {"bfloat16": onnx.TensorProto.BFLOAT16}
