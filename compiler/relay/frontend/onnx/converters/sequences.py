"""Sequences of tensors, whose lengths must be known during import, and optional values."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Tuple, TupleGetItem
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter, converters
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, ops, rank_of, settle
from compiler.relay.frontend.shared.tensors import split, static_dims
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TupleType

_ABSENT: RelayExpr = settle(Tuple(()))
"""The optional value that holds nothing."""


def _items(sequence: RelayExpr) -> list[RelayExpr]:
    """Return the elements of a sequence."""
    if isinstance(sequence, Tuple):
        return list(sequence.fields)
    t = infer_expr(sequence)
    if not isinstance(t, TupleType):
        raise ConversionError("its input must be a sequence, got a tensor")
    return [settle(TupleGetItem(sequence, i)) for i in range(len(t.fields))]


def _place(node: Node, index: int, length: int, last: int) -> int:
    """Return the place that an input names in a sequence of a length, by default the last.

    A negative place counts from the end of the sequence.
    """
    given = node.ints(index, "position")
    if given is None:
        return last
    if not -length <= given[0] <= last:
        raise ConversionError(f"position {given[0]} is outside a sequence of {length} tensors")
    return given[0] + length if given[0] < 0 else given[0]


def _item(node: Node) -> RelayExpr:
    items = _items(node.inputs[0])
    return items[_place(node, 1, len(items), len(items) - 1)]


converters(
    {
        "SequenceEmpty": lambda node: Tuple(()),
        "SequenceConstruct": lambda node: Tuple(tuple(node.inputs)),
        "SequenceAt": _item,
        "SequenceLength": lambda node: constant(len(_items(node.inputs[0])), "int64"),
        "Optional": lambda node: _ABSENT if node.input(0) is None else [node.inputs[0]],
        "OptionalHasElement": lambda node: constant(node.input(0) is not None and node.inputs[0] is not _ABSENT),
    }
)


@converter("SequenceInsert")
def _sequence_insert(node: Node) -> RelayExpr:
    items = _items(node.inputs[0])
    place = _place(node, 2, len(items), len(items))
    return Tuple((*items[:place], node.inputs[1], *items[place:]))


@converter("SequenceErase")
def _sequence_erase(node: Node) -> RelayExpr:
    items = _items(node.inputs[0])
    del items[_place(node, 1, len(items), len(items) - 1)]
    return Tuple(tuple(items))


@converter("SequenceMap")
def _sequence_map(node: Node) -> list[Tuple]:
    first, *others = node.inputs
    columns = [_items(x) if isinstance(infer_expr(x), TupleType) else None for x in others]
    turns = [
        node.run(
            node.required("body"), [item, *(x if c is None else c[i] for x, c in zip(others, columns, strict=True))]
        )
        for i, item in enumerate(_items(first))
    ]
    return [Tuple(column) for column in zip(*turns, strict=True)]


@converter("ConcatFromSequence")
def _concat_from_sequence(node: Node) -> RelayExpr:
    items, axis = _items(node.inputs[0]), node.required("axis")
    if not items:
        raise ConversionError("an empty sequence cannot be concatenated")
    if node.attr("new_axis", 0):
        return ops.stack(items, axis=axis)
    return ops.concatenate(items, axis=axis) if len(items) > 1 else items[0]


@converter("SplitToSequence")
def _split_to_sequence(node: Node) -> RelayExpr:
    x = node.inputs[0]
    axis = node.attr("axis", 0) % rank_of(x)
    (extent,) = static_dims(x, "the input", [axis])
    sizes = _sizes(node, extent)
    parts = split(x, sizes, axis)
    if node.input(1) is None and not node.attr("keepdims", 1):
        parts = [ops.squeeze(part, axis=[axis]) for part in parts]
    return Tuple(tuple(parts))


def _sizes(node: Node, extent: int) -> list[int]:
    """Return how long each part is: as a vector says, or all as a number says but the last, or one."""
    given = node.value(1, "split")
    if given is not None and given.ndim:
        return [int(v) for v in given]
    most = 1 if given is None else int(given)
    if most < 1:
        raise ConversionError(f"parts must have at least one element, got split = {most}")
    return [min(most, extent - start) for start in range(0, extent, most)]


@converter("OptionalGetElement")
def _optional_get_element(node: Node) -> list[RelayExpr]:
    if node.inputs[0] is _ABSENT:
        raise ConversionError("the optional value holds nothing")
    return [node.inputs[0]]
