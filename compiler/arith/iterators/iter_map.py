"""Iterator maps: sums of split iterators.

A *mark* is an iterator that counts from 0 up to its extent: a variable, or several iterators fused into one.  A *split*
is the part ``mark // lower_factor % extent * scale`` of a mark, and a *sum* adds splits and a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum
from typing import ClassVar

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, const, convert
from compiler.ir.node import Node, node


class IterMapLevel(IntEnum):
    """What is asked of the map from iterators to indices: that every index is reached (once), or nothing."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """Return the level ``bijective``, ``surjective`` or ``nocheck``, which None is as well.

        Raises ValueError if there is no such level.
        """
        levels = {level.name.lower(): level for level in IterMapLevel}
        if name is not None and name.lower() not in levels:
            raise ValueError(f"IterMapLevel: expected one of {', '.join(levels)}, got {name!r}")
        return IterMapLevel.NoCheck if name is None else levels[name.lower()]


@node
class IterMapExpr(PrimExpr):
    """Base of the expressions that index maps are made of."""


@node
class IterMark(Node):
    """An iterator from 0 up to, but without, its extent: a variable, or the sum of iterators that are fused."""

    children: ClassVar[tuple[str, ...]] = ("source", "extent")

    source: PrimExpr
    extent: PrimExpr

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", convert(self.source))
        object.__setattr__(self, "extent", _as(self.extent, self.source.dtype))

    def __str__(self) -> str:
        return f"IterMark({self.source}, extent={self.extent})"

    __repr__ = __str__


@node
class IterSplitExpr(IterMapExpr):
    """The value ``source // lower_factor % extent * scale``, by default all of the iterator.

    ``lower_factor`` is the product of the extents of the parts below.
    """

    children: ClassVar[tuple[str, ...]] = ("source", "lower_factor", "extent", "scale")

    source: IterMark
    lower_factor: PrimExpr = None  # type: ignore[assignment]
    extent: PrimExpr = None  # type: ignore[assignment]
    scale: PrimExpr = None  # type: ignore[assignment]
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        dtype = self.source.source.dtype
        object.__setattr__(self, "dtype", dtype)
        for name, default in (("lower_factor", 1), ("extent", self.source.extent), ("scale", 1)):
            value = getattr(self, name)
            object.__setattr__(self, name, _as(default if value is None else value, dtype))

    def __str__(self) -> str:
        return f"IterSplit({self.source}, lower_factor={self.lower_factor}, extent={self.extent}, scale={self.scale})"

    __repr__ = __str__


@node
class IterSumExpr(IterMapExpr):
    """The sum of some splits and a ``base`` that is free of iterators."""

    children: ClassVar[tuple[str, ...]] = ("args", "base")

    args: tuple[IterSplitExpr, ...]
    base: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(self.args))
        dtype = self.args[0].dtype if self.args else convert(self.base).dtype
        object.__setattr__(self, "base", _as(self.base, dtype))
        object.__setattr__(self, "dtype", self.base.dtype)

    def __str__(self) -> str:
        return f"IterSum([{', '.join(map(str, self.args))}], {self.base})"

    __repr__ = __str__


def _as(value: ExprLike, dtype: str) -> PrimExpr:
    """Return a number as a constant of a type, an expression as it is."""
    return const(value, dtype) if isinstance(value, int) else convert(value)


def normalize_iter_map_to_expr(expr: PrimExpr) -> PrimExpr:
    """Write a sum or a split as ordinary arithmetic; anything else stays as it is."""
    return _written(expr, Analyzer())


def _written(e: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    if isinstance(e, IterSumExpr):
        return write_sum(e.args, e.base, analyzer)
    return write_split(e, analyzer) if isinstance(e, IterSplitExpr) else e


def write_sum(args: Sequence[IterSplitExpr], base: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    """Write a sum of splits as ordinary arithmetic."""
    result: PrimExpr = const(0, base.dtype)
    for split in args:
        result = result + write_split(split, analyzer)
    return result + base


def write_split(split: IterSplitExpr, analyzer: Analyzer) -> PrimExpr:
    """Write a split as ordinary arithmetic."""
    mark = split.source
    source = _written(mark.source, analyzer)
    if analyzer.can_prove_equal(split.lower_factor, 1) and analyzer.can_prove_equal(split.extent, mark.extent):
        return source * split.scale
    upper = split.lower_factor * split.extent
    if not analyzer.can_prove_equal(mark.extent, upper):
        source = source % upper
    return source // split.lower_factor * split.scale
