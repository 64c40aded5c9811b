"""Shared by all kernel schedules: extents, tile sizes, vectors and parallel loops."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, IntImm, IterVar
from compiler.ir.functor import nodes_of
from compiler.target.target import Target
from compiler.te import ComputeOp, PlaceholderOp, Stage, Tensor
from compiler.te.definition.tensor import Operation
from compiler.te.lowering.message_passing import pass_down_domain
from compiler.tir.expressions.builtin import IF_THEN_ELSE, is_call

MAX_CORES = 64
"""Iterations of a parallel loop that no machine has more cores than."""
SOME_CORES = 16
"""Iterations that leave no core of usual machines without work."""
_MANY_PARTS = 16
"""How many times as many parts as are needed are tried, before a loop is fused as a whole."""
_PARTITION = "loop_partition_hint"
MIN_LANES = 4
"""Lanes of the narrowest vector that pays."""
MIN_PARALLEL_WORK = 16384
"""Elements, or steps of a reduction, that take some microseconds.

Where other cores have been at work shortly before, less would do; where they sleep, or compute for others, a loop waits
for them 5 to 60 microseconds, more than a small model takes."""
_VECTORS_OF_FUNCTIONS = 4
"""Vectors that a function such as exp is computed for at once: steps of one wait for each other, those of others do
not."""
_MIN_TILE_BITS, _WIDE_BITS = 128, 512
_OPERAND_REGISTERS = 4
"""Vector registers that a tile leaves for what is multiplied."""
_MAX_NARROW_REGISTERS = 28
"""Vector registers that a tile counts on where one holds less than 16 floats, which rows of the result come in: of
AArch64's 32, LLVM needs some for itself."""


# sizes


def extent(axis: IterVar) -> int | None:
    """Return the extent of an axis, None if it is symbolic or the axis was made by a schedule."""
    dom = axis.dom
    return dom.extent.value if dom is not None and isinstance(dom.extent, IntImm) else None


def divisor(number: int | None, limit: int) -> int:
    """Return the largest divisor of a number up to a limit; None, an extent that is not a constant, has 1 only."""
    return divisors(number, limit)[-1]


def divisors(number: int | None, limit: int) -> list[int]:
    """Return the divisors of a number up to a limit, in order; 0 and None, an unknown extent, have 1 only."""
    return [1] if not number else [d for d in range(1, min(limit, number) + 1) if number % d == 0]


