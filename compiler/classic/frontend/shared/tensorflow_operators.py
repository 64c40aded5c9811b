"""Converters of operators that TensorFlow and TensorFlow Lite define alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from compiler.classic.frontend.shared.nhwc import strided_slice
from compiler.classic.frontend.shared.segments import segments
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, expand, reshape, split, static_dims
from compiler.relay.frontend.shared.tensors import transpose as transposed
from compiler.relay.op.type_relations import broadcast_dims


class Node(Protocol):
    """A node of either format."""

    @property
    def inputs(self) -> Sequence[RelayExpr]:
        """The inputs, as expressions."""

    def ints(self, index: int, what: str) -> list[int]:
        """Return the integers of an input that must be constant."""


# Arithmetic


def add_n(node: Node) -> RelayExpr:
    """Convert ``AddN``."""
    total = node.inputs[0]
    for x in node.inputs[1:]:
        total = ops.add(total, x)
    return total


def divide(a: RelayExpr, b: RelayExpr) -> RelayExpr:
    """Divide, rounding quotients of integers towards zero."""
    return ops.divide(a, b) if dtype_of(a).startswith("float") else ops.trunc_divide(a, b)


def floor_divide(a: RelayExpr, b: RelayExpr) -> RelayExpr:
    """Divide, rounding quotients down."""
    return ops.floor(ops.divide(a, b)) if dtype_of(a).startswith("float") else ops.floor_divide(a, b)


def batch_matmul(node: Node, transpose_a: bool, transpose_b: bool) -> RelayExpr:
    """Convert ``BatchMatMul``, whose stacks of matrices are broadcast to each other."""
    *left, _, _ = static_dims(node.inputs[0], "the first input")
    *right, _, _ = static_dims(node.inputs[1], "the second input")
    batch = list(broadcast_dims(left, right))
    flat = []
    for x in node.inputs:
        matrix = static_dims(x, "an input")[-2:]
        flat.append(reshape(expand(x, [*batch, *matrix]), [-1, *matrix]))
    result = ops.nn.batch_matmul(*flat, transpose_a=transpose_a, transpose_b=transpose_b)
    return reshape(result, [*batch, *static_dims(result, "the result")[-2:]])


# Shape


def broadcast_to(node: Node) -> RelayExpr:
    """Convert ``BroadcastTo``."""
    return expand(node.inputs[0], node.ints(1, "the shape"))


def expand_dims(node: Node) -> RelayExpr:
    """Convert ``ExpandDims``."""
    (axis,) = node.ints(1, "the axis")
    return ops.expand_dims(node.inputs[0], axis % (rank_of(node.inputs[0]) + 1))


def split_evenly(node: Node, count: int) -> list[RelayExpr]:
    """Convert ``Split``."""
    (axis,), x = node.ints(0, "the axis"), node.inputs[1]
    axis %= rank_of(x)
    whole = static_dims(x, "the input")[axis]
    if count < 1 or whole % count:
        raise ConversionError(f"an axis of extent {whole} cannot be split into {count} equal parts")
    return split(x, [whole // count] * count, axis)


def unpack(node: Node, axis: int) -> list[RelayExpr]:
    """Convert ``Unpack``."""
    (x,) = node.inputs
    dims = list(static_dims(x, "the input"))
    count = dims.pop(axis % rank_of(x))
    return [reshape(part, dims) for part in split(x, [1] * count, axis % rank_of(x))]


def fill(node: Node) -> RelayExpr:
    """Convert ``Fill``."""
    dims = node.ints(0, "the shape")
    bounded(*dims)
    return ops.full(node.inputs[1], dims, dtype=dtype_of(node.inputs[1]))


def rank(node: Node) -> RelayExpr:
    """Convert ``Rank``."""
    return constant(rank_of(node.inputs[0]), "int32")


def reverse(node: Node) -> RelayExpr:
    """Convert ``ReverseV2``."""
    x = node.inputs[0]
    for axis in node.ints(1, "the axes"):
        x = ops.reverse(x, axis % rank_of(x))
    return x


def slice_sizes(node: Node) -> RelayExpr:
    """Convert ``Slice``, whose size -1 stands for the rest of an axis."""
    x, begin, sizes = node.inputs[0], node.ints(1, "the begin"), node.ints(2, "the sizes")
    dims = static_dims(x, "the input")
    ends = [d if s == -1 else b + s for b, s, d in zip(begin, sizes, dims, strict=True)]
    return strided_slice(x, begin, ends, [1] * len(dims), {})


def split_sizes(node: Node) -> list[RelayExpr]:
    """Convert ``SplitV``, whose size -1 stands for the rest of the axis."""
    x, sizes = node.inputs[0], node.ints(1, "the sizes")
    (axis,) = (a % rank_of(x) for a in node.ints(2, "the axis"))
    whole = static_dims(x, "the input")[axis]
    sizes = [whole - sum(s for s in sizes if s >= 0) if s == -1 else s for s in sizes]
    return split(x, sizes, axis)


def tile(node: Node) -> RelayExpr:
    """Convert ``Tile``."""
    return ops.tile(node.inputs[0], node.ints(1, "how often"))


def transpose(node: Node) -> RelayExpr:
    """Convert ``Transpose``."""
    return transposed(node.inputs[0], node.ints(1, "the order of the axes"))


# Reduction


def top_k(node: Node) -> list[RelayExpr]:
    """Convert ``TopKV2``."""
    (count,) = node.ints(1, "the number of elements")
    return ops.topk(node.inputs[0], k=count, axis=-1, ret_type="both", dtype="int32")


def unsorted_segments(reduction: str) -> Callable[[Node], RelayExpr]:
    """Return a converter of ``UnsortedSegment…`` operators with a reduction."""

    def convert(node: Node) -> RelayExpr:
        (count,) = node.ints(2, "the number of segments")
        return segments(node.inputs[0], node.inputs[1], count, reduction)

    return convert
