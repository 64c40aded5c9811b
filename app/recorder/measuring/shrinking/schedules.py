"""Replays a schedule on a smaller computation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.recorder.measuring.shrinking.definitions import NotShrinkable, defined_operations, extents_of, redefine
from app.recorder.measuring.shrinking.dimensions import Dimension, Dimensions
from app.recorder.measuring.shrinking.sizes import small_sizes
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IterVar, Var
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.factors import factors_of, with_factors
from compiler.te.scheduling.primitives import Primitive
from compiler.te.scheduling.replay import replay_onto
from compiler.te.scheduling.schedule import Schedule


@dataclass(frozen=True, slots=True)
class SmallSchedule:
    """A schedule of a smaller computation, whose ``args`` stand for the arguments of the original."""

    schedule: Schedule
    args: list[Tensor]


def shrink_schedule(schedule: Schedule, args: Sequence[Tensor | Var], ratio: int) -> SmallSchedule:
    """Apply the primitives of a schedule, with smaller factors, to the same computation of smaller tensors.

    An axis is at most ``ratio`` times, 2 or more, as long as its parts.  ::

        for i_outer in range(32):              for i_outer in range(4):
            for i_inner in range(32):     →        for i_inner in range(4):
                B[i_outer * 32 + i_inner]              B[i_outer * 4 + i_inner]
    """
    operations = defined_operations(schedule.outputs)
    dimensions = Dimensions()
    dimensions.read([*operations, *(op for p in schedule.primitives for op in p.operations)])
    extents: dict[Dimension, int] = {}
    for op in operations:
        extents.update(extents_of(op))
    factors = list(_factors(schedule.primitives, dimensions))
    numbers = numbers_of(dimensions, extents, [(factor.owner, factor.value) for factor in factors])
    tables = {
        owner: {value: value for value in values} if dimensions.is_fixed(owner) else small_sizes(values, ratio)
        for owner, values in numbers.items()
    }
    sizes = sizes_of(dimensions, extents, tables)
    small = redefine(operations, dimensions, sizes)
    new = Schedule([small[op] for op in schedule.outputs])
    threads: dict[IterVar, IterVar] = {}
    primitives = [_on_any_threads(_with_small_factors(p, dimensions, tables), threads) for p in schedule.primitives]
    try:
        mapped = replay_onto(new, primitives, small)
        return SmallSchedule(new, [mapped(a) for a in args if isinstance(a, Tensor)])
    except TVMError as error:
        raise NotShrinkable(f"the primitives cannot be applied to a smaller computation: {error}") from error


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor of a primitive, and the axis that it splits."""

    owner: Dimension
    value: int


def _factor_arguments(p: Primitive) -> dict[str, tuple[Var, int]]:
    """Return the axis and the value of each argument that is a factor."""
    arguments: dict[str, tuple[Var, int]] = {}
    for name, (axis, value) in factors_of(p).items():
        if not isinstance(value, int):
            raise NotShrinkable(f"{p.label} has a factor that is not constant")
        arguments[name] = axis.var, value
    return arguments


def _factors(primitives: Sequence[Primitive], dimensions: Dimensions) -> Iterator[_Factor]:
    """Yield the factors; the parts of an axis join its class."""
    for p in primitives:
        arguments = _factor_arguments(p)
        parents = [var for var, _ in arguments.values()]
        if arguments and isinstance(p.result, list | tuple):
            each = len(p.result) // 2 if p.name == "tile" else len(p.result)
            made = list(p.result)
            parts = [made[0::2], made[1::2]] if p.name == "tile" else [made[:each]]
            for parent, children in zip(parents, parts, strict=False):
                for child in children:
                    dimensions.join(child.var, parent)
        for var, value in arguments.values():
            yield _Factor(var, value)


def numbers_of(
    dimensions: Dimensions, extents: Mapping[Dimension, int], factors: Sequence[tuple[Dimension, int]]
) -> dict[Dimension, set[int]]:
    """Return the extents of each class of axes, and the factors that they are split by."""
    numbers: dict[Dimension, set[int]] = {}
    for member, value in [*extents.items(), *factors]:
        numbers.setdefault(dimensions.class_of(member), set()).add(value)
    return numbers


def sizes_of(
    dimensions: Dimensions, extents: Mapping[Dimension, int], tables: Mapping[Dimension, Mapping[int, int]]
) -> dict[Dimension, int]:
    """Return the extent of each class; those that are read at sums of axes are as long as the sums need."""
    sizes = {dimensions.class_of(m): tables[dimensions.class_of(m)][value] for m, value in extents.items()}
    needed: dict[Dimension, int] = {}
    for read in dimensions.affine:
        owner = dimensions.class_of(read.dimension)
        if dimensions.is_fixed(owner) or read.dimension not in extents:
            continue
        old = {v: extents[v] for v in read.coefficients if v in extents}
        if len(old) < len(read.coefficients):
            continue  # axes that a primitive made: the definitions say the same of the user's
        small = {v: sizes[dimensions.class_of(v)] for v in read.coefficients}
        spare = extents[read.dimension] - read.extent(old)
        if spare < 0:
            needed[owner] = extents[read.dimension]  # a condition keeps the reads inside
            continue
        slack = min(spare, 1) if read.coefficients else 0
        needed[owner] = max(needed.get(owner, 0), read.extent(small) + slack)
    for owner, extent in needed.items():
        sizes[owner] = max(extent, sizes[owner]) if _is_axis(dimensions, owner, extents) else extent
    return sizes


def _is_axis(dimensions: Dimensions, owner: Dimension, extents: Mapping[Dimension, int]) -> bool:
    return any(isinstance(m, Var) and dimensions.class_of(m) == owner for m in extents)


def _with_small_factors(
    p: Primitive, dimensions: Dimensions, tables: Mapping[Dimension, Mapping[int, int]]
) -> Primitive:
    arguments = _factor_arguments(p)
    if not arguments:
        return p
    return with_factors(p, {name: tables[dimensions.class_of(var)][value] for name, (var, value) in arguments.items()})


def _on_any_threads(p: Primitive, threads: dict[IterVar, IterVar]) -> Primitive:
    """Let thread axes be as long as the loops that are bound to them, whatever extent they were made with."""

    def free(value: object) -> object:
        if not isinstance(value, IterVar) or value.iter_type != IterVar.ThreadIndex:
            return value
        return threads.setdefault(value, IterVar(None, value.var, value.iter_type, value.thread_tag))

    if p.name != "bind":
        return p
    return replace(p, args=tuple(map(free, p.args)), kwargs={name: free(value) for name, value in p.kwargs.items()})
