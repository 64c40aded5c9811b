"""Distributes copy loops over the threads of a block with coalesced accesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

import numpy as np

from compiler.arith import Analyzer
from compiler.arith.extents import product_of_extents
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.tir.expressions.arithmetic import floordiv, floormod
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import For, ForKind, IfThenElse, Stmt, seq
from compiler.tir.warp_access.index_values import DataDependentError, IndexValues


@dataclass(frozen=True, slots=True)
class ThreadLoop:
    """A loop whose iterations are carried out by threads."""

    var: Var
    extent: PrimExpr
    tag: str  # the thread axis, such as `threadIdx.x`


@dataclass(frozen=True, slots=True)
class CoalescedCopy:
    """A copy in loops: serial, of threads, and vectorized, from the outside in."""

    outer: Var  # counts the rounds in which all threads copy once
    rounds: PrimExpr
    threads: tuple[ThreadLoop, ...]
    lane: Var  # counts the elements that a thread copies at once
    lanes: int
    guards: tuple[PrimExpr, ...]  # what must hold for an element to be copied
    body: Stmt

    def nest(self) -> Stmt:
        """Return the loops, those of threads inside of the serial one."""
        return _loop(self.outer, self.rounds, self._by_threads(self._vectorized(self.body)))

    def staged(self, name: str) -> tuple[Stmt, Buffer] | None:
        """Return the loops with a stage in registers, and its buffer: a thread loads all before it stores any.

        None if the body is anything but a store, or not a constant number of elements is staged.
        """
        store = self.body
        if not isinstance(store, BufferStore) or not isinstance(self.rounds, IntImm):
            return None
        places = _places_of_thread(self, self.rounds.value, store)
        local = decl_buffer([extent for _, extent in places], store.buffer.dtype, f"{name}_local", scope="local")
        indices = tuple([index for index, _ in places])
        loading = replace(self, outer=_cache(self.outer), lane=_cache(self.lane))
        renamed = {self.outer: loading.outer, self.lane: loading.lane}
        load = BufferStore(local, substitute(store.value, renamed), substitute(indices, renamed))
        loading = replace(loading, guards=substitute(self.guards, renamed))
        unloading = rebuild(store, value=BufferLoad(local, indices))
        stages = [
            _loop(copy.outer, self.rounds, copy._vectorized(body))
            for copy, body in ((loading, load), (self, unloading))
        ]
        return self._by_threads(seq(stages)), local

    def _vectorized(self, body: Stmt) -> Stmt:
        for guard in reversed(self.guards):
            body = IfThenElse(guard, body)
        return _loop(self.lane, const(self.lanes, self.lane.dtype), body, ForKind.VECTORIZED)

    def _by_threads(self, body: Stmt) -> Stmt:
        for thread in reversed(self.threads):
            axis = IterVar(None, Var("", thread.var.dtype), IterVar.ThreadIndex, thread.tag)
            body = For(thread.var, const(0, thread.var.dtype), thread.extent, ForKind.THREAD_BINDING, body, axis)
        return body


def loops_around(stmt: Stmt) -> tuple[list[For], tuple[PrimExpr, ...], Stmt]:
    """Return the loops that do nothing but contain another, the conditions that do, and what is innermost."""
    loops: list[For] = []
    conditions: list[PrimExpr] = []
    while True:
        if isinstance(stmt, For) and stmt.thread_binding is None and not conditions:
            loops.append(stmt)
            stmt = stmt.body
        elif isinstance(stmt, IfThenElse) and stmt.else_case is None:
            conditions.append(stmt.condition)
            stmt = stmt.then_case
        else:
            return loops, tuple(conditions), stmt


def in_order_of(loops: Sequence[For], indices: Sequence[PrimExpr]) -> list[For]:
    """Return the loops in the order in which indices change, the last one fastest; unchanged where that is unclear."""
    variables = [loop.loop_var for loop in loops]
    order: dict[Var, tuple[int, int]] = {}
    for dimension, index in enumerate(indices):
        for var, step in zip(variables, detect_linear_equation(index, variables), strict=False):
            if is_const_int(step, 0):
                continue
            if not isinstance(step, IntImm) or var in order:
                return list(loops)
            order[var] = dimension, -step.value
    if len(order) < len(loops):
        return list(loops)
    return sorted(loops, key=lambda loop: order[loop.loop_var])


def share_out(
    loops: Sequence[For], conditions: tuple[PrimExpr, ...], body: Stmt, threads: Mapping[str, PrimExpr], lanes: int
) -> CoalescedCopy:
    """Fuse loops, and split them among rounds, threads and the lanes of a vector.

    The thread axis that changes fastest comes last; a thread copies ``lanes`` elements at once.
    """
    simplify = Analyzer().simplify
    dtype = loops[0].loop_var.dtype
    name = "_".join(loop.loop_var.name for loop in loops) + "_fused"
    names = (f"{name}_{number}" for number in range(len(threads) + 2))
    outer = Var(next(names), dtype)
    bound = tuple([ThreadLoop(Var(next(names), dtype), extent, tag) for tag, extent in threads.items()])
    lane = Var(next(names), dtype)
    place: PrimExpr = outer
    for thread in bound:
        place = place * thread.extent + thread.var
    place = place * lanes + lane
    step = simplify(prod((thread.extent for thread in bound), start=const(lanes, dtype)))
    total = product_of_extents([loop.extent for loop in loops], Analyzer())
    values, rest = {}, place
    for loop in reversed(loops):
        values[loop.loop_var] = _from(loop, floormod(rest, loop.extent))
        rest = floordiv(rest, loop.extent)
    guards = substitute(conditions, values, fold=True)
    if not Analyzer().can_prove(floormod(total, step) == 0):
        guards = (place < total, *guards)
    rounds = simplify(floordiv(total + (step - 1), step))
    return CoalescedCopy(outer, rounds, bound, lane, lanes, guards, substitute(body, values, fold=True))


def _from(loop: For, value: PrimExpr) -> PrimExpr:
    return value if is_const_int(loop.min, 0) else loop.min + value


def _loop(var: Var, extent: PrimExpr, body: Stmt, kind: ForKind = ForKind.SERIAL) -> For:
    return For(var, const(0, var.dtype), extent, kind, body)


def _cache(var: Var) -> Var:
    return Var(f"{var.name}_cache", var.dtype)


def _places_of_thread(copy: CoalescedCopy, rounds: int, store: BufferStore) -> list[tuple[PrimExpr, int]]:
    """Return indices into the registers of a thread, each with its extent.

    Those of the store with what only other threads reach left out, where that is a box; else round and lane.
    """
    direct: list[tuple[PrimExpr, int]] = [(copy.outer, rounds), (copy.lane, copy.lanes)]
    counted = {copy.outer: np.arange(rounds)[:, None], copy.lane: np.arange(copy.lanes)[None, :]}
    others = {var: const(0, var.dtype) for var in free_vars(store.indices) if var not in counted}
    try:
        places = [_compacted(substitute(index, others, fold=True), counted) for index in store.indices]
    except DataDependentError:
        return direct
    compacted = [place for place in places if place is not None]
    if len(compacted) < len(places) or prod(extent for _, extent in compacted) != rounds * copy.lanes:
        return direct
    flat = np.zeros((rounds, copy.lanes), "int64")
    for index, extent in compacted:
        flat = flat * extent + IndexValues(counted).visit(index)
    return compacted if len(np.unique(flat)) == flat.size else direct


def _compacted(index: PrimExpr, counted: Mapping[Var, np.ndarray]) -> tuple[PrimExpr, int] | None:
    """Return an index without gaps, and its extent; None if it is no sum of what it is for each variable."""
    shape = np.broadcast_shapes(*[values.shape for values in counted.values()])
    all_values = np.broadcast_to(IndexValues(counted).visit(index), shape)
    parts = list(_parts(index, counted))
    if not np.array_equal(sum((values for _, values in parts), np.zeros((), "int64")) + 0 * all_values, all_values):
        return None
    result: PrimExpr = const(0, index.dtype)
    below = 1
    for part, values in reversed(parts):
        step = gcd(*values.ravel().tolist())
        if step == 0:
            continue
        result = floordiv(part, const(step, index.dtype)) * below + result
        below *= int(values.max()) // step + 1
    return result, below


def _parts(index: PrimExpr, counted: Mapping[Var, np.ndarray]) -> Iterator[tuple[PrimExpr, np.ndarray]]:
    """Yield what an index is for each variable alone, the others being zero, with its values."""
    for var, values in counted.items():
        zero = {other: const(0, other.dtype) for other in counted if other is not var}
        part = substitute(index, zero, fold=True)
        yield part, np.asarray(IndexValues({var: values}).visit(part)) + 0 * values
