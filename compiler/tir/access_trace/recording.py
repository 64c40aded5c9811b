"""Records the accesses of a program while the interpreter runs it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var
from compiler.ir.module import IRModule
from compiler.ir.printing.text import Line
from compiler.tir.expressions.evaluation import Array, Value
from compiler.tir.interpreter import interpret
from compiler.tir.printing import printer
from compiler.tir.printing.python_source import PythonSource
from compiler.tir.statements import memory
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.statement import Stmt
from compiler.tir.statements.stmt import Allocate, AttrStmt, For, ForKind


@dataclass(frozen=True, slots=True)
class Memory:
    """What a pointer points to: an argument, or memory that the program allocates."""

    name: str
    dtype: str
    shape: tuple[int, ...]  # of an argument as the function declares it; of other memory its number of elements
    local: bool

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the program."""

    name: str
    kind: str
    extent: str
    line: int  # 1-based, in the program's text


@dataclass(frozen=True, slots=True)
class Site:
    """A place of the program that reads or writes."""

    memory: int
    write: bool
    line: int  # 1-based, in the program's text
    # elements of one access, and their distance
    lanes: int
    stride: int
    loops: tuple[int, ...]  # positions of the loops around it, outermost first


@dataclass
class AccessTrace:
    """The accesses of a run.

    An event is a code and a value: an access at ``sites[code]``, whose first element is ``value``, or, of a negative
    code, the beginning of iteration ``value`` of ``loops[-1 - code]``.
    """

    lines: list[str] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    codes: array[int] = field(default_factory=lambda: array("h"))
    values: array[int] = field(default_factory=lambda: array("i"))
    complete: bool = True  # whether the program ran to its end


class _TraceFull(Exception):
    """There is no room for more events."""


def record_accesses(func: PrimFunc, arrays: Sequence[object], limit: int) -> AccessTrace:
    """Run a function as the interpreter does, and record what it reads and writes.

    Iterations of parallel loops and threads run one after the other.
    """
    text = printer.script(IRModule({"main": func})).lines
    trace = AccessTrace([line.text for line in text])
    recorder = _Recorder(trace, limit)
    lines = _lines_of(text)

    def source(fixed: dict[Var, object]) -> PythonSource:
        made = _RecordingSource(fixed, trace, recorder, lines)
        made.declare(func)
        return made

    try:
        interpret(func, arrays, source)
    except _TraceFull:
        trace.complete = False
    return trace


def _lines_of(text: Sequence[Line]) -> dict[int, list[int]]:
    """Return the lines that each statement is printed on, by its identity: the last first.

    Unrolling puts one and the same statement into several places.
    """
    lines: dict[int, list[int]] = {}
    for number, line in reversed([*enumerate(text, 1)]):
        if line.text.strip() == "else:":
            continue  # of a statement that has a line already
        for node in {id(r.node): r.node for r in line.regions if isinstance(r.node, Stmt)}.values():
            lines.setdefault(id(node), []).append(number)
    return lines


class _Recorder:
    """Adds events to a trace."""

    def __init__(self, trace: AccessTrace, limit: int) -> None:
        self._trace = trace
        self._limit = limit

    def add(self, code: int, value: int) -> None:
        """Add one event."""
        codes = self._trace.codes
        if len(codes) >= self._limit:
            raise _TraceFull
        codes.append(code)
        self._trace.values.append(value)

    def access(self, site: int, single: int, flat: Value) -> None:
        """Add the access of one element, of evenly spaced ones as one event, or of any others one by one."""
        if isinstance(flat, int):
            self.add(site, flat)
            return
        stride = self._trace.sites[site].stride
        if len(flat) < 2 or (np.diff(flat) == stride).all():
            self.add(site, int(flat[0]))
        else:
            for element in flat.tolist():
                self.add(single, element)


@dataclass(slots=True)
class _RecordedAccess(memory.Access):
    """An access that tells the recorder where it goes."""

    recorder: _Recorder
    site: int
    single: int

    def place(self, access: str, data: Array, view: memory.View, indices: memory.Indices) -> Value:
        flat = memory.Access.place(self, access, data, view, indices)
        self.recorder.access(self.site, self.single, flat)
        return flat


