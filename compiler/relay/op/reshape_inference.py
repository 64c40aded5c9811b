"""The special values in the new shape of a ``reshape``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.relay.operator import RelationError
from compiler.relay.ty import AnyDim, Dim, same_dim


def resolve_shape(old: Sequence[Dim], newshape: Sequence[Dim], allowzero: bool = False) -> tuple[Dim, ...]:
    """Return the shape that ``newshape`` describes for a tensor of shape ``old``.

    Raises RelationError if the numbers of elements differ, or a special number does not fit.

    Parameters
    ----------
    newshape : sequence of int or PrimExpr
        0 takes over the extent at this place, -1 is what remains, -2 takes over all extents that remain, -3 is the
        product of the next two, -4 splits the next one into the two that follow.
    allowzero : bool
        Whether 0 is an extent of zero.
    """
    walk = _Walk(tuple(old), tuple(newshape), allowzero)
    while walk.at < len(walk.new):
        walk.step()
    return walk.finish()


class _Walk:
    """Reads the new shape from the left while consuming extents of the old one."""

    def __init__(self, old: tuple[Dim, ...], new: tuple[Any, ...], allowzero: bool) -> None:
        self.old, self.new, self.allowzero = old, new, allowzero
        self.at = 0
        self.source = 0
        self.result: list[Dim | None] = []
        """The new extents; None stands for -1."""
        self.same_old: set[int] = set()
        self.same_new: set[int] = set()
        """Which extents were taken over: they need not be known to find what remains."""

    def error(self, message: str) -> RelationError:
        return RelationError(f"the shape {self.old} cannot become newshape={self.new}: {message}")

    def next_old(self, special: int) -> Dim:
        if self.source >= len(self.old):
            raise self.error(f"{special} refers to dimension {self.source}, and there are only {len(self.old)}")
        self.source += 1
        return self.old[self.source - 1]

    def take_over(self, special: int) -> None:
        self.same_new.add(len(self.result))
        self.same_old.add(self.source)
        self.result.append(self.next_old(special))

    def step(self) -> None:
        entry = self.new[self.at]
        self.at += 1
        if not isinstance(entry, int) or entry > 0 or (entry == 0 and self.allowzero):
            self.result.append(entry)
            self.source += 1
        elif entry == 0:
            self.take_over(0)
        elif entry == -1:
            if None in self.result:
                raise self.error("-1 may occur only once")
            self.result.append(None)
            self.source += 1
        elif entry == -2:
            while self.source < len(self.old):
                self.take_over(-2)
        elif entry == -3:
            self.result.append(_times(self.next_old(-3), self.next_old(-3)))
        elif entry == -4:
            self.split()
        else:
            raise self.error(f"there is no special value {entry}")

    def split(self) -> None:
        if self.at + 2 > len(self.new):
            raise self.error("-4 must be followed by two extents")
        whole = self.next_old(-4)
        first, second = self.new[self.at : self.at + 2]
        self.at += 2
        if first == -1 and second == -1:
            raise self.error("only one of the two extents after -4 may be -1")
        if first == -1:
            first = _quotient(whole, second)
        elif second == -1:
            second = _quotient(whole, first)
        product = _times(first, second)
        if isinstance(whole, int) and isinstance(product, int) and whole != product:
            raise self.error(f"{whole} is not {first} times {second}")
        self.result += [first, second]

    def finish(self) -> tuple[Dim, ...]:
        before = [d for n, d in enumerate(self.old) if n not in self.same_old]
        after = [d for n, d in enumerate(self.result) if n not in self.same_new and d is not None]
        if None not in self.result:
            self._check(before, after)
            return tuple(d for d in self.result if d is not None)
        missing = self._missing(before, after)
        return tuple(missing if d is None else d for d in self.result)

    def _check(self, before: list[Dim], after: list[Dim]) -> None:
        if not all(isinstance(d, int) for d in (*before, *after)) or _product(before) == _product(after):
            return
        have, want = _product(self.old), _product([d for d in self.result if d is not None])
        # The others may differ where an extent of 0 was taken over.
        if not (isinstance(have, int) and isinstance(want, int) and have == want == 0):
            raise self.error(f"it has {have} elements, the new shape {want}")

    def _missing(self, before: list[Dim], after: list[Dim]) -> Dim:
        before, after = _cancel(before, after)
        known, divisor = (_product([d for d in side if isinstance(d, int)]) for side in (before, after))
        symbols = [d for d in before if not isinstance(d, int)]
        if divisor == 0 and any(isinstance(d, AnyDim) for d in (*before, *after)):
            return AnyDim()
        if all(isinstance(d, int) for d in after):
            assert isinstance(known, int)
            assert isinstance(divisor, int)
            if divisor == 0 or (not symbols and known % divisor):
                raise self.error(f"{_product(self.old)} elements are not a multiple of {_product(after)}")
            if known % divisor == 0:
                return _times(_product(symbols), known // divisor)
        return _quotient(_product(before), _product(after))


def _cancel(before: list[Dim], after: list[Dim]) -> tuple[list[Dim], list[Dim]]:
    """Take away symbolic extents that stand on both sides."""
    left, right = list(before), list(after)
    for d in before:
        match = next((e for e in right if d is e or (not isinstance(d, (int, AnyDim)) and same_dim(d, e))), None)
        if match is not None:
            left = [x for x in left if x is not d]
            right = [x for x in right if x is not match]
    return left, right


def _times(a: Dim, b: Dim) -> Dim:
    if isinstance(b, int) and b == 1:
        return a
    if isinstance(a, int) and a == 1:
        return b
    return AnyDim() if isinstance(a, AnyDim) or isinstance(b, AnyDim) else a * b


def _product(extents: Sequence[Dim]) -> Dim:
    result: Dim = 1
    for e in extents:
        result = _times(result, e)
    return result


def _quotient(a: Dim, b: Dim) -> Dim:
    return AnyDim() if isinstance(a, AnyDim) or isinstance(b, AnyDim) else a // b
