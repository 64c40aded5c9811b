"""Messages between the server and its sandboxed children."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from app.artifacts import MAX_PROGRAM, Answer, Measurement, Mode, Options, Problem, Source
from app.built_files import BuiltFile, FileSubject
from app.causes import Why
from app.machine_code import CudaProgram, MachineCode
from app.proposals import Proposed, Subject
from app.searches import (
    CandidateTexts,
    Decision,
    Found,
    ModelSearch,
    Paired,
    PairSettings,
    Searching,
    SearchSettings,
    SoughtKernel,
    Tried,
)
from app.traces import TracedProgram
from app.webgpu import GPUPrepared


class Progress(Struct, frozen=True, kw_only=True, tag="progress"):
    """The progress of a running ladder."""

    done: int
    total: int
    label: str


class Measured(Struct, frozen=True, kw_only=True, tag="measured"):
    """A measured step of a ladder."""

    measurement: Measurement


class Failed(Struct, frozen=True, kw_only=True, tag="failed"):
    """A step of a ladder that could not be measured."""

    label: str
    problem: Problem
    step: int | None = None


class MeasuredBy(Struct, frozen=True, kw_only=True, tag="source"):
    """Sent before measurements: their source, and why it is not the server."""

    source: Source
    reason: str = ""


class RecordedFunction(Struct, frozen=True, kw_only=True, tag="recorded"):
    """A function of a script, serialised for measurement in another process."""

    name: Annotated[str, Meta(max_length=1_000)]
    program: Annotated[str, Meta(max_length=MAX_PROGRAM)] = ""
    """The function in the format of :mod:`compiler.te.program`; empty if it cannot be serialised."""
    graph: Annotated[str, Meta(max_length=MAX_PROGRAM)] = ""
    """A serialised model with its weights, which is searched, or runs in browsers."""
    reason: Annotated[str, Meta(max_length=10_000)] = ""
    """Why the function could not be serialised."""


class RecordedVariant(Struct, frozen=True, kw_only=True):
    """The program of a script with one value of a number, which is measured in turns with those of other values."""

    label: Annotated[str, Meta(max_length=400)]
    program: Annotated[str, Meta(max_length=MAX_PROGRAM)]


class ProgramDefinition(Struct, frozen=True, kw_only=True, tag="defined"):
    """What a recorded program computes."""

    definition: Annotated[str, Meta(max_length=400)]
    """In the form of :attr:`~app.artifacts.Measurement.definition`."""


class Snapshot(Struct, frozen=True, kw_only=True, tag="snapshot"):
    """The answer so far; each snapshot replaces the previous one, but ``listings`` and ``drawings`` accumulate.

    One is sent before native code runs, in case that crashes or is killed.
    """

    answer: Answer
    running_line: int | None = None
    """The line of the script that is about to run native code; None in the last snapshot."""
    traces_passes: bool = False
    """Whether the script has ended, and LLVM's passes are traced next."""


class ModelTimes(Struct, frozen=True, kw_only=True, tag="models"):
    """What models take by kernel, all calls of a run together, measured in turns."""

    models: Annotated[list[dict[Annotated[str, Meta(max_length=1_000)], float]], Meta(max_length=2)]
    rounds: int
    disturbed: bool = False
    """As of a :class:`~app.artifacts.Measurement`."""


Event = Progress | MeasuredBy | Measured | Failed | Tried | Searching | ModelSearch | ModelTimes | Found


Message = (
    Snapshot
    | RecordedFunction
    | Proposed
    | Why
    | BuiltFile
    | TracedProgram
    | GPUPrepared
    | ProgramDefinition
    | CudaProgram
    | MachineCode
    | Progress
    | Measured
    | Failed
    | Tried
    | Searching
    | ModelSearch
    | ModelTimes
    | Found
    | CandidateTexts
    | Paired
)
"""The messages of a child, one JSON object each."""


STARVING = 4.0
"""Factor by which any time limit is extended while the script waits for a processor, which is no time of its own."""


class Request(Struct, frozen=True, kw_only=True):
    """The request to a child, whose attached files are in its working directory."""

    mode: Mode
    script: str = ""
    program: str = ""
    """The program to measure or compile, in modes that run no script."""
    original: str = ""
    """The original program, which is measured in alternation with it."""
    variants: list[RecordedVariant] = []
    """The programs to measure in turns, instead of one, whatever each computes."""
    contenders: list[str] = []
    """The programs to measure in turns, in the mode ``batch``; each must compute what ``program`` defines."""
    numpy: str = ""
    """A function of the parameters but the outputs, in Python, whose time is NumPy's: of a problem, never a script."""
    prefixes: bool = False
    """Whether to measure every prefix of the program's schedule, instead of only the complete one; in the mode
    ``search``, whether to measure what there is first."""
    seed: int = 0
    """The seed of the random inputs of a measurement."""
    compiles_cuda: bool = False
    """Whether the server compiles CUDA C with NVIDIA's compilers."""
    subject: Subject | None = None
    """The loop or stage to propose primitives for, in the mode ``propose``."""
    explained: int | None = None
    """Or there, the position of a function among those of the script, to say why it takes its time."""
    search: SearchSettings | None = None
    """How to search, in the mode ``search``."""
    choices: list[Decision] = []
    """The candidate to show, in the mode ``candidate``."""
    kernel: SoughtKernel | None = None
    """The kernel that it is a candidate of, if ``program`` is a model."""
    pair: PairSettings | None = None
    """How to compare ``program`` with ``original``, in the mode ``pair``: modules of loop IR as JSON."""
    file: FileSubject | None = None
    """The subject to build a file from, in the mode ``file``."""
    file_bytes: int = 0
    """The maximum size of that file."""
    options: Options = Options()
    budget_seconds: float = 10.0
    """The time limit of the script, after which it is stopped."""
    patience_seconds: float = 0.0
    """The extended time limit if the script got less CPU time than its budget; ignored if it is shorter."""