class _RecordingSource(PythonSource):
    """Source in which every access goes through the recorder, and every iteration says that it begins."""

    def __init__(
        self, fixed: dict[Var, object], trace: AccessTrace, recorder: _Recorder, lines: dict[int, list[int]]
    ) -> None:
        super().__init__(fixed)
        self._trace = trace
        self._recorder = recorder
        self._lines_left = lines
        self._memories: dict[Var, int] = {}
        self._open: list[int] = []
        self._at = 1
        self._kind = ("serial", "")
        self._writing = False
        self._shape = (1, 1)
        self.constants["begin"] = recorder.add

    def declare(self, func: PrimFunc) -> None:
        """List the arguments that are arrays."""
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is not None:
                shape = tuple(self.value(extent) if isinstance(extent, IntImm) else 0 for extent in buffer.shape)
                self._memories[buffer.data] = self._add_memory(Memory(buffer.name, buffer.dtype, shape, False))

    def _add_memory(self, made: Memory) -> int:
        self._trace.memories.append(made)
        return len(self._trace.memories) - 1

    def visit(self, n: object, *args: object) -> str:
        if isinstance(n, Stmt) and self._lines_left.get(id(n)):
            self._at = self._lines_left[id(n)].pop()  # statements are visited in the order of the text
        return super().visit(n, *args)

    # accesses

    def _access_of(self, buffer: Buffer, index_dtypes: tuple[str, ...], text: str) -> memory.Access:
        lanes, stride = self._shape
        place = self._memories.get(buffer.data)
        if place is None:
            place = self._memories[buffer.data] = self._add_memory(
                Memory(buffer.data.name, buffer.dtype, _extents(buffer), True)
            )
        sites, loops = self._trace.sites, tuple(self._open)
        sites.append(Site(place, self._writing, self._at, lanes, stride, loops))
        site = len(sites) - 1
        if lanes > 1:
            sites.append(Site(place, self._writing, self._at, 1, 0, loops))
        return _RecordedAccess(buffer, index_dtypes, text, self._recorder, site, len(sites) - 1)

    def visit_BufferLoad(self, n: BufferLoad) -> str:
        outer, self._writing = self._writing, False
        self._shape = _lanes(n, n.indices)
        made = super().visit_BufferLoad(n)
        self._writing = outer
        return made

    def visit_BufferStore(self, n: BufferStore) -> None:
        at = self._at
        value = self._fresh("t")
        self._line(f"{value} = {self.visit(n.value)}")
        self._at, self._writing, self._shape = at, True, _lanes(n.value, n.indices)
        self._store(n, value)
        self._writing = False

    def _check(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[str, str, str] | None:
        return None

    def _row(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> str | None:
        return None

    # memory and loops

    def visit_Allocate(self, n: Allocate) -> None:
        size = math.prod(e.value for e in n.extents if isinstance(e, IntImm)) * dt.lanes(n.dtype)
        made = Memory(n.buffer_var.name, dt.element(n.dtype), (size,), True)
        self._memories[n.buffer_var] = self._add_memory(made)
        super().visit_Allocate(n)

    def visit_For(self, n: For) -> None:
        self._kind = (ForKind(n.kind).name.lower(), str(n.extent))
        super().visit_For(n)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        self._kind = ("thread", str(n.value))
        super().visit_AttrStmt(n)

    def _loop(self, var: Var, values: str, body: Stmt) -> None:
        kind, extent = self._kind
        self._trace.loops.append(Loop(var.name, kind, extent, self._at))
        number = len(self._trace.loops) - 1
        self._open.append(number)
        with self._nesting(), self._block(f"for {self._name(var)} in {values}:"):
            self._line(f"begin({-1 - number}, {self._names[var]})")
            self.visit(body)
        self._open.pop()


def _lanes(value: PrimExpr, indices: tuple[PrimExpr, ...]) -> tuple[int, int]:
    """Return how many elements an access has, and their distance where the last index says it."""
    lanes = dt.lanes(value.dtype)
    strides = [getattr(i, "stride", None) for i in indices]
    constant = [s.value for s in strides if isinstance(s, IntImm)]
    return lanes, constant[0] if lanes > 1 and len(constant) == 1 else 1


def _extents(buffer: Buffer) -> tuple[int, ...]:
    return tuple(e.value if isinstance(e, IntImm) else 0 for e in buffer.shape)
