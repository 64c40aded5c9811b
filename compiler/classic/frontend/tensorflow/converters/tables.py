"""Hash table lookups, on constant keys and values."""

from __future__ import annotations

from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.registry import converter
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Tuple
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, static_dims


def _contents(node: Node) -> tuple[RelayExpr, ...]:
    table = node.inputs[0]
    if not isinstance(table, Tuple):
        raise ConversionError("its table is not one whose keys and values are constants of the graph")
    return table.fields


@converter("LookupTableFind", "LookupTableFindV2")
def _find(node: Node) -> RelayExpr:
    """Look up elements, with a default for missing keys."""
    keys, values = _contents(node)
    x, default = node.inputs[1:3]
    if rank_of(values) != 1 or not static_dims(keys, "the keys")[0]:
        raise ConversionError("tables must have keys, and single elements as values")
    same = ops.equal(ops.expand_dims(x, -1), keys)
    nearest = ops.take(values, ops.argmax(cast(same, "int32"), axis=[-1]), axis=0)
    result = ops.where(ops.any(same, axis=[-1]), nearest, default)
    return ops.reshape(result, list(dims_of(x))) if rank_of(result) != rank_of(x) else result


@converter("LookupTableSize", "LookupTableSizeV2")
def _size(node: Node) -> RelayExpr:
    return constant(static_dims(_contents(node)[0], "the keys")[0], "int64")
