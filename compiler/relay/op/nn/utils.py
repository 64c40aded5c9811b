"""Normalisation of padding attributes: ``tvm.relay.op.nn.utils``."""

from __future__ import annotations

from compiler.topi.nn.padding import Padding, pad_edges


def _flat(function: str, padding: Padding, rank: int) -> tuple[int, ...]:
    before, after = pad_edges(function, padding, (1,) * rank)
    return (*before, *after)


def get_pad_tuple1d(padding: Padding) -> tuple[int, ...]:
    """Return the zeros on the left and on the right of one number for both, or of both."""
    return _flat("get_pad_tuple1d", padding, 1)


def get_pad_tuple2d(padding: Padding) -> tuple[int, ...]:
    """Return the zeros above, on the left, below and on the right of one number, one a dimension, or all four."""
    return _flat("get_pad_tuple2d", padding, 2)


def get_pad_tuple3d(padding: Padding) -> tuple[int, ...]:
    """Return the zeros in front, above, on the left, behind, below and on the right of one number, one a dimension, or
    all six.
    """
    return _flat("get_pad_tuple3d", padding, 3)
