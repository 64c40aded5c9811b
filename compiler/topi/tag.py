"""Operator patterns and compute tags, which fusion and schedules use."""

from __future__ import annotations

from enum import IntEnum, StrEnum

__all__ = [
    "BROADCAST", "COMM_REDUCE", "COMM_REDUCE_IDX", "ELEMWISE", "INJECTIVE", "OpPattern", "Tag", "is_broadcast",
    "is_injective",
]  # fmt: skip


class OpPattern(IntEnum):
    """How an operator may be fused with others; a group's pattern is that of its anchor, the highest one.

    The numbers are TVM's.
    """

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


class Tag(StrEnum):
    """What kind of computation a ``te.compute`` is; the value is what ``op.tag`` prints and compares as.

    The first rows say how an element of the result depends on the data.  ``PAD``, ``DILATE`` and ``STAGED`` are
    injective, and a schedule may store them.  The others name the computations that schedules are made around, and
    steps of those: ``compiler.topi.compute`` has the attributes that come with some of them.
    """

    ELEMWISE = "elemwise"
    BROADCAST = "broadcast"
    INJECTIVE = "injective"
    COMM_REDUCE = "comm_reduce"
    COMM_REDUCE_IDX = "comm_reduce_idx"

    PAD = "injective,pad"
    COPIES = "injective,copies"
    """Each row is made of copies of parts of rows, which are loops of their own."""
    DILATE = "injective,dilate"
    STAGED = "injective,staged"
    """Computed once and stored, however cheap it looks."""

    CONV = "conv"
    """In any layout."""
    CONV_ROWS = "conv_rows"
    """Columns last, in full vectors; with :class:`~compiler.topi.compute.RowVectors`."""
    CONV_ROWS_DEPTHWISE = "conv_rows_depthwise"
    CONV_PACKED = "conv_packed"
    """Channels in blocks as wide as a vector."""
    CONV_PACKED_DEPTHWISE = "conv_packed_depthwise"
    CONV_TRANSPOSE = "conv_transpose"
    CONV_WINOGRAD = "conv_winograd"
    """Channels in blocks, by Winograd's minimal filtering."""
    WINOGRAD_STEP = "winograd_step"
    """The transforms of its tiles along one dimension."""

    MATMUL = "matmul"
    """One sum an element, in any layout."""
    MATMUL_PANELS = "matmul_panels"
    """Reads columns from panels; with :class:`~compiler.topi.compute.PanelProduct`."""
    PANELS = "panels"
    """Columns copied into panels as wide as vectors."""
    PANELS_IN_PLACE = "panels_in_place"
    """Panels whose columns are neighbours in memory already: a schedule copies them, or reads them where they are."""
    MATMUL_PARTIAL_SUMS = "matmul_partial_sums"
    """A vector of partial sums an element; the last axis is its lanes."""
    MATMUL_STRASSEN = "matmul_strassen"
    """By fewer products, of sums of quarters."""
    MATMUL_LANES_SUM = "matmul_lanes_sum"
    """The sum of the lanes of partial sums."""

    POOL_MAX = "pool_max"
    POOL_SUM = "pool_sum"
    POOL_ARGMAX = "pool_argmax"
    NORMALIZE = "normalize"
    SOFTMAX_MAX = "softmax_max"
    SOFTMAX_EXP = "softmax_exp"
    SOFTMAX_SUM = "softmax_sum"
    SOFTMAX = "softmax"

    def __repr__(self) -> str:
        return repr(self.value)


ELEMWISE = Tag.ELEMWISE
BROADCAST = Tag.BROADCAST
INJECTIVE = Tag.INJECTIVE
COMM_REDUCE = Tag.COMM_REDUCE
COMM_REDUCE_IDX = Tag.COMM_REDUCE_IDX


def is_broadcast(tag: str) -> bool:
    """Return whether a computation is elementwise, or broadcasts its operands."""
    return tag in (Tag.ELEMWISE, Tag.BROADCAST)


def is_injective(tag: str) -> bool:
    """Return whether each element of a computation's result is made of one element of each operand at most."""
    return is_broadcast(tag) or tag.split(",")[0] == Tag.INJECTIVE
