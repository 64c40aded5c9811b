"""Filtering of boxes by score: ``vision.get_valid_counts``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import FLOAT, INT, optional
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import TupleWrapper
from compiler.relay.op.common import NOT_SMOOTH
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import Array, Input, Types
from compiler.relay.ty import TensorType, TupleType
from compiler.topi.vision import nms as topi


class GetValidCountsAttrs(Attrs):
    score_threshold: float | None = attr_field(
        optional(FLOAT), "What the score must exceed, where that is a constant; the text names it.", None
    )
    id_index: int = attr_field(INT, "Column of the class, which must not be negative; none if it is.", 0)
    score_index: int = attr_field(INT, "Column of the score.", 1)


def _relation(types: Types, attrs: GetValidCountsAttrs) -> Type:
    """How many boxes count, ``(N,)``; these, at the front; and their places, ``(N, boxes)``; numbers are int32."""
    data = tensor(types[0], "data", 3)
    tensor(types[1], "score_threshold", 0)
    batch, boxes, _ = data.dims
    return TupleType((TensorType((batch,), "int32"), data, TensorType((batch, boxes), "int32")))


def _reference(attrs: GetValidCountsAttrs, x: Array, threshold: Array) -> tuple[Array, Array, Array]:
    passes = x[..., attrs.score_index] > threshold.astype(x.dtype)
    if attrs.id_index >= 0:
        passes &= x[..., attrs.id_index] >= 0
    boxes, places = np.full_like(x, -1), np.full(x.shape[:2], -1, "int32")
    for b, row in enumerate(passes):
        kept = np.flatnonzero(row)
        boxes[b, : len(kept)], places[b, : len(kept)] = x[b, kept], kept
    return passes.sum(1).astype("int32"), boxes, places


_GET_VALID_COUNTS = register(
    "vision.get_valid_counts",
    doc="Move the boxes whose score exceeds a threshold to the front.",
    inputs={
        "data": "Boxes, ``(N, boxes, columns)``.",
        "score_threshold": Input("What the score must exceed, a scalar.", 0.0, "float32"),
    },
    attrs=GetValidCountsAttrs,
    spelt_out=("score_threshold",),
    relation=_relation,
    compute=lambda attrs, inputs, out_type: topi.get_valid_counts(
        inputs[0], inputs[1], attrs.id_index, attrs.score_index
    ),
    reference=_reference,
    waived=NOT_SMOOTH,
)


@public_function(_GET_VALID_COUNTS)
def get_valid_counts(
    data: RelayExpr, score_threshold: RelayExpr | float = 0.0, id_index: int = 0, score_index: int = 1
) -> TupleWrapper:
    """Move the boxes whose score exceeds a threshold to the front."""
    constant = None if isinstance(score_threshold, RelayExpr) else score_threshold
    attrs = {"score_threshold": constant, "id_index": id_index, "score_index": score_index}
    return TupleWrapper(_GET_VALID_COUNTS.op(data, score_threshold, **attrs), 3)