def even_tile(number: int, limit: int) -> int:
    """Return the size of tiles that cover a number with little waste: a divisor if there is none too small."""
    best = divisor(number, limit)
    return best if 2 * best > min(limit, number) else -(-number // -(-number // limit))


def tile_for_cores(number: int, limit: int, around: int, cores: int) -> int:
    """Return the size of :func:`even_tile`, or one so small that tiles, with the loops around, are enough for cores."""
    size = even_tile(number, limit)
    while size > 1 and around * -(-number // size) < cores:
        size = even_tile(number, size - 1)
    return size


def tile_lanes(target: Target, dtype: str = "float32") -> int:
    """Return how many elements the vectors of a register tile have; LLVM splits them where registers are narrower."""
    return max(target.vector_width(dtype), _MIN_TILE_BITS // dt.bits(dtype))


def accumulators(target: Target) -> int:
    """Return how many vectors a register tile may have, so that registers are left for what is multiplied."""
    return tile_registers(target) - _OPERAND_REGISTERS


def tile_registers(target: Target) -> int:
    """Return how many vector registers a register tile may take, with what is multiplied."""
    registers = target.vector_registers
    return registers if target.vector_bits >= _WIDE_BITS else min(registers, _MAX_NARROW_REGISTERS)


# loops


def is_worth_parallel(op: Operation, lanes: int = 1) -> bool:
    """Return whether an operation, in vectors, is work enough to wake other cores for; one of symbolic extents is."""
    extents = [extent(axis) for axis in op.root_iter_vars]
    return None in extents or math.prod(e for e in extents if e is not None) >= MIN_PARALLEL_WORK * lanes


def parallel(stage: Stage, axes: Sequence[IterVar]) -> IterVar | None:
    """Run the outermost loops of a stage on several cores, fused to one loop with iterations for many of them.

    ``axes`` has the loops, outermost first; one of unknown extent counts as enough for every core.  The last one is
    fused in as few parts as it takes::

        for i in range(2): for j in range(128):   →   for i_jo in T.parallel(64): for ji in range(4):

    Loops with partial tiles stay as they are where there is work for some cores.  The loop is returned, None if there
    is only one iteration.
    """
    domains = {axis: axis.dom for axis in stage.op.root_iter_vars if axis.dom is not None}
    pass_down_domain(stage, domains, Analyzer())
    iterations, enough, fused = 1, MAX_CORES, list[IterVar]()
    for axis in axes:
        if _has_partial_tile(stage, axis):
            enough = SOME_CORES
        if iterations >= enough:
            break
        size = domains[axis].extent
        parts = size.value if isinstance(size, IntImm) else MAX_CORES
        if fused and isinstance(size, IntImm):
            needed = -(-enough // max(iterations, 1))
            some = range(needed, min(size.value, _MANY_PARTS * needed) + 1)
            parts = next((number for number in some if size.value % number == 0), size.value)
            if parts < size.value:
                axis, _ = stage.split(axis, nparts=parts)
        iterations *= parts
        fused.append(axis)
    if iterations <= 1:
        return None
    loop = fused[0] if len(fused) == 1 else stage.fuse(*fused)
    stage.parallel(loop)
    return loop


def _has_partial_tile(stage: Stage, axis: IterVar) -> bool:
    attr = stage.iter_var_attrs.get(axis)
    return attr is not None and any(key == _PARTITION for key, _ in attr.pragmas)


def partition_partial_tile(stage: Stage, axis: IterVar, outer: IterVar, factor: int, of: int | None = None) -> None:
    """Let full tiles be computed without conditions where the last one is partial, of an axis or ``of`` its parts."""
    if (size := of or extent(axis)) is not None and size % factor:
        stage.pragma(outer, _PARTITION)


def fetch(tile: Stage, weight: Tensor, axis: IterVar, target: Target, ahead: int = 0) -> None:
    """Fetch what is read of a weight some steps later; for 0 what tiles are multiplied with after all that share one.

    What no cache has left comes from far away.  It was measured on x86 alone, where it is one more instruction for
    each row of a panel.
    """
    if "x86_64" in target.triple and isinstance(weight.op, PlaceholderOp):
        tile.prefetch(weight, axis, ahead or 1, shared=ahead == 0)


def vectorize_elements(
    stage: Stage, lanes: int, is_contiguous: bool = False, on_cores: bool | None = None, at_once: int = 1
) -> IterVar | None:
    """Compute the elements of a stage in vectors along its last axis, and its outer loops on several cores.

    So many vectors are computed ``at_once``, a power of two, or less where only those are whole.  Where ``on_cores`` is
    None, its work decides that.  Loops of a reduction stand between the outer loops and the vectors.  Where all that is
    read has the shape of the result, ``is_contiguous``, vectors run along as many axes as fill one.  The loop on
    several cores is returned, if there is one.
    """
    axes = list(stage.op.axis)
    if not axes:
        return None
    size, inner = extent(axes[-1]), None
    if is_contiguous:
        axes, size = _fuse_to_vectors(stage, axes, lanes * at_once)
    *outer, last = axes
    if lanes > 1 and size is not None and size >= MIN_LANES:
        while at_once > 1 and size % lanes == 0 and size % (lanes * at_once):
            at_once //= 2
        last, inner = stage.split(last, factor=_vector_factor(size, lanes * at_once))
    stage.reorder(*outer, last, *stage.op.reduce_axis, *([inner] if inner is not None else []))
    if inner is not None:
        stage.vectorize(inner)
    is_worth = is_worth_parallel(stage.op) if on_cores is None else on_cores
    return parallel(stage, [*outer, last]) if is_worth else None


def vectors_at_once(op: Operation, stored: Collection[Operation]) -> int:
    """Return how many vectors are computed at once: several of floating-point functions, else 1.

    What is not ``stored`` is computed with what reads it.
    """
    widths, computed, seen = list[int](), [op], {op}
    while computed:
        current = computed.pop()
        if not isinstance(current, ComputeOp):
            continue
        calls = (call for call in nodes_of(current.body, Call) if not is_call(call, IF_THEN_ELSE))
        # those of halves are computed in single precision
        widths += [max(dt.storage_bytes(call.dtype), 4) for call in calls if dt.is_float(call.dtype)]
        inlined = {tensor.op for tensor in current.input_tensors} - seen - set(stored)
        seen |= inlined
        computed += inlined
    if not widths:
        return 1
    width = min(dt.storage_bytes(op.output(0).dtype), max(widths))
    return max(_VECTORS_OF_FUNCTIONS * width // max(widths), 1)


def _fuse_to_vectors(stage: Stage, axes: list[IterVar], lanes: int) -> tuple[list[IterVar], int | None]:
    """Fuse inner axes until their extent is a multiple of a vector; return all axes, and that extent."""
    sizes = [extent(a) for a in axes]
    count, size = 1, sizes[-1]
    while size is not None and size % lanes and count < len(axes) and (outer := sizes[-count - 1]) is not None:
        count, size = count + 1, size * outer
    return (axes if count == 1 else [*axes[:-count], stage.fuse(*axes[-count:])]), size


def _vector_factor(size: int, lanes: int) -> int:
    """Return how many lanes vectors along an extent have: the last of many is partial, few are all the same."""
    if size > 2 * lanes:
        return lanes
    return next((n for n in range(min(lanes, size), lanes // 4, -1) if size % n == 0), min(lanes, size))
