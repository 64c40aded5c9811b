"""Runs functions as their loops may run: parallel and vectorized ones in any order, and without touching each other.

A loop whose iterations run together, by threads or as lanes, must not care for their order, and no element may be
written by one of them that another one reads or writes, unless all write the same value before they read it.  Both are
checked while the iterations run in a random order.  Memory that nothing was written to holds NaN, or a number that
programs here do not compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from numpy.typing import NDArray

from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.module import IRModule
from compiler.tir.interpreter import interpret
from compiler.tir.printing.python_source import PythonSource
from compiler.tir.statements import memory
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind
from compiler.tir.statements.stmt_functor import post_order_visit
from compiler.tir.transform import PlanAndUpdateBufferAllocationLocation
from tests.properties.guarded import without_contents

__all__ = ["RaceError", "junk", "run_in_any_order"]


class RaceError(AssertionError):
    """Two iterations of a loop whose iterations run together access an element, and one of them writes it."""


def junk(dtype: Any) -> Any:
    """Return what memory holds that nothing was written to."""
    return without_contents(1, dtype)[0]


def run_in_any_order(func: PrimFunc, arrays: Sequence[NDArray[Any]], seed: int = 0) -> None:
    """Run a function on arrays, which it changes in place.

    Buffers are allocated where they are used first.  A function for threads runs with those of its root block instead,
    which are shared, so that iterations may seem to share what is their own: only their order is changed then.

    Raises
    ------
    RaceError
        If iterations that run together access the same element, and not just to write one value.
    """
    threads = _has_threads(func)
    run = _Run(Random(seed), checks=not threads)
    if not threads:
        planned = PlanAndUpdateBufferAllocationLocation()(IRModule({"main": func}))["main"]
        assert isinstance(planned, PrimFunc)
        func = planned
    interpret(func, arrays, run.source)


def _has_threads(func: PrimFunc) -> bool:
    kinds: set[ForKind] = set()
    post_order_visit(func.body, lambda n: kinds.add(n.kind) if isinstance(n, For) else None)
    return ForKind.THREAD_BINDING in kinds


class _Element:
    """What iterations of a loop did to an element."""

    __slots__ = ("accessors", "readers_first", "value", "varies", "writers")

    def __init__(self) -> None:
        self.accessors: set[int] = set()
        self.writers: set[int] = set()
        self.readers_first: set[int] = set()
        self.value: Any = None
        self.varies = False

    def read(self, iteration: int) -> None:
        self.accessors.add(iteration)
        if iteration not in self.writers:
            self.readers_first.add(iteration)

    def write(self, iteration: int, value: Any) -> None:
        if self.writers and not (value == self.value or (value != value and self.value != self.value)):
            self.varies = True
        self.value = value
        self.accessors.add(iteration)
        self.writers.add(iteration)

    @property
    def is_raced_for(self) -> bool:
        if not self.writers or len(self.accessors) < 2:
            return False
        return self.varies or bool(self.readers_first) or self.accessors != self.writers


class _Together:
    """A loop that runs, whose iterations may run together."""

    def __init__(self) -> None:
        self.iteration = 0
        self.elements: dict[tuple[int, int], tuple[_Element, Buffer]] = {}
        self.kept: dict[int, NDArray[Any]] = {}

    def element(self, data: NDArray[Any], place: int, buffer: Buffer) -> _Element:
        root: NDArray[Any] = data if data.base is None else data.base  # type: ignore[assignment]
        self.kept[id(root)] = root
        known = self.elements.get((id(root), place))
        if known is None:
            known = self.elements[id(root), place] = _Element(), buffer
        return known[0]


class _Run:
    def __init__(self, random: Random, checks: bool) -> None:
        self.random = random
        self.checks = checks
        self.loops: list[_Together] = []

    def source(self, values: dict[Var, Any]) -> PythonSource:
        return _Source(values, self)

    def iterations(self, loop: For, first: int, extent: int) -> Iterator[int]:
        """Yield the values of a loop in a random order; reject it when they have accessed the same element."""
        together = _Together()
        self.loops.append(together)
        for together.iteration in self.random.sample(range(first, first + extent), extent):
            yield together.iteration
        self.loops.pop()
        for (_, place), (element, buffer) in together.elements.items():
            if self.checks and element.is_raced_for:
                raise RaceError(
                    f"iterations {sorted(element.accessors)[:4]} of the {loop.kind.name.lower()} loop "
                    f"{loop.loop_var.name} access element {place} of {buffer.name}, and {sorted(element.writers)[:4]} "
                    "write it"
                )


class _Access(memory.Access):
    """An access of which the loops around it are told."""

    def __init__(self, buffer: Buffer, index_dtypes: tuple[str, ...], text: str, run: _Run) -> None:
        super().__init__(buffer, index_dtypes, text)
        self._run = run

    def read(self, data: Any, written: bytearray | None, view: memory.View, indices: tuple[Any, ...]) -> Any:
        typed, known = self.typed(data, written)
        place = self.place("read", typed, view, indices)
        assert isinstance(place, int), "vectors are lanes of loops before lowering"
        for loop in self._run.loops:
            loop.element(typed, place, self.buffer).read(loop.iteration)
        if known is not None and not known[place]:
            return junk(typed.dtype)
        return memory.Access.read(self, data, written, view, indices)

    def write(
        self, data: Any, written: bytearray | None, view: memory.View, indices: tuple[Any, ...], value: Any
    ) -> None:
        typed, _ = self.typed(data, written)
        place = self.place("write", typed, view, indices)
        for loop in self._run.loops:
            loop.element(typed, place, self.buffer).write(loop.iteration, value)
        memory.Access.write(self, data, written, view, indices, value)


class _Source(PythonSource):
    """Python in which every access goes through :class:`_Access`, and loops run in the order that a run gives."""

    def __init__(self, fixed: dict[Var, Any], run: _Run) -> None:
        super().__init__(fixed)
        self._run = run

    def _check(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> None:
        return None

    def _access_of(self, buffer: Buffer, index_dtypes: tuple[str, ...], text: str) -> memory.Access:
        return _Access(buffer, index_dtypes, text, self._run)

    def visit_For(self, n: For) -> None:
        if n.kind not in (ForKind.PARALLEL, ForKind.VECTORIZED):
            super().visit_For(n)
            return
        run, loop = self._constant(self._run), self._constant(n)
        self._loop(n.loop_var, f"{run}.iterations({loop}, {self.visit(n.min)}, {self.visit(n.extent)})", n.body)
