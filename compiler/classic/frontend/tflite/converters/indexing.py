"""Indexing operators: where, unique, segments, dynamic updates."""

from __future__ import annotations

import numpy as np

from compiler.classic.frontend.shared.index_operators import argwhere, bucketize, unique, update_slice
from compiler.classic.frontend.shared.segments import segments, sorted_count
from compiler.classic.frontend.shared.tensorflow_operators import unsorted_segments
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import converter, converters
from compiler.ir.expr import RelayExpr


@converter("WHERE")
def _where(node: Node) -> RelayExpr:
    return argwhere(node.inputs[0])


@converter("UNIQUE")
def _unique(node: Node) -> list[RelayExpr]:
    return unique(node.inputs[0], node.outputs[1].dtype)[:2]


@converter("BUCKETIZE")
def _bucketize(node: Node) -> RelayExpr:
    options = node.operation.options
    return bucketize(node.inputs[0], np.array([options.Boundaries(i) for i in range(options.BoundariesLength())]))


@converter("DYNAMIC_UPDATE_SLICE", moves=True)
def _dynamic_update_slice(node: Node) -> RelayExpr:
    x, part, start = node.inputs
    return update_slice(x, part, start)


@converter("SEGMENT_SUM")
def _segment_sum(node: Node) -> RelayExpr:
    x, ids = node.inputs
    return segments(x, ids, sorted_count(node.value(1, "the segments")), "sum")


converters({f"UNSORTED_SEGMENT_{name}": unsorted_segments(name.lower()) for name in ("SUM", "PROD", "MAX", "MIN")})
