"""Knobs: the splits, orders and annotations that a space enumerates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from compiler.classic.autotvm.task.entities import AnnotateEntity, Entity, OtherOptionEntity, ReorderEntity, SplitEntity
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm, IterVar


class Knob:
    """The values of one knob."""

    def __init__(self, description: str, entities: Sequence[Entity], num_output: int, product: int = 1) -> None:
        if not entities:
            raise ArgumentError(f"{description} has no value")
        self.description = description
        self.entities = list(entities)
        self.num_output = num_output
        self.product = product

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, index: int) -> Entity:
        return self.entities[index]

    def __repr__(self) -> str:
        return f"{self.description} len={len(self)}"


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A loop that applying the value of a knob (None for a single value) will return, before there is one."""

    space: Knob | None
    index: int


class VirtualAxis:
    """A loop that a knob is about, or its extent; the name is the loop's own by default.

    ``length`` is the extent; -1 if it is not a number.
    """

    def __init__(self, var: IterVar | int | VirtualAxis, name: str | None = None) -> None:
        self.name: str
        self.length: int
        if isinstance(var, VirtualAxis):
            self.name, self.length = name or var.name, var.length
        elif isinstance(var, IterVar):
            self.name = name or var.var.name
            extent = None if var.dom is None else var.dom.extent
            self.length = extent.value if isinstance(extent, IntImm) else -1
        elif isinstance(var, int):
            self.name, self.length = name or f"axis_{var}", var
        else:
            raise ArgumentError(f"axis: expected a loop or its extent, got {type(var).__name__}")

    def __repr__(self) -> str:
        return f"vaxis({self.name})"


def get_factors(n: int) -> list[int]:
    """Return the divisors of a number, in order."""
    low = [d for d in range(1, math.isqrt(max(n, 0)) + 1) if n % d == 0]
    return sorted({*low, *(n // d for d in low)})


def get_pow2s(n: int) -> list[int]:
    """Return the powers of two up to a number."""
    return [1 << x for x in range(max(n, 0).bit_length())]


def splits(
    axis: VirtualAxis, policy: str = "factors", num_outputs: int = 2, max_factor: int | None = None,
    filter: Callable[[SplitEntity], bool] | None = None, no_tail: bool | None = None,
    candidate: Sequence[Sequence[int]] | None = None,
) -> Knob:  # fmt: skip
    """Return the splits of an axis.

    Parameters
    ----------
    policy : str
        ``factors`` (divisors of the extent), ``power2``, ``verbose`` (both) or ``candidate``.
    no_tail : bool, optional
        Whether all splits are without remainder; by default so where factors are divisors.
    """
    if policy == "candidate":
        listed: Iterator[SplitEntity] = map(SplitEntity, candidate or ())
    else:
        factors = [f for f in _factors(policy, axis.length) if max_factor is None or f <= max_factor]
        exact = policy == "factors" if no_tail is None else no_tail
        # The innermost loop changes slowest.
        listed = (
            SplitEntity([-1, *reversed(inner)])
            for inner in _products(factors, num_outputs - 1, axis.length)
            if not exact or axis.length % math.prod(inner) == 0
        )
    taken = [entity for entity in listed if filter is None or filter(entity)]
    description = f"Split(policy={policy}, product={axis.length}, num_outputs={num_outputs})"
    return Knob(description, taken, num_outputs, axis.length)


def _factors(policy: str, length: int) -> list[int]:
    if policy == "factors":
        return get_factors(length)
    if policy == "power2":
        return get_pow2s(length)
    if policy == "verbose":
        return sorted({*get_factors(length), *get_pow2s(length)})
    raise ArgumentError(f"define_split: policy must be factors, power2, verbose or candidate, got {policy!r}")


def _products(factors: Sequence[int], count: int, most: int) -> Iterator[tuple[int, ...]]:
    """List sequences of factors whose product is at most a number; the last changes fastest."""
    if count == 0:
        yield ()
        return
    for first in factors:
        if first <= most:
            yield from ((first, *rest) for rest in _products(factors, count - 1, most // first))


def orders(
    axes: Sequence[VirtualAxis | Axis],
    policy: str = "all",
    interval: tuple[int, int] | None = None,
    candidate: Sequence[Sequence[VirtualAxis | Axis]] | None = None,
) -> Knob:
    """Return orders of loops."""
    places: list[Sequence[int]]
    count = len(axes)
    if policy == "identity":
        places = [range(count)]
    elif policy == "all":
        places = list(itertools.permutations(range(count)))
    elif policy == "interval_all":
        begin, end = interval or (0, count)
        rest = itertools.permutations(range(begin, end))
        places = [(*range(begin), *inner, *range(end, count)) for inner in rest]
    elif policy == "candidate":
        index = {id(axis): at for at, axis in enumerate(axes)}
        places = [[index[id(axis)] for axis in order] for order in candidate or ()]
    else:
        raise ArgumentError(f"define_reorder: policy must be identity, all, interval_all or candidate, got {policy!r}")
    return Knob(f"Reorder(policy={policy})", [ReorderEntity(order) for order in places], count)


_CHOICES = {
    "none": ("none",),
    "unroll": ("unroll",),
    "try_unroll": ("none", "unroll"),
    "try_vec": ("none", "vec"),
    "try_unroll_vec": ("none", "unroll", "vec"),
}
"""What each of the loops may become, by policy; at most one is vectorized."""


def loop_annotations(
    axes: Sequence[VirtualAxis | Axis], policy: str, candidate: Sequence[Sequence[str]] | None = None
) -> Knob:
    """Return annotations of loops."""
    if policy == "candidate":
        listed = [list(each) for each in candidate or ()]
    elif policy in _CHOICES:
        product = itertools.product(_CHOICES[policy], repeat=len(axes))
        listed = [list(each) for each in product if each.count("vec") <= 1]
    else:
        raise ArgumentError(
            f"define_annotate: policy must be candidate or one of {', '.join(_CHOICES)}, got {policy!r}"
        )
    return Knob(f"Annotate(policy={policy})", [AnnotateEntity(each) for each in listed], len(axes))


def options(candidate: Sequence[object]) -> Knob:
    """Return values that a template uses as it likes."""
    return Knob(f"OtherOption({list(candidate)})", [OtherOptionEntity(value) for value in candidate], 0)
