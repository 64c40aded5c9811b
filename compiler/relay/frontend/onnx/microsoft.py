"""Operators of the domain ``com.microsoft``: fused and quantized operators of ONNX Runtime."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node, operands
from compiler.relay.frontend.onnx.registry import Results, converter, find
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import dtype_of, rank_of, settle

DOMAIN = "com.microsoft"
_OPSET = 17
"""The operator set version that the converters of fused operators use."""


Fused = TypeVar("Fused", bound=Callable[..., Results])


def microsoft(names: str, inputs: str) -> Callable[[Fused], Fused]:
    """Register a function of a node and each of its inputs as the converter of operators.

    The names of inputs are separated by spaces; a question mark marks optional ones, a star a variadic last one.
    """
    words = inputs.split()
    repeated = words[-1].endswith("*")
    formal = words[:-1] if repeated else words

    def enter(convert: Fused) -> Fused:
        def checked(node: Node) -> Results:
            if len(node.inputs) > len(formal) and not repeated:
                raise ModelError(f"it must have at most {len(formal)} inputs, got {len(node.inputs)}")
            for i, name in enumerate(formal):
                if node.input(i) is None and not name.endswith("?"):
                    raise ModelError(f"input {i} ({name}) must be given")
            return convert(node, *node.take(len(formal)), *node.inputs[len(formal) :])

        converter(*names.split(), domain=DOMAIN)(checked)
        return convert

    return enter


def as_standard(operator: str, node: Node, *inputs: RelayExpr | None, opset: int = _OPSET) -> RelayExpr:
    """Apply a standard operator with the attributes of a node to other inputs."""
    convert = find("", operator, opset)
    assert convert is not None, operator
    plain = dataclasses.replace(node, operator=operator, inputs=operands(inputs), outputs=node.outputs[:1], opset=opset)
    result = convert(plain)
    first = result if isinstance(result, RelayExpr) else result[0]
    assert first is not None  # the first output of an operator is never optional
    return settle(first)


def with_rank(x: RelayExpr, ranks: tuple[int, ...], name: str) -> RelayExpr:
    """Return an input, checking its rank."""
    if rank_of(x) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ConversionError(f"input {name} must have {wanted} dimensions, got {rank_of(x)} of {dtype_of(x)}")
    return x
