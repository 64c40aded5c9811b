"""A thread with checked accesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, Var, is_const_int
from compiler.tir.expressions.evaluation import Array, ElementType, Value, numpy_dtype
from compiler.tir.sanitizer.reports import Fault, Report, SanitizerResult
from compiler.tir.sanitizer.shadow_memory import Event, Place, ShadowMemory, Timeline
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.memory import Indices, OutOfBounds, View
from compiler.tir.statements.stmt import Allocate
from compiler.tir.transform.memory.merge_shared_memory_allocations import DYNAMIC


class LimitReached(Exception):
    """There were more accesses than a run may have."""


@dataclass(slots=True, eq=False)
class _Elements:
    """What a place accesses where elements are units of memory, one after the other: most kernels' buffers."""

    memory: ShadowMemory
    count: int
    is_integral: bool
    event: Event | None = None


_UNKNOWN = _Elements(ShadowMemory(np.zeros(0), None, shared=False), 0, False)
"""Of a place that has not been looked at yet."""


class Thread:
    """One thread: it looks memory up, and checks what it does there.

    Memory is that of all threads (``whole``), of its block and of its warp, by pointer.
    """

    def __init__(
        self,
        timeline: Timeline,
        whole: Mapping[Var, ShadowMemory],
        shared: dict[Var, ShadowMemory],
        warp: dict[Var, ShadowMemory],
        result: SanitizerResult,
        max_accesses: int,
    ) -> None:
        self._timeline = timeline
        self._shared, self._warp = shared, warp
        self._own: dict[Var, ShadowMemory] = {}
        self._memories = (self._own, warp, shared, whole)
        self._result = result
        self._max_accesses = max_accesses
        self._elements_of: dict[Place, _Elements | None] = {}

    def allocate(self, n: Allocate, size: int) -> None:
        """Allocate memory where its scope says; what others of the block or warp have allocated already is theirs."""
        scope = pointer_scope(n.buffer_var)
        kind = numpy_dtype(n.dtype)
        common = self._shared if scope.startswith("shared") else self._warp if scope == "warp" else None
        if common is None:
            self._own[n.buffer_var] = ShadowMemory(np.zeros(size, kind), bytearray(size), shared=False)
            self._elements_of.clear()
        elif n.buffer_var not in common:
            common[n.buffer_var] = ShadowMemory(np.zeros(size, kind), bytearray(size), shared=True)

    def read(self, place: Place, view: View, indices: Indices) -> Value:
        """Return the elements that indices name; zeros where they are outside of the buffer."""
        plain = self._plain(place, indices)
        if plain is not None:
            return self._read_element(plain, place, indices[0])
        buffer = place.access.buffer
        kind, memory = numpy_dtype(buffer.dtype), self._memory(buffer.data)
        data = memory.typed(kind)
        elements = self._elements("read", place, memory, data, view, indices)
        if elements is None:
            elements, data = np.zeros(np.broadcast(*indices).size, "int64"), np.zeros(1, kind)
            elements = elements if elements.size > 1 else 0
        else:
            self._check_read(place, memory, kind, elements)
        if isinstance(elements, int) and dt.is_integral(buffer.dtype):
            return data.item(elements)
        return data[elements]

    def _check_read(self, place: Place, memory: ShadowMemory, kind: ElementType, elements: Value) -> None:
        event = Event.now(self._timeline, place)
        for element in _each(elements):
            units = memory.units(kind, element)
            if not memory.initialized(units):
                self._report_uninitialized(place, element)
            rival = memory.read(units, event)
            if rival is not None:
                self._report_race(rival, event, element)

    def write(self, place: Place, view: View, indices: Indices, value: Value) -> None:
        """Set the elements that indices name; none outside of the buffer."""
        plain = self._plain(place, indices)
        if plain is not None:
            self._write_element(plain, indices[0], value)
            return
        buffer = place.access.buffer
        kind, memory = numpy_dtype(buffer.dtype), self._memory(buffer.data)
        data = memory.typed(kind)
        elements = self._elements("write", place, memory, data, view, indices)
        if elements is None:
            return
        before = data[elements].copy()
        data[elements] = value
        self._check_write(place, memory, kind, elements, before != data[elements])

    def _check_write(
        self, place: Place, memory: ShadowMemory, kind: ElementType, elements: Value, changes: Value
    ) -> None:
        event = Event.now(self._timeline, place)
        for element, changed in zip(_each(elements), _each(changes), strict=True):
            rival = memory.write(memory.units(kind, element), event, bool(changed))
            if rival is not None:
                self._report_race(rival, event, element)

    def _plain(self, place: Place, indices: Indices) -> _Elements | None:
        """Return the elements that a place accesses, if they are units of memory, and this one of them is there."""
        elements = self._elements_of.get(place, _UNKNOWN)
        if elements is _UNKNOWN:
            elements = self._elements_of[place] = self._find_elements(place.access.buffer)
        if elements is None:
            return None
        index = indices[0]
        if type(index) is not int or not 0 <= index < elements.count:
            return None
        self._count()
        timeline, event = self._timeline, elements.event
        if (
            event is None
            or event.block_barriers != timeline.block_barriers
            or event.warp_barriers != timeline.warp_barriers
        ):
            elements.event = Event.now(timeline, place)
        return elements

    def _find_elements(self, buffer: Buffer) -> _Elements | None:
        memory = self._memory(buffer.data)
        is_flat = len(buffer.shape) == 1 and not buffer.strides and is_const_int(buffer.elem_offset, 0)
        if not is_flat or dt.lanes(buffer.dtype) > 1 or memory.data.dtype != numpy_dtype(buffer.dtype):
            return None
        (extent,) = buffer.shape
        count = len(memory.data)
        if buffer.storage_scope != DYNAMIC:
            count = min(count, extent.value) if isinstance(extent, IntImm) else 0
        return _Elements(memory, count, dt.is_integral(buffer.dtype))

    def _read_element(self, elements: _Elements, place: Place, index: int) -> Value:
        memory = elements.memory
        if memory.written is not None and not memory.written[index]:
            self._report_uninitialized(place, index)
        if memory.is_watched:
            assert elements.event is not None
            rival = memory.read_unit(index, elements.event)
            if rival is not None:
                self._report_race(rival, elements.event, index)
        return memory.data.item(index) if elements.is_integral else memory.data[index]

    def _write_element(self, elements: _Elements, index: int, value: Value) -> None:
        memory, data = elements.memory, elements.memory.data
        before = data.item(index)
        data[index] = value
        if memory.written is not None:
            memory.written[index] = 1
        if memory.is_watched:
            assert elements.event is not None
            rival = memory.write_unit(index, elements.event, data.item(index) != before)
            if rival is not None:
                self._report_race(rival, elements.event, index)

    def _count(self) -> None:
        self._result.accesses += 1
        if self._result.accesses > self._max_accesses:
            raise LimitReached

    def _memory(self, pointer: Var) -> ShadowMemory:
        return next(memory[pointer] for memory in self._memories if pointer in memory)

    def _elements(
        self, kind: str, place: Place, memory: ShadowMemory, data: Array, view: View, indices: Indices
    ) -> Value:
        """Return the places in memory of the elements; None, and a report, where some are outside."""
        self._count()
        if _is_part(place.access.buffer, memory, data):
            view = View((0,), (len(data),), (1,), view.offset)
        try:
            return place.access.place(kind, data, view, indices)
        except OutOfBounds as error:
            report = Report(Fault.OUT_OF_BOUNDS, str(error), (place.site(self._timeline.axes),))
            self._result.add((Fault.OUT_OF_BOUNDS, place), report)
            return None

    def _report_uninitialized(self, place: Place, element: int) -> None:
        buffer = place.access.buffer
        memory = f"{buffer.name} in {buffer.storage_scope} memory"
        message = f"nothing was written to element {element} of {memory} before it is read"
        report = Report(Fault.UNINITIALIZED_READ, message, (place.site(self._timeline.axes),))
        self._result.add((Fault.UNINITIALIZED_READ, place), report)

    def _report_race(self, first: Event, second: Event, element: int) -> None:
        buffer = second.place.access.buffer
        what = ", another one ".join("writes" if event.place.writes else "reads" for event in (first, second))
        message = f"one thread {what} element {element} of {buffer.name}, {_cure(first, second)}"
        sites = tuple(event.place.site(event.thread.axes) for event in (first, second))
        self._result.add((Fault.DATA_RACE, first.place, second.place), Report(Fault.DATA_RACE, message, sites))


def _cure(first: Event, second: Event) -> str:
    """Return why nothing orders two accesses that race, and what would make them right."""
    if first.thread.block != second.thread.block:
        return "and nothing orders blocks; let one block do both, or make two kernels of them"
    if first.place.statement is not second.place.statement:
        return "and no barrier lies between; a barrier must come between the two"
    way = (
        "let each thread write an element of its own, or only one of them write"
        if first.place.writes and second.place.writes
        else "read it into a variable of the thread, then a barrier, then write; a sum of all threads takes atomic_add"
    )
    between = ", except between two iterations of its loop" if second.place.repeated else ""
    return f"both in one statement, inside of which no barrier can lie{between}; {way}"


def _is_part(buffer: Buffer, memory: ShadowMemory, data: Array) -> bool:
    """Return whether a buffer lies in merged memory, whose places its indices name."""
    return len(buffer.shape) == 1 and (memory.data.dtype != data.dtype or buffer.storage_scope == DYNAMIC)


def _each(elements: Value) -> Iterable[int]:
    return elements.tolist() if isinstance(elements, np.ndarray) else (elements,)
