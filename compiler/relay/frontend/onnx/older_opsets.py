"""Upgrading of nodes of early operator sets to the conventions of later ones.

References
----------
"ONNX Operator Changelog", https://github.com/onnx/onnx/blob/main/docs/Changelog.md, versions 1 to 6.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Attributes
from compiler.relay.frontend.shared.folding import ops, rank_of

NUMPY_BROADCAST_OPSET = 7
"""The first operator set with NumPy-style broadcasting."""


def aligned_inputs(operator: str, inputs: Sequence[RelayExpr], attributes: Attributes) -> Sequence[RelayExpr]:
    """Align the inputs of a node of an older operator set for NumPy-style broadcasting.

    ``broadcast=1, axis=k`` aligned the second operand with axis ``k`` of the first; the slopes of ``PRelu`` were per
    channel.
    """
    if operator == "PRelu":
        return [inputs[0], _from_axis(inputs[1], 1, rank_of(inputs[0]))]
    if "broadcast" not in attributes:
        return inputs
    broadcast, axis = attributes.pop("broadcast"), attributes.pop("axis", None)
    if not broadcast or axis is None or len(inputs) != 2:
        return inputs
    rank = rank_of(inputs[0])
    return [inputs[0], _from_axis(inputs[1], axis % rank, rank)]


def _from_axis(operand: RelayExpr, axis: int, rank: int) -> RelayExpr:
    """Return an operand whose first dimension stands beside the axis of a tensor of ``rank`` dimensions."""
    missing = rank - axis - rank_of(operand)
    if rank_of(operand) == 0 or missing <= 0:
        return operand
    return ops.expand_dims(operand, axis=rank_of(operand), num_newaxis=missing)
