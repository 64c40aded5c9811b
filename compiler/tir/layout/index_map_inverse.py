"""Inversion of index maps.

A map is a tuple of expressions, ``image``, of the variables that its domains are given for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from compiler.arith import Analyzer, IterMapLevel, IterSumExpr, eval_set
from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.arith.iterators.inverse_affine_iter_map import inverse_affine_iter_map
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import EQ, And, FloorDiv, FloorMod, IntImm, Max, Not, PrimExpr, Range, Var, binary, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Mutator, nodes_of


class InverseMap(NamedTuple):
    """A map back: each of ``indices``, in terms of the variables ``outputs`` that stand for the mapped indices."""

    outputs: tuple[Var, ...]
    indices: tuple[PrimExpr, ...]

    def applied_to(self, mapped: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Return what some mapped indices come from."""
        return image(self.indices, dict(zip(self.outputs, mapped, strict=True)), Analyzer())


def image(indices: Sequence[PrimExpr], values: Mapping[Var, PrimExpr], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
    """Return the indices of a map for values of its variables; constants have the data type of the first value."""
    dtype = next((value.dtype for value in values.values()), None)
    if all(value.dtype == var.dtype for var, value in values.items()):
        mapped = [substitute(index, values) for index in indices]
    else:
        mapped = [_RetypeVariables(values, dtype).visit(index) for index in indices]
    return tuple([analyzer.simplify(_typed(index, dtype)) for index in mapped])


class _RetypeVariables(Mutator):
    """Replaces the variables of a map by values of another data type, which its numbers then have as well."""

    def __init__(self, values: Mapping[Var, PrimExpr], dtype: str | None) -> None:
        self._values = values
        self._dtype = dtype

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._values.get(n, n)

    def visit_IntImm(self, n: IntImm) -> PrimExpr:
        return n if n.dtype == "bool" else _typed(n, self._dtype)


def image_ranges(
    indices: Sequence[PrimExpr], domains: Mapping[Var, Range], analyzer: Analyzer | None = None
) -> list[Range]:
    """Return a box that holds what a map makes of some domains, the padding of blocks included."""
    analyzer = analyzer or Analyzer()
    detected = detect_iter_map(indices, domains, True, IterMapLevel.NoCheck, simplify_trivial_iterators=False)
    splits = [split for index in detected.indices for split in index.args]
    if detected.indices and all(analyzer.can_prove(split.scale > 0) for split in splits):
        return [Range.from_fields(index.base, _extent(index, analyzer)) for index in detected.indices]
    ranges = []
    for index in indices:
        interval = eval_set(index, domains, analyzer)
        extent = analyzer.simplify(interval.max_value - interval.min_value + 1)
        ranges.append(Range.from_fields(analyzer.simplify(interval.min_value), extent))
    return ranges


def _extent(index: IterSumExpr, analyzer: Analyzer) -> PrimExpr:
    """Return how many values there are from the first one of a sum to the end of its last step."""
    steps = [split.extent * split.scale for split in index.args]
    return analyzer.simplify(reduce(lambda a, b: binary(Max, a, b), steps)) if steps else const(1, index.dtype)


def image_shape(indices: Sequence[PrimExpr], domains: Mapping[Var, Range]) -> tuple[PrimExpr, ...]:
    """Return the shape of a box from zero that holds what a map makes of some domains."""
    analyzer = Analyzer.knowing(domains)
    shape = []
    for index, values in zip(indices, image_ranges(indices, domains, analyzer), strict=True):
        if analyzer.can_prove(values.min < 0):
            raise ArgumentError(f"IndexMap.map_shape: {index} is negative for some elements, from {values.min} on")
        shape.append(analyzer.simplify(values.min + values.extent))
    return tuple(shape)


def bijective_inverse(indices: Sequence[PrimExpr], domains: Mapping[Var, Range]) -> InverseMap | None:
    """Return the map back of one that is one to one, and onto a box of whole blocks; else None."""
    if _needs_padding(indices, domains):
        return None
    result = detect_iter_map(indices, domains, True, IterMapLevel.Bijective, simplify_trivial_iterators=False)
    return _inverse(indices, result.indices, domains) if result.indices else None


def _needs_padding(indices: Sequence[PrimExpr], domains: Mapping[Var, Range]) -> bool:
    detected = detect_iter_map(indices, domains, True, IterMapLevel.NoCheck, simplify_trivial_iterators=False)
    return bool(detected.indices) and not isinstance(detected.padding_predicate, IntImm)


def injective_inverse(indices: Sequence[PrimExpr], domains: Mapping[Var, Range]) -> tuple[InverseMap, PrimExpr] | None:
    """Return the map back of one that is one to one, and which mapped indices come from no index of the domains.

    None if two indices may be mapped to the same one.
    """
    with_padding = _inverse_with_padding(indices, domains)
    if with_padding is not None:
        return with_padding
    for padded in _padded(indices, domains):
        inverse = bijective_inverse(indices, padded)
        if inverse is not None:
            return inverse, _unused(indices, inverse, domains, padded)
    return None


def _inverse(indices: Sequence[PrimExpr], iterators: Sequence[IterSumExpr], domains: Mapping[Var, Range]) -> InverseMap:
    """Return the map from the values of iterators to the variables that they are made of."""
    outputs = tuple([Var(f"axis{position}", index.dtype) for position, index in enumerate(indices)])
    values = inverse_affine_iter_map(iterators, outputs)
    simplify = Analyzer().simplify
    return InverseMap(outputs, tuple([simplify(values.get(var, domain.min)) for var, domain in domains.items()]))


def _inverse_with_padding(
    indices: Sequence[PrimExpr], domains: Mapping[Var, Range]
) -> tuple[InverseMap, PrimExpr] | None:
    """Return the map back where iterators begin or end inside of a block, and which mapped indices are padding then.

    None if there is no padding, or two indices may be mapped to the same one.
    """
    detected = detect_iter_map(indices, domains, True, IterMapLevel.NoCheck, simplify_trivial_iterators=False)
    if not detected.indices or isinstance(detected.padding_predicate, IntImm):
        return None
    inverse = _inverse(indices, detected.indices, domains)
    if not _undoes(inverse, indices, domains):
        return None
    analyzer = _knowing_outputs(inverse, image_shape(indices, _from_zero(domains)))
    back = dict(zip(domains, inverse.indices, strict=True))
    return inverse, analyzer.simplify(substitute(detected.padding_predicate, back))


def _undoes(inverse: InverseMap, indices: Sequence[PrimExpr], domains: Mapping[Var, Range]) -> bool:
    """Return whether a map back is known to give back each index of some domains.

    Indices are counted from what mapped indices of zero come from: blocks begin there, which is easier to simplify.
    """
    analyzer = Analyzer()
    origin = inverse.applied_to([const(0, var.dtype) for var in inverse.outputs])
    shifted: dict[Var, PrimExpr] = {}
    for (var, domain), first in zip(domains.items(), origin, strict=True):
        from_first = Var(var.name, var.dtype)
        analyzer.bind(from_first, Range.from_min_extent(analyzer.simplify(domain.min - first), domain.extent))
        shifted[var] = from_first + first
    mapped = [substitute(index, shifted) for index in indices]
    for values in (mapped, [analyzer.simplify(value) for value in mapped]):  # either may be what is recognized
        back = dict(zip(inverse.outputs, values, strict=True))
        again = [substitute(index, back) for index in inverse.indices]
        if all(analyzer.can_prove_equal(a, shifted[var]) for a, var in zip(again, domains, strict=True)):
            return True
    return False


def _padded(indices: Sequence[PrimExpr], domains: Mapping[Var, Range]) -> Iterator[Mapping[Var, Range]]:
    """Yield the domains, then larger ones that the divisors of the map divide evenly."""
    yield domains
    divisors: dict[Var, list[int]] = {var: [] for var in domains}
    for n in (n for index in indices for n in nodes_of(index, FloorDiv, FloorMod)):
        if isinstance(n.b, IntImm):
            for var in free_vars(n.a):
                divisors.get(var, []).append(n.b.value)
    for combine in (lambda numbers: math.lcm(*numbers), math.prod):
        yield {var: _rounded(domain, combine(divisors[var] or [1])) for var, domain in domains.items()}


def _unused(
    indices: Sequence[PrimExpr], inverse: InverseMap, domains: Mapping[Var, Range], padded: Mapping[Var, Range]
) -> PrimExpr:
    """Return which mapped indices come from no index of the domains, or from one that is mapped to another index."""
    analyzer = _knowing_outputs(inverse, image_shape(indices, _from_zero(padded)))
    origins = zip(inverse.indices, domains.values(), strict=True)
    images = image(indices, dict(zip(domains, inverse.indices, strict=True)), Analyzer())
    conditions = [value < domain.min + domain.extent for value, domain in origins]
    conditions += [EQ(mapped, var) for mapped, var in zip(images, inverse.outputs, strict=True)]
    needed = [analyzer.simplify(condition) for condition in conditions if not analyzer.can_prove(condition)]
    return analyzer.simplify(Not(reduce(And, needed))) if needed else const(False)


def _knowing_outputs(inverse: InverseMap, shape: Sequence[PrimExpr]) -> Analyzer:
    """Return an analyzer that knows the mapped indices to lie in a box from zero."""
    pairs = zip(inverse.outputs, shape, strict=True)
    return Analyzer.knowing({var: Range.from_fields(const(0, var.dtype), extent) for var, extent in pairs})


def _from_zero(domains: Mapping[Var, Range]) -> dict[Var, Range]:
    return {
        var: Range.from_fields(const(0, var.dtype), _typed(domain.extent, var.dtype)) for var, domain in domains.items()
    }


def _typed(value: PrimExpr, dtype: str | None) -> PrimExpr:
    return const(value.value, dtype) if isinstance(value, IntImm) and dtype is not None else value


def _rounded(domain: Range, factor: int) -> Range:
    if not isinstance(domain.extent, IntImm):
        return domain
    return Range.from_fields(domain.min, const(-(-domain.extent.value // factor) * factor, domain.extent.dtype))
