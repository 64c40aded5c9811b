"""Masking: diagonals, triangles and sequence ends."""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.indexing import saturated
from compiler.topi.compute import compute
from compiler.topi.operands import Index, dims
from compiler.topi.tag import Tag

__all__ = ["matrix_set_diag", "sequence_mask", "trilu"]

_ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: int | tuple[int, int] = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Return matrices with some of their diagonals replaced.

    ``k`` is the diagonal, or the lowest and the highest one, positive above the main one; ``diagonal`` is ``(…,
    length)``, or ``(…, count, longest length)`` of several, the highest first. ``align``, such as ``RIGHT_LEFT``, says
    at which end of their row the diagonals above, and those below, the main one stand. Raises ArgumentError if there is
    no such alignment.
    """
    k1, k2 = k if isinstance(k, (tuple, list)) else (k, k)
    if align not in _ALIGNMENTS:
        raise ArgumentError(f"matrix_set_diag: align must be one of {', '.join(_ALIGNMENTS)}, got {show(align)}")
    ends = align.split("_")
    shape = dims(data)
    rows, columns = shape[-2:]
    several = k1 != k2
    longest = dims(diagonal)[-1]

    def element(*i: Var) -> PrimExpr:
        *batch, row, column = i
        at_k = column - row
        above = te.max(at_k, 0)
        at = column - above
        if several:
            length = te.min(columns - above, rows - te.max(-at_k, 0))
            above_right, below_right = (longest - length if end == "RIGHT" else 0 for end in ends)
            at = at + te.if_then_else(at_k >= 0, above_right, below_right)
        inside = at_k.equal(k1) if not several else te.all(at_k >= k1, at_k <= k2)
        new = diagonal(*batch, *([k2 - at_k] if several else []), at)
        return te.if_then_else(inside, new, data(*i))

    return compute(shape, element, name="matrix_set_diag", tag=Tag.INJECTIVE)


def trilu(data: Tensor, k: Index | Tensor, upper: bool) -> Tensor:
    """Return the upper or lower triangles of matrices, with zeros elsewhere.

    ``k`` is the outermost diagonal that stays, positive above the main one; as a tensor it has no dimensions.
    """
    offset = k() if isinstance(k, Tensor) else k

    def element(*i: Var) -> PrimExpr:
        row, column = i[-2:]
        limit = row + offset
        stays = column >= limit if upper else column <= limit
        return tir.Select(stays, data(*i), tir.const(0, data.dtype))

    return compute(dims(data), element, name="trilu", tag=Tag.ELEMWISE)


def sequence_mask(data: Tensor, valid_length: Tensor, mask_value: float = 0, axis: int = 0) -> Tensor:
    """Return sequences with a value behind their ends.

    ``valid_length`` is ``(batch,)``; ``axis``, 0 or 1, is that of the elements, and the other one that of the
    sequences.
    """

    def element(*i: Var) -> PrimExpr:
        inside = i[axis] < saturated(valid_length(i[1 - axis]))
        return tir.Select(inside, data(*i), tir.const(mask_value, data.dtype))

    return compute(dims(data), element, name="sequence_mask", tag=Tag.INJECTIVE)
