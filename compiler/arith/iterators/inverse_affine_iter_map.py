"""The inverse of an affine index map: the iterators in terms of the indices."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith.iterators.iter_map import IterMark, IterSplitExpr, IterSumExpr
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, Var, convert
from compiler.ir.expr.substitute import free_vars


def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[ExprLike]) -> dict[Var, PrimExpr]:
    """Return each iterator of a bijective map, as :func:`detect_iter_map` returns it, as an expression of the indices.

    Raises ArgumentError if there are not as many outputs, which stand for the values of the indices, as these.

    Examples
    --------
    Of ``[i // 4, i % 4]`` with outputs ``a`` and ``b``, ``i`` is ``a * 4 + b``.
    """
    sums = list(iter_map)
    if len(sums) != len(outputs):
        raise ArgumentError(f"inverse_affine_iter_map: expected {len(sums)} outputs, one per index, got {len(outputs)}")
    values: dict[IterMark, PrimExpr] = {}
    for s, output in zip(sums, outputs, strict=True):
        _distribute(s, convert(output), values)
    result: dict[Var, PrimExpr] = {}
    for mark in _users_first(sums):
        value = values[mark]
        if isinstance(mark.source, IterSumExpr):
            _distribute(mark.source, value, values)
        else:
            (var,) = free_vars(mark.source)
            result[var] = value if mark.source is var else value + (var - mark.source)
    return result


def _distribute(s: IterSumExpr, value: PrimExpr, values: dict[IterMark, PrimExpr]) -> None:
    """Add to the value of each mark of a sum what the value of the sum says about it."""
    value = value - s.base
    for i, split in enumerate(s.args):
        part = value // split.scale
        if i > 0:  # nothing lies above the first
            part = part % split.extent
        part = part * split.lower_factor
        values[split.source] = values[split.source] + part if split.source in values else part


def _users_first(sums: Sequence[IterSumExpr]) -> list[IterMark]:
    """Return all marks, each after those that are made of it."""
    order: list[IterMark] = []
    seen: set[IterMark] = set()

    def visit(splits: Sequence[IterSplitExpr]) -> None:
        for split in splits:
            mark = split.source
            if mark not in seen:
                seen.add(mark)
                if isinstance(mark.source, IterSumExpr):
                    visit(mark.source.args)
                order.append(mark)

    for s in sums:
        visit(s.args)
    return order[::-1]
