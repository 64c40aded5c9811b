"""Why a primitive might pay: read off the loops that a schedule is lowered to, before it and after it."""

from __future__ import annotations

from collections.abc import Mapping

from app.recorder.environment import CACHES, CORES
from app.recorder.proposals.candidates import Annotate, Candidate, Fuse, Reorder, Split
from app.recorder.proposals.strides import Stride, strides
from compiler.ir.module import IRModule
from compiler.ir.primexpr import IterVar
from compiler.target.caches import TYPICAL
from compiler.target.target import Target
from compiler.te.schedule import Schedule
from compiler.te.stage import AttachType, Stage
from compiler.tir.analysis.memory_traffic import memory_traffic
from compiler.tir.function import PrimFunc

LESS = 0.8
"""Share of the bytes that a primitive leaves at most, where moving fewer of them is worth a word."""
MAX_UNROLLED = 16
"""Iterations of a loop that is worth unrolling."""
Extents = Mapping[IterVar, int]
"""Iterations of each loop, as far as they are constants."""


class Gains:
    """Says why primitives might pay for one schedule.

    Parameters
    ----------
    schedule : Schedule
    func : PrimFunc
        What it is lowered to.
    extents : mapping of IterVar to int
    target : Target
    """

    def __init__(self, schedule: Schedule, func: PrimFunc, extents: Extents, target: Target) -> None:
        self._schedule = schedule
        self._func = func
        self._extents = extents
        self._target = target
        self._moved = _traffic(func)

    def gain(self, candidate: Candidate, after: IRModule) -> str:
        """Return why a candidate might pay, in a sentence; empty where nothing speaks for it.

        Parameters
        ----------
        candidate : Candidate
        after : IRModule
            What the schedule is lowered to with it.
        """
        match candidate:
            case Annotate(primitive="vectorize"):
                return self._vectorize(candidate)
            case Annotate(primitive="parallel"):
                return self._parallel(candidate)
            case Annotate(primitive="unroll"):
                return self._unroll(candidate)
            case Split():
                return self._split(candidate)
            case Reorder():
                return self._reorder(candidate) or self._fewer_bytes(after)
            case Fuse():
                return self._fuse(candidate)
        return self._fewer_bytes(after)

    def fewer_bytes_by_tile(self, after: IRModule) -> str:
        """Return why a split might pay whose inner loop is moved inside, by what that is lowered to."""
        gain = self._fewer_bytes(after)
        return f"with the inner loop moved inside, it {gain}" if gain else ""

    def _vectorize(self, candidate: Annotate) -> str:
        axis, steps = self._steps(candidate)
        stores = [step for step in steps if step.write]
        if self._stage(candidate).leaf_iter_vars[-1] is not axis or not stores or not _unit(stores):
            return ""
        lanes, extent = self._target.vector_width(stores[0].dtype), self._extents.get(axis)
        if lanes < 2 or extent is None or extent > 4 * lanes:
            return ""
        return f"it is innermost and walks {stores[0].buffer} element by element; a vector holds {lanes}"

    def _parallel(self, candidate: Annotate) -> str:
        stage, axis = self._stage(candidate), self._axis(candidate)
        attrs = stage.iter_var_attrs.values()
        parallel = any(attr.iter_type == IterVar.Parallelized or attr.bind_thread for attr in attrs)
        extent = self._extents.get(axis)
        outermost = candidate.loop == 0 and stage.attach_type is AttachType.ROOT
        if not outermost or parallel or extent is None or extent < 2:
            return ""
        return f"no loop of {stage.op.name} is parallel; its outermost has {extent:,} iterations for {CORES} cores"

    def _unroll(self, candidate: Annotate) -> str:
        stage, axis = self._stage(candidate), self._axis(candidate)
        attr = stage.iter_var_attrs.get(axis)
        extent = self._extents.get(axis)
        inner = candidate.loop >= len(stage.leaf_iter_vars) - 2
        if not inner or extent is None or not 1 < extent <= MAX_UNROLLED or (attr and attr.iter_type is not None):
            return ""
        return f"only {extent} iterations: no counter is left, and values stay in registers from one to the next"

    def _split(self, candidate: Split) -> str:
        axis, steps = self._steps(candidate)
        stores = [step for step in steps if step.write]
        extent = self._extents.get(axis)
        if not stores or not _unit(stores) or extent is None or extent % candidate.factor:
            return ""
        lanes = self._target.vector_width(stores[0].dtype)
        if candidate.factor != lanes or lanes < 2 or extent <= 4 * lanes:
            return ""
        return f"the inner loop is then one vector of {lanes} {stores[0].dtype} of {stores[0].buffer}"

    def _reorder(self, candidate: Reorder) -> str:
        order = candidate.order(self._schedule)
        last, new = self._stage(candidate).leaf_iter_vars[-1], order[-1]
        if last.iter_type != IterVar.CommReduce or new.iter_type == IterVar.CommReduce:
            return ""
        stores = [step for step in strides(self._func, new.var) if step.write]
        if not stores or not _unit(stores):
            return ""
        return (
            f"the reduction {last.var.name} is innermost, each addition waiting for the one before; the sums along "
            f"{new.var.name} are independent neighbours"
        )

    def _fuse(self, candidate: Fuse) -> str:
        stage, extent = self._stage(candidate), self._extents.get(self._axis(candidate))
        if candidate.loop or stage.attach_type is not AttachType.ROOT or extent is None or extent >= 2 * CORES:
            return ""
        return f"the outermost loop has {extent} iterations, few to share out among {CORES} cores"

    def _fewer_bytes(self, after: IRModule) -> str:
        """Return what a primitive saves in the first cache that it saves something in."""
        [func] = (f for f in after.functions.values() if isinstance(f, PrimFunc))
        for (name, before), (_, now) in zip(self._moved.items(), _traffic(func).items(), strict=True):
            if before is not None and now is not None and now <= LESS * before:
                return f"moves {_size(now)} into {name} instead of {_size(before)}"
        return ""

    def _stage(self, candidate: Candidate) -> Stage:
        return self._schedule.stages[candidate.stage]

    def _axis(self, candidate: Annotate | Split | Fuse) -> IterVar:
        return candidate.axis(self._schedule)

    def _steps(self, candidate: Annotate | Split) -> tuple[IterVar, list[Stride]]:
        axis = self._axis(candidate)
        return axis, strides(self._func, axis.var)


def _unit(steps: list[Stride]) -> bool:
    return all(step.elements == 1 for step in steps)


def _traffic(func: PrimFunc) -> dict[str, float | None]:
    """Return the bytes that a function moves into each cache, by the model of its loops."""
    return {level.name: memory_traffic(func, level.size, level.line) for level in CACHES or TYPICAL}


def _size(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.3g} {unit}"
        number /= 1024
    return f"{number:.3g} GiB"
