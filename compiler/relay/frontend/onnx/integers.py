"""Integers that stand for real numbers: ``scale * (integer - zero point)``, each for a tensor or for a slice of it.

What DequantizeLinear returns is remembered during an import, so that a product of two such tensors is computed on
their integers, exactly, and scaled afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass

from compiler.ir.context_stack import setting
from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.relay.expr import Constant
from compiler.relay.frontend.shared.folding import dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, reshape, static_dims
from compiler.relay.op.qnn.arithmetic import is_same
from compiler.relay.operator import call_of
from compiler.relay.ty import Dim

_BYTES = ("int8", "uint8")
_MOVES = ("reshape", "transpose", "squeeze", "expand_dims")
"""Operators that only move elements."""
_SMALLEST_SCALE = 1e-30
_LARGEST_PRODUCT = 255 * 255
"""Of two bytes less their zero points."""
_LARGEST_SUM = 2**31 - 1


@dataclass(frozen=True, slots=True)
class DequantizedTensor:
    """What a tensor of real numbers was made of; the scale and the zero point are one number, or one for each slice."""

    values: RelayExpr
    scale: RelayExpr
    zero: RelayExpr | None
    axis: int


_DEQUANTIZED: ContextVar[dict[RelayExpr, DequantizedTensor] | None] = ContextVar("_DEQUANTIZED", default=None)


def remembering_integers() -> AbstractContextManager[None]:
    """Within it :func:`remember` notes what tensors are made of, for one import."""
    return setting(_DEQUANTIZED, {})


def remember(real: RelayExpr, made_of: DequantizedTensor) -> None:
    """Note what a tensor of real numbers is made of, if it is of bytes."""
    notes = _DEQUANTIZED.get()
    if notes is not None and dtype_of(made_of.values) in _BYTES and dtype_of(real) == "float32":
        notes[real] = made_of


def integers_of(real: RelayExpr, scale: RelayExpr, zero: RelayExpr | None, dtype: str) -> RelayExpr | None:
    """Return the bytes that quantising gives back: those that a tensor was made of by the same scale and zero point.

    The tensor may have been moved since.  ``(q - z) * s / s`` is within a thousandth of ``q - z``, where nothing over-
    or underflows.
    """
    moves = []
    while (move := call_of(real, *_MOVES)) is not None:
        moves.append(move)
        real = move.args[0]
    made = (_DEQUANTIZED.get() or {}).get(real)
    if made is None or dtype_of(made.values) != dtype or not (_is_one(made.scale) and _is_one(scale)):
        return None
    if not isinstance(scale, Constant) or not _SMALLEST_SCALE <= float(scale.value.item()) <= 1 / _SMALLEST_SCALE:
        return None
    zeros = [each for each in (made.zero, zero) if each is not None]
    if not is_same(made.scale, scale) or len(zeros) == 1 or (zeros and not is_same(*zeros)):
        return None
    values = made.values
    for move in reversed(moves):
        values = rebuild(move, args=(values,))
    return values


def along(value: RelayExpr, x: RelayExpr, axis: int, block: int = 0) -> RelayExpr:
    """Return a scale or zero point so that it broadcasts against ``x``: one, one for each slice, or one for a block."""
    if rank_of(value) == 0:
        return value
    if rank_of(value) == 1 and rank_of(x) != 1:
        if dims_of(value)[0] == 1:
            return reshape(value, [])
        return reshape(value, [-1 if d == axis % rank_of(x) else 1 for d in range(rank_of(x))])
    if block:
        repeated = ops.repeat(value, block, axis % rank_of(x))
        (extent,) = static_dims(x, "the input", [axis])
        if dims_of(repeated)[axis] != extent:
            return ops.strided_slice(repeated, [0], [extent], strides=[1], axes=[axis % rank_of(x)])
        return repeated
    return value


def centred(x: RelayExpr, zero: RelayExpr | None, axis: int) -> RelayExpr:
    """Return bytes less their zero point: numbers of nine bits, whose products CPUs add in pairs."""
    wide = cast(x, "int16")
    return wide if zero is None else ops.subtract(wide, along(cast(zero, "int16"), x, axis))


def product_on_integers(
    a: RelayExpr,
    b: RelayExpr,
    depth: Dim | None,
    slices: tuple[int, int],
    multiply: Callable[[RelayExpr, RelayExpr, str], RelayExpr],
) -> RelayExpr | None:
    """Return a product of two dequantised tensors, summed as integers and scaled afterwards.

    ``slices`` are the axis of ``b``, and that of the result, whose slices may have scales of their own.  There is none
    if a factor is not dequantised, where scales do not belong to slices of the result, or where 32 bits might not hold
    sums.
    """
    notes = _DEQUANTIZED.get() or {}
    left, right = notes.get(a), notes.get(b)
    if left is None or right is None or not isinstance(depth, int) or depth * _LARGEST_PRODUCT > _LARGEST_SUM:
        return None
    if not _is_one(left.scale) or not (_is_one(right.scale) or right.axis % rank_of(b) == slices[0] % rank_of(b)):
        return None
    x, y = (centred(each.values, each.zero, each.axis) for each in (left, right))
    total = cast(multiply(x, y, "int32"), "float32")
    return ops.multiply(total, along(ops.multiply(reshape(left.scale, []), right.scale), total, slices[1]))


def _is_one(scale: RelayExpr) -> bool:
    return rank_of(scale) == 0 or tuple(dims_of(scale)) == (1,)
