"""Sampling, whose decisions are kept in the trace, and markers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IntImm, const
from compiler.tir.schedule.error import IllegalStepError
from compiler.tir.schedule.facts.conditions import is_output_block, scope_root
from compiler.tir.schedule.facts.roles import BLOCK, LOOP
from compiler.tir.schedule.primitives.compute_at import compute_at
from compiler.tir.schedule.primitives.navigation import consumers_of
from compiler.tir.schedule.random_variables import ExprRV, LoopRV
from compiler.tir.schedule.registry import SamplingResult, primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import loops_above, lowest_common_ancestor

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


@primitive("SampleCategorical", pure=True)
def sample_categorical(
    sch: Schedule, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
) -> SamplingResult[ExprRV]:
    """Draw one of some numbers.

    Probabilities need not sum up to 1; ``decision`` is the place of one of the numbers, instead of drawing. Raises
    ArgumentError if there are not as many probabilities as numbers, or none is positive.
    """
    if len(candidates) != len(probs) or not candidates:
        raise ArgumentError(f"sample_categorical: {len(candidates)} candidates, got {len(probs)} probs")
    if min(probs) < 0 or sum(probs) <= 0:
        raise ArgumentError(f"sample_categorical: probs must not be negative, nor all 0, got {show(list(probs))}")
    index = _index(decision, len(candidates), "sample_categorical")
    if index is None:
        index = sch.random.choices(range(len(candidates)), weights=[float(p) for p in probs])[0]
    return SamplingResult(int(candidates[index]), const(index))


def _index(decision: int | IntImm | None, count: int, operation: str) -> int | None:
    if decision is None:
        return None
    index = int(decision)
    if not 0 <= index < count:
        raise ArgumentError(f"{operation}: decision must be in [0, {count}), got {show(decision)}")
    return index


@primitive("SamplePerfectTile", pure=True, loop=LOOP)
def sample_perfect_tile(
    sch: Schedule, loop: StmtSRef, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
) -> SamplingResult[list[ExprRV]]:
    """Draw factors whose product is the number of iterations of a loop, to split it by.

    The last factor is at most ``max_innermost_factor``, -1 for any; of a loop without a constant number of iterations
    all but the first are 1. Raises ArgumentError if there is no such factor, or fewer than one factor is asked for.
    """
    if n < 1:
        raise ArgumentError(f"sample_perfect_tile: n must be positive, got {show(n)}")
    extent = loop.loop.extent
    if not isinstance(extent, IntImm):
        factors = [-1, *[1] * (n - 1)] if decision is None else [int(d) for d in decision]
    elif decision is None:
        factors = _perfect_tile(sch, extent.value, n, max_innermost_factor)
    else:
        factors = _fitted(extent.value, [int(d) for d in decision], n)
    return SamplingResult(factors, factors)


def _fitted(extent: int, factors: list[int], n: int) -> list[int]:
    """Return a decision that was made for another loop, as it fits this one: the outermost factor is what is left."""
    if len(factors) != n:
        raise ArgumentError(f"sample_perfect_tile: decision must have {n} factors, got {len(factors)}")
    fitted: list[int] = []
    left = extent
    for factor in reversed(factors[1:]):
        used = factor if factor > 0 and left % factor == 0 else left
        fitted.append(used)
        left //= used
    return [left, *reversed(fitted)]


def _perfect_tile(sch: Schedule, extent: int, n: int, max_innermost: int) -> list[int]:
    """Return factors that are drawn prime by prime."""
    if n == 1:
        return [extent]
    divisors = [d for d in range(1, extent + 1) if extent % d == 0]
    allowed = [d for d in divisors if max_innermost < 1 or d <= max_innermost]
    innermost = sch.random.choice(allowed)
    factors = [1] * (n - 1)
    for prime in _primes(extent // innermost):
        factors[sch.random.randrange(n - 1)] *= prime
    return [*factors, innermost]


def _primes(number: int) -> list[int]:
    primes: list[int] = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            primes.append(divisor)
            number //= divisor
        divisor += 1
    return [*primes, number] if number > 1 else primes


@primitive("SamplePartitionedTile", pure=True, loop=LOOP)
def sample_partitioned_tile(
    sch: Schedule,
    loop: StmtSRef,
    n: int,
    partition_pos: int = 0,
    innerpart_factor: int = 1,
    decision: Sequence[int] | None = None,
) -> SamplingResult[list[ExprRV]]:
    """Draw factors whose product is the number of iterations of a loop, in two groups.

    The outer group has ``partition_pos`` factors, and the product of the inner one is a multiple of
    ``innerpart_factor``; of a loop without a constant number of iterations all but the first are 1. Raises
    ArgumentError if fewer than one factor is asked for, or the groups cannot be as they are asked for.
    """
    if not 0 <= partition_pos < n:
        raise ArgumentError(
            f"sample_partitioned_tile: n must be positive and partition_pos in [0, n), got {n} and {partition_pos}"
        )
    extent = loop.loop.extent
    if not isinstance(extent, IntImm):
        factors = [-1, *[1] * (n - 1)] if decision is None else [int(d) for d in decision]
    elif decision is not None:
        factors = _fitted(extent.value, [int(d) for d in decision], n)
    elif extent.value % innerpart_factor:
        raise ArgumentError(
            f"sample_partitioned_tile: innerpart_factor {innerpart_factor} does not divide the {extent.value} "
            "iterations of the loop"
        )
    else:
        inner = [1] * (n - partition_pos)
        inner[-1] = innerpart_factor
        factors = [1] * partition_pos + inner
        for prime in _primes(extent.value // innerpart_factor):
            factors[sch.random.randrange(n)] *= prime
    return SamplingResult(factors, factors)


@primitive("SampleComputeLocation", pure=True, block=BLOCK)
def sample_compute_location(sch: Schedule, block: StmtSRef, decision: int | None = None) -> SamplingResult[LoopRV]:
    """Draw a place where a block can be computed: a loop of its consumers, none, or where it is used.

    A decision is the number of a loop around its consumers, from the outermost; -1 for none, -2 for where it is used.
    """
    choices = compute_locations(sch.state, block)
    if decision is None:
        index = sch.random.choice(list(choices))
    else:
        index = max((at for at in choices if at <= int(decision)), default=-1)
    return SamplingResult(choices[index], const(index))


def compute_locations(state: ScheduleState, block: StmtSRef) -> dict[int, StmtSRef]:
    """Return the places where a block can be computed, by their numbers."""
    places = {-2: StmtSRef.inline_mark(), -1: StmtSRef.root_mark()}
    scope = scope_root(state, block)
    consumers = consumers_of(state, block)
    if is_output_block(block, scope) or not consumers:
        return {-1: places[-1]}
    around = lowest_common_ancestor(consumers)
    loops = [*loops_above(around), *([] if around.is_block else [around])]
    for index, loop in enumerate(loops):
        if _can_compute_at(state, block, loop):
            places[index] = loop
    return places


def _can_compute_at(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> bool:
    """Return whether a block can be computed under a loop, by trying it."""
    twin, match = state.copy()
    try:
        compute_at(twin, match[block], match[loop])
    except IllegalStepError:
        return False
    return True


@primitive("EnterPostproc")
def enter_postproc(state: ScheduleState) -> None:
    """Mark where postprocessing begins: from here on a trace can be cut off."""
