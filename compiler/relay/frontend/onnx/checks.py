"""Validation of nodes against the schemas of their operators."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from compiler.relay.frontend.onnx.bodies import schema_of
from compiler.relay.frontend.shared.errors import ModelError

_KIND = onnx.AttributeProto.AttributeType.Name
_INT_FOR_FLOAT = (onnx.AttributeProto.INT, onnx.AttributeProto.FLOAT)


def check_node(node: onnx.NodeProto, domain: str, opset: int) -> None:
    """Validate a node against the schema of its operator, if there is one."""
    schema = schema_of(domain, node.op_type, opset)
    if schema is None:
        return
    _check_count("inputs", len(node.input), schema.min_input, schema.max_input)
    _check_count("outputs", len(node.output), schema.min_output, schema.max_output)
    _check_given(node, schema.inputs)
    for attr in node.attribute:
        known = schema.attributes.get(attr.name)
        if known is None or attr.ref_attr_name or attr.type == int(known.type.value):
            continue
        if (attr.type, int(known.type.value)) != _INT_FOR_FLOAT:
            raise ModelError(f"attribute {attr.name!r} must be of kind {known.type.name}, got {_KIND(attr.type)}")


def _check_given(node: onnx.NodeProto, formal: Sequence[onnx.defs.OpSchema.FormalParameter]) -> None:
    """Check that no required input is missing."""
    for i, name in enumerate(node.input):
        declared = formal[min(i, len(formal) - 1)]
        if not name and declared.option != onnx.defs.OpSchema.FormalParameterOption.Optional:
            raise ModelError(f"input {i} ({declared.name}) must be given")


def _check_count(what: str, got: int, least: int, most: int) -> None:
    if not least <= got <= most:
        wanted = str(least) if least == most else f"{least} to {most}" if most < 1000 else f"at least {least}"
        raise ModelError(f"it must have {wanted} {what}, got {got}")
