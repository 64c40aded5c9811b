"""Operators of the domain ``com.microsoft``: fused and quantized operators of ONNX Runtime."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter, find
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import dtype_of, rank_of, settled

__all__ = ["DOMAIN", "as_standard", "microsoft", "with_rank"]

DOMAIN = "com.microsoft"
_OPSET = 17
"""The operator set version that the converters of fused operators use."""


def microsoft(names: str, inputs: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the converter of operators.

    Parameters
    ----------
    inputs : str
        The names of their inputs, separated by spaces; a question mark marks optional inputs, a star a variadic last
        one.  The function takes the node and each input, None if omitted.
    """
    words = inputs.split()
    repeated = words[-1].endswith("*")
    formal = words[:-1] if repeated else words

    def enter(convert: Callable[..., Any]) -> Callable[..., Any]:
        def checked(node: Node) -> Any:
            if len(node.inputs) > len(formal) and not repeated:
                raise ModelError(f"it must have at most {len(formal)} inputs, got {len(node.inputs)}")
            for i, name in enumerate(formal):
                if node.input(i) is None and not name.endswith("?"):
                    raise ModelError(f"input {i} ({name}) must be given")
            return convert(node, *node.take(len(formal)), *node.inputs[len(formal) :])

        converter(*names.split(), domain=DOMAIN)(checked)
        return convert

    return enter


def as_standard(operator: str, node: Node, *inputs: RelayExpr | None, opset: int = _OPSET) -> Any:
    """Apply a standard operator with the attributes of a node to other inputs."""
    convert = find("", operator, opset)
    assert convert is not None, operator
    plain = dataclasses.replace(node, operator=operator, inputs=inputs, outputs=node.outputs[:1], opset=opset)
    result = settled(convert)(plain)
    return result[0] if isinstance(result, list) else result


def with_rank(x: RelayExpr, ranks: tuple[int, ...], name: str) -> RelayExpr:
    """Return an input, checking its rank."""
    if rank_of(x) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ConversionError(f"input {name} must have {wanted} dimensions, got {rank_of(x)} of {dtype_of(x)}")
    return x
