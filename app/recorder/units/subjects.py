"""Recorded subjects: functions and graphs, from their first form to machine code.

IR is immutable, so that keeping a module after each pass costs a reference; printing waits until an answer is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from app.artifacts import ModelRace
from app.kernel_reports import KernelReport
from app.recorder.units.model_file import ModelFile
from app.recorder.units.schedules import ScheduleRecord, Source
from compiler.driver.relay.build import BuiltGraph
from compiler.ir.instrument import CodeForm
from compiler.ir.module import IRModule
from compiler.ir.origin import Span
from compiler.ir.passes.context import PassContext
from compiler.ir.printing.text import TextBuilder
from compiler.relay.function import Function
from compiler.runtime.modules.module import Module
from compiler.runtime.timing.clock import Duration
from compiler.runtime.vm import Executable
from compiler.target.codegen.llvm.tracing.pass_trace import PassRun
from compiler.target.target import Target

if TYPE_CHECKING:
    from app.recorder.gpus.device_code import DeviceCode, RefusedCode

MAX_FUNCTIONS = 24
"""Functions of one script that are shown; what comes after is counted."""
MAX_GRAPHS = 16
"""Graphs of one script that are shown; what comes after is counted."""


@dataclass(slots=True)
class PassRecord:
    """One pass: the module after it, how long it took, and what trying both forms said."""

    name: str
    module: IRModule
    milliseconds: float = 0.0
    changed: bool = False
    line: int | None = None
    phase: int | None = None
    """Of lowering; None outside."""
    skipped: str = ""
    """Why it did not run; empty for one that did."""
    equivalent: bool | None = None
    """Whether the graph computes the same as before, where that was tried."""
    error: float | None = None
    """Largest absolute difference that was seen by trying."""


@dataclass(slots=True)
class CodeRecord:
    """One text that code generation made: for the target, or the assembly for another machine, named by ``form``.

    Source code is ``printed``, and ``form`` is its language.
    """

    form: CodeForm | str
    text: str
    milliseconds: float
    printed: TextBuilder | None = None
    target: Target | None = None
    """What an assembly is for."""


@dataclass(slots=True)
class Subject(ABC):
    """A function or a graph, with the passes that it went through."""

    name: str
    line: int | None
    first: IRModule | None = None
    """The module before any pass."""
    passes: list[PassRecord] = field(default_factory=list)
    target: Target | None = None

    @abstractmethod
    def steps_of(self, record: PassRecord, members: list[PassRecord]) -> list[PassRecord]:
        """Return what is shown of a pass that ran the passes ``members`` itself."""


@dataclass(slots=True)
class FunctionSubject(Subject):
    """A function, from its schedule to its machine code."""

    source: Source | None = None
    args: Sequence[Any] | None = None
    schedule: ScheduleRecord | None = None
    """The user's schedule; None for a function that had none."""
    primitives: int = 0
    """How many primitives the schedule had when it was lowered."""
    is_prefix: bool = False
    """Whether the explorer built it, from the schedule as it was after so many primitives."""
    lowered: IRModule | None = None
    final: IRModule | None = None
    """The module that code generation read."""
    codes: list[CodeRecord] = field(default_factory=list)
    llvm_passes: list[PassRun] = field(default_factory=list)
    """LLVM's own, where they were asked for."""
    built: Module | None = None
    device: DeviceCode | None = None
    """The code of its kernels, of one that launches threads."""
    refused_device: RefusedCode | None = None
    """Why it has none in the language that is asked for."""
    report: KernelReport | None = None
    """What is known of these kernels."""
    todays_program: Sequence[tuple[str, Span, int | None]] | None = None
    """Its program for TVM 0.27, where that was asked for: lines with their origins or line of the script."""

    def steps_of(self, record: PassRecord, members: list[PassRecord]) -> list[PassRecord]:
        """Return the members, then the pass itself."""
        return [*members, record]

    def is_made_from(self, source: Source, primitives: int) -> bool:
        """Return whether ``source`` in its present state is what this function was lowered from."""
        return self.source is source and self.primitives == primitives


@dataclass(slots=True)
class GraphSubject(Subject):
    """A graph, from its first form to its kernels."""

    first: IRModule
    file: ModelFile | None = None
    """The file that it was imported from."""
    built: BuiltGraph | Executable | None = None
    context: PassContext | None = None
    """Of the passes of its build."""
    kernel_times: dict[str, list[Duration]] = field(default_factory=dict)
    """Of each kernel that was measured, all of its calls in one run."""
    unmeasured: str = ""
    """Why no kernel was measured in a run."""
    unbuilt: str = ""
    """Why the explorer could not build it."""
    race: ModelRace | None = None
    """Against the same model without the kernels that the workspace defines."""

    @property
    def last(self) -> IRModule:
        """The module after the last pass."""
        return self.passes[-1].module if self.passes else self.first

    def steps_of(self, record: PassRecord, members: list[PassRecord]) -> list[PassRecord]:
        """Return the members where they did all of the work, else the pass alone."""
        return members if members and members[-1].module is record.module else [record]


S = TypeVar("S", bound=Subject)


class SubjectList(Generic[S]):
    """The subjects of one kind, up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: list[S] = []
        self.left_out = 0

    def add(self, subject: S) -> bool:
        """Keep a subject, or count it where there are enough; return whether it is kept."""
        if len(self._items) >= self._limit:
            self.left_out += 1
            return False
        self._items.append(subject)
        return True

    def replace(self, old: S, new: S) -> None:
        """Put a subject in place of another one."""
        self._items = [new if item is old else item for item in self._items if item is not new]

    def __iter__(self) -> Iterator[S]:
        return iter(self._items)

    def __reversed__(self) -> Iterator[S]:
        return reversed(self._items)

    def __len__(self) -> int:
        return len(self._items)

    @property
    def last(self) -> S | None:
        """The subject that was added last."""
        return self._items[-1] if self._items else None


def is_graph(module: IRModule) -> bool:
    """Return whether a module has functions of graphs."""
    return any(isinstance(func, Function) for func in module.functions.values())
