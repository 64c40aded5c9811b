"""Pads iterators so that factors divide their extents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from compiler.arith.analyzer import Analyzer
from compiler.arith.iterators.iter_map import IterMark, IterSplitExpr, IterSumExpr, write_split
from compiler.ir.expr.primexpr import NE, And, IntImm, Or, PrimExpr, binary, const, is_const_int


class NotAffine(Exception):
    """An expression is not a sum of splits, or its splits do not fuse."""


@dataclass(frozen=True, slots=True)
class PaddedMark:
    """``mark == split + left``, where ``multiple`` divides the extent of the mark.

    The mark's values below ``left``, and those from ``left + split.extent`` on, are never taken.
    """

    split: IterSplitExpr
    left: PrimExpr
    multiple: PrimExpr
    mark: IterMark

    def is_reached(self, ordered: Sequence[IterSplitExpr], analyzer: Analyzer) -> bool:
        """Return whether splits of the mark, from the innermost on, take all their values although some are padding."""
        lowest, highest = ordered[0].lower_factor, ordered[-1]
        if analyzer.can_prove((lowest % self.multiple).equal(0)):
            return True  # each block of the lowest split has a value that is not a padding
        right = self.mark.extent - self.left - self.split.extent
        if analyzer.can_prove(And(self.left < lowest, right < lowest)):
            return True
        return analyzer.can_prove(self.split.extent >= highest.lower_factor * highest.extent)

    def predicate(self, analyzer: Analyzer) -> PrimExpr:
        """Return where the mark is outside of what it stands for."""
        value = write_split(IterSplitExpr(self.mark), analyzer)
        block, within = value // self.multiple, value % self.multiple
        end = analyzer.simplify(self.left + self.split.extent)
        rest = analyzer.simplify(end % self.multiple)
        last = analyzer.simplify(end // self.multiple)
        before = binary(And, block.equal(0), within < self.left)
        behind = binary(And, block.equal(last), within >= rest)
        parts = [] if is_const_int(self.left, 0) else [before]
        if not is_const_int(rest, 0):
            behind = behind if isinstance(rest, IntImm) else binary(And, binary(NE, rest, const(0, rest.dtype)), behind)
            parts.append(behind)
        return binary(Or, *parts) if len(parts) == 2 else parts[0]


class Padding:
    """What the divisions of some indices ask of the iterators that they divide.

    The same iterator has the same padding everywhere, which is known when all divisions have been seen: where
    ``has_grown`` is set, the indices must be read again.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._padded: dict[tuple[object, ...], PaddedMark] = {}
        self.has_grown = False

    @property
    def marks(self) -> Iterable[PaddedMark]:
        """All iterators with padding."""
        return self._padded.values()

    def pad(
        self, key: tuple[object, ...], split: IterSplitExpr, shift: PrimExpr, factor: PrimExpr, needs: bool
    ) -> tuple[IterSplitExpr, PrimExpr]:
        """Return ``split + shift`` as ``padded + carry * factor``, where ``factor`` divides the padded split's extent.

        ``shift`` is at least 0 and less than ``factor``; ``key`` tells the split, whose scale is 1, from others.  A
        split gets what other divisions need, even if it ``needs`` no padding for this one.
        """
        known = self._padded.get(key)
        if known is None and not needs:
            return split, const(0, split.dtype)
        padded = self._grown(known, split, shift, factor)
        if padded is not known:
            self.has_grown = True
            self._padded[key] = padded
        offset = self._analyzer.simplify(shift - padded.left)
        if not self._analyzer.can_prove((offset % factor).equal(0)):
            raise NotAffine(f"divisions of {split.source.source} begin at different values of it")
        return IterSplitExpr(padded.mark), self._analyzer.simplify(offset // factor)

    def _grown(self, known: PaddedMark | None, split: IterSplitExpr, left: PrimExpr, factor: PrimExpr) -> PaddedMark:
        if known is not None:
            left = self._largest(known.left, left, max)
            factor = self._largest(known.multiple, factor, math.lcm)
            equal = self._analyzer.can_prove_equal
            if equal(left, known.left) and equal(factor, known.multiple):
                return known
        blocks = (left + split.extent + factor - 1) // factor
        mark = IterMark(IterSumExpr((split,), left), self._analyzer.simplify(blocks * factor))
        return PaddedMark(split, left, factor, mark)

    def _largest(self, a: PrimExpr, b: PrimExpr, among: Callable[[int, int], int]) -> PrimExpr:
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return const(among(a.value, b.value), a.dtype)
        if self._analyzer.can_prove_equal(a, b):
            return a
        raise NotAffine(f"an iterator needs both {a} and {b} for its divisions")
