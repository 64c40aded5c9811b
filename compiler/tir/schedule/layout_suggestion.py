"""Suggests a buffer layout in the order of accesses."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith import Analyzer
from compiler.arith.iterators.detect_iter_map import detect_iter_map, normalize_to_iter_sum
from compiler.arith.iterators.iter_map import IterMapLevel, IterSplitExpr
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Range, Var, const
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.stmt import For


def suggest_index_map(
    buffer: Buffer, indices: Sequence[PrimExpr], loops: Sequence[For], predicate: PrimExpr
) -> IndexMap | None:
    """Suggest a layout in which the loops around an access go through the buffer in order.

    None if the index is not a quasi-affine expression of the loops.

    Examples
    --------
    ``A[j, i]`` within a loop over ``i`` and an inner one over ``j`` suggests ``lambda x0, x1: (x1, x0)``.
    """
    ranges = {loop.loop_var: Range.from_fields(loop.min, loop.extent) for loop in loops}
    flat = _flat_index(buffer, indices)
    if not detect_iter_map([flat], ranges, predicate, IterMapLevel.NoCheck):
        return None
    order: dict[Var | None, int] = {loop.loop_var: depth for depth, loop in enumerate(loops)}
    splits = list(normalize_to_iter_sum(flat, ranges).args)
    if not splits or any(_loop_of(split) not in order for split in splits):
        return None
    return _index_map(buffer, sorted(splits, key=lambda split: (order[_loop_of(split)], -_number(split.lower_factor))))


def _flat_index(buffer: Buffer, indices: Sequence[PrimExpr]) -> PrimExpr:
    """Return the offset of an element in a buffer without gaps."""
    flat: PrimExpr = const(0, indices[0].dtype if indices else "int32")
    for index, dim in zip(indices, buffer.shape, strict=True):
        flat = flat * dim + index
    return flat


def _loop_of(split: IterSplitExpr) -> Var | None:
    """Return the loop variable that a part of an index comes from."""
    source = split.source.source
    return source if isinstance(source, Var) else None


def _number(e: PrimExpr) -> int:
    return e.value if isinstance(e, IntImm) else 1


def _index_map(buffer: Buffer, splits: Sequence[IterSplitExpr]) -> IndexMap:
    """Return the map whose results are the digits of an element's offset, in a given order."""
    variables = tuple([Var(f"i{axis}", dim.dtype) for axis, dim in enumerate(buffer.shape)])
    analyzer = Analyzer()
    for var, dim in zip(variables, buffer.shape, strict=True):
        analyzer.bind(var, Range.from_fields(const(0, dim.dtype), dim))
    flat = _flat_index(buffer, variables)
    digits = [analyzer.simplify(flat // split.scale % split.extent) for split in splits]
    return IndexMap(variables, tuple(digits))
