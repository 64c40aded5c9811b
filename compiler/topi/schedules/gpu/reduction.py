"""GPU schedules of reductions: within one thread, or across the threads of a block.

References
----------
Harris, "Optimizing Parallel Reduction in CUDA", NVIDIA 2007: neighbouring threads read neighbouring elements, and add
their parts up in a tree.
"""

from __future__ import annotations

from compiler.ir.expr.primexpr import ProducerLoad
from compiler.ir.expr.substitute import free_vars
from compiler.ir.functor import nodes_of
from compiler.target.target import Target
from compiler.te import ComputeOp, Schedule, Stage
from compiler.te.definition.axis import thread_axis
from compiler.te.definition.tensor import Operation
from compiler.topi.schedules.gpu.kit import bind, bind_elements, block_threads, power_of_two, size

_MIN_PARTS = 32
"""Elements of a sum that more than one thread adds up: a warp's."""
_MAX_PARTS = 64
"""Threads of one sum; further ones of the block are for other sums."""
_MANY_RESULTS = 1 << 16
"""So many results keep a device busy with one thread each."""
_SOME_RESULTS = 1 << 12
"""So many do where neighbouring threads, each of which reduces an element alone, read neighbours in memory."""


def schedule_reduction(schedule: Schedule, stage: Stage, store: Stage, target: Target) -> None:
    """Bind a reduction to threads, and the step that stores it: itself, or a later one with as many elements."""
    length, count = size(stage.op.reduce_axis), size(stage.op.axis)
    if length is None or count is None or length < _MIN_PARTS or count >= _least_results(stage.op):
        _in_a_thread(schedule, stage, store, target)
    else:
        _across_a_block(schedule, stage, store, target, length, count)


def _least_results(op: Operation) -> int:
    """Return how many results are reduced by a thread each: fewer where what neighbours read lies side by side."""
    if not isinstance(op, ComputeOp) or not op.axis:
        return _MANY_RESULTS
    reads = [read for body in op.body for read in nodes_of(body, ProducerLoad)]
    reads_along = any(op.axis[-1].var in free_vars(read.indices[-1]) for read in reads if read.indices)
    return _SOME_RESULTS if reads_along else _MANY_RESULTS


def _in_a_thread(schedule: Schedule, stage: Stage, store: Stage, target: Target) -> None:
    """Reduce in the thread of the element, in its registers."""
    if store is stage and isinstance(stage.op, ComputeOp) and len(stage.op.body) == 1:
        stage = schedule[schedule.cache_write(stage.op.output(0), "local")]
    elif store is not stage:
        stage.set_scope("local")
    place = bind_elements(store, target)
    if store is not stage:
        stage.compute_at(store, place)


def _across_a_block(schedule: Schedule, stage: Stage, store: Stage, target: Target, length: int, count: int) -> None:
    """Reduce with some threads a result, and with as many results a block as fit."""
    threads = power_of_two(min(length, _MAX_PARTS, block_threads(target)))
    rows = min(block_threads(target) // threads, count)
    across_threads(schedule, stage, threads)
    block, row = store.split(store.fuse(*store.op.axis), factor=rows)
    bind(store, block, "blockIdx.x")
    bind(store, row, "threadIdx.y")
    if store is not stage:
        stage.compute_at(store, row)
    part = stage.iter_var_attrs[stage.op.reduce_axis[0]].bind_thread
    assert part is not None, "the parts are bound"
    store.set_store_predicate(part.var.equal(0))


def across_threads(schedule: Schedule, stage: Stage, threads: int) -> None:
    """Reduce across the threads ``threadIdx.x`` of a block, each of which reduces a part alone first."""
    tx = thread_axis((0, threads), "threadIdx.x")
    _, part = stage.split(stage.fuse(*stage.op.reduce_axis), factor=threads)
    parts = schedule.rfactor(stage.op.output(0), part)
    (reduced,) = stage.op.reduce_axis
    stage.bind(reduced, tx)
    schedule[parts[0] if isinstance(parts, list) else parts].compute_at(stage, reduced)
