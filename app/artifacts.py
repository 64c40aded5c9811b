"""The types that the sandboxed child, the server and the page exchange.

Every type is a :class:`msgspec.Struct`: the one definition encodes, validates what a hostile child sent, and gives the
JSON schema that the API's description is made of.  Nothing here compiles or draws.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from app.kernel_reports import KernelReport

FORMAT = 1
"""Version of the workspace and answer formats; old decoders are kept when it grows."""

OriginId = int
Level = Literal["source", "graph", "te", "schedule", "loop", "memory", "llvm", "asm"]
Name = Annotated[str, Meta(pattern="^[a-z]{1,20}$")]
Group = Name
"""Kind of a step, e.g. ``lowering``; a row of ``app.panes.table`` says which pane shows its steps."""
AssemblyFilter = Literal["labels", "directives", "comments", "unspilled", "hot"]
"""Of assembly are also shown labels that nothing jumps to, directives, LLVM's comments; left out are spills of vector
registers, or all but the hot loop."""
Mode = Literal["compile", "run", "ladder", "record", "propose", "file", "measure", "trace", "webgpu", "cuda", "sass"]
"""What a child is for: all but the last five run a script; those measure, trace or prepare for the visitor's GPU a
program that another recorded, compile CUDA C that another printed, and disassemble what was compiled."""
MEASURING: frozenset[Mode] = frozenset({"run", "ladder", "measure"})
"""Modes in which kernels are timed, which need CPUs of their own."""
MOMENTARY: frozenset[Mode] = frozenset({"compile", "record", "propose", "file"})
"""Modes in which kernels run for a moment at most."""
SCRIPT_NAME = "script.py"
"""File name of the script's code."""
MAX_PROGRAM = 1 << 20
"""Characters of a recorded program."""


class Options(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a script is compiled and shown; every field has a usable default."""

    target: Annotated[str, Meta(max_length=200)] = "llvm -mcpu=native"
    """What ``tvm.target.Target("llvm")`` means for panes that the script itself did not choose a target for."""
    assembly: Annotated[str, Meta(max_length=64)] = "host"
    """Key of the assembly pane's target, one of ``compiler.target.assembly_targets()``."""
    assembly_also: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=2)] = ()
    """Keys of the targets of further assembly panes."""
    assembly_filters: Annotated[tuple[AssemblyFilter, ...], Meta(max_length=5)] = ()
    device: Annotated[str, Meta(pattern="^(cuda|opencl|metal|webgpu|nvptx|rocm)?$")] = ""
    """The kind of device whose code is shown, a key of ``compiler.target.device_languages``; empty for the script's."""
    arch: Annotated[str, Meta(pattern="^sm_[0-9]{2,3}$")] = "sm_90"
    """The architecture that CUDA C is compiled for."""
    sass: bool = False
    """Disassemble what is compiled."""
    opt_level: Annotated[int, Meta(ge=0, le=3)] = 3
    threads: Annotated[int, Meta(ge=1, le=256)] = 1
    prefix: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    """Show the last schedule as it was after this many of its primitives; None for all of them."""
    kernel: Annotated[str, Meta(max_length=400)] | None = None
    """Show this kernel of the last graph down to its assembly; None for the graph itself."""
    llvm_passes: bool = False
    """Show what each pass of LLVM's optimiser does to the functions."""


class Workspace(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Everything that a user edits: a script, the files attached to it, and a few options."""

    script: Annotated[str, Meta(max_length=1_000_000)]
    files: dict[Annotated[str, Meta(max_length=120)], bytes] = {}
    """Attached files by name; base64 in JSON."""
    uploads: dict[Annotated[str, Meta(max_length=120)], Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]] = {}
    """Large files by name, each stored before under the SHA-256 of its content."""
    options: Options = Options()


class Origin(Struct, frozen=True):
    """One row of the origin table: where something came from."""

    id: OriginId
    level: Level
    label: str
    line: int | None = None
    """1-based line: in the user's script for ``source``, in the final loop IR for ``loop``."""
    column: int | None = None
    parents: list[OriginId] = []


class Region(Struct, frozen=True, array_like=True):
    """Columns ``[start, end)`` of a line and the origins they have."""

    start: int
    end: int
    origins: list[OriginId]


class Line(Struct, frozen=True, array_like=True):
    """A printed line; ``origins`` is the union over its regions, most specific level only."""

    text: str
    origins: list[OriginId] = []
    regions: list[Region] = []


class Listing(Struct, frozen=True, kw_only=True):
    """A text that a pane shows: loop IR at some step, LLVM IR, assembly."""

    key: str
    """Content hash: equal listings have equal keys."""
    level: Level
    name: str
    language: Name
    """One that ``app.panes.highlighting`` knows; others are shown without colours."""
    lines: list[Line]
    summary: dict[str, int | float | str] = {}
    """Facts for the pane's title, e.g. ``{"instructions": 268, "vector bits": 512, "fma": 64, "spills": 0}``."""
    loop_summary: dict[str, int | float | str] = {}
    """The same of the hot loop, where that is all that is shown."""
    linked: float = 0.0
    """Share of non-blank lines that have at least one origin, 0 to 1."""


def listing_key(listing: Listing) -> str:
    """Return the content hash that is a listing's key; a server checks that no child claims another's."""
    content = [listing.level, listing.name, listing.language, listing.lines, listing.summary, listing.loop_summary]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:24]


HEIGHTS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/"
"""Digits of a histogram's bars, the highest of which has the last one."""


class Weight(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The values of a constant argument, in figures."""

    name: Annotated[str, Meta(max_length=80)]
    """Of the operator's input."""
    type: Annotated[str, Meta(max_length=200)]
    minimum: float
    maximum: float
    zeros: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Share of the values that are 0."""
    unusual: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Share of the values that are infinite or no number; the other figures leave them out."""
    histogram: Annotated[str, Meta(pattern="^[0-9A-Za-z+/]{0,64}$")] = ""
    """Heights of the bars from the minimum to the maximum, each a digit of :data:`HEIGHTS`."""
    sampled: bool = False
    """Whether shares and histogram are of a sample."""


NodeKind = Literal["operator", "input", "function", "control"]


class GraphNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node of a drawn graph: an operator, an input, the call of a function."""

    key: str
    """Identifies the node within its drawing."""
    label: str
    kind: NodeKind = "operator"
    detail: str = ""
    """Attributes that are not at their defaults."""
    type: str = ""
    """Of the value, e.g. ``(1, 64, 56, 56) float32``."""
    attributes: dict[str, str] = {}
    """All attributes, as far as they can be told in few characters."""
    weights: list[Weight] = []
    """Its constant arguments with more than one value, where the values are known."""
    constants: list[str] = []
    """Its constant arguments, weights and numbers, which are not drawn as nodes."""
    group: str = ""
    """Name of the fused function that it belongs to."""
    scope: list[str] = []
    """The bodies that it is in, outermost first: branches, clauses, functions."""
    line: int = 0
    """1-based line of the listing of the same step."""
    origins: list[OriginId] = []
    layers: list[str] = []
    """Names of the layers of an imported model that it comes from."""


class GraphEdge(Struct, frozen=True, array_like=True):
    """A value that goes from one node to another, by their positions, and its type."""

    source: int
    target: int
    type: str = ""


class Drawing(Struct, frozen=True, kw_only=True):
    """A graph to draw; it is laid out when the page asks for it."""

    key: str
    """Content hash: equal drawings have equal keys."""
    name: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]

    @property
    def is_sound(self) -> bool:
        """Whether every edge goes from a node to a later one."""
        return all(0 <= edge.source < edge.target < len(self.nodes) for edge in self.edges)


def drawing_key(drawing: Drawing) -> str:
    """Return the content hash that is a drawing's key."""
    return hashlib.sha256(msgspec.json.encode([drawing.name, drawing.nodes, drawing.edges])).hexdigest()[:24]


class Kernel(Struct, frozen=True, kw_only=True):
    """A fused function of a graph that becomes one piece of machine code."""

    name: str
    operators: list[str]
    calls: int | None = 1
    """How often a run of the model calls it; None if control flow decides it."""
    flops: float | None = None
    """Floating-point operations a call."""
    bytes: float | None = None
    """Bytes that a call reads and writes at least: its arguments and results."""
    seconds: float | None = None
    """Time of all of its calls in one run of the model, measured by the process that ran the script."""
    source: Literal["script"] = "script"
    """Who measured the time; see :data:`Source`."""
    origins: list[OriginId] = []
    layers: list[str] = []
    """Names of the layers of an imported model that it was fused from."""
    script: str = ""
    """A script of its own that defines and schedules it, as the model's operators say."""


class OwnKernel(Struct, frozen=True, kw_only=True):
    """A kernel that the workspace defines itself, by a script beside the model's."""

    name: Annotated[str, Meta(max_length=400)]
    problem: Annotated[str, Meta(max_length=10_000)] = ""
    """Why the model goes on with the definition of its operators; empty if it does not."""


class ModelRace(Struct, frozen=True, kw_only=True):
    """A model with kernels of the workspace against the same model without them: median seconds and spreads;
    quartiles of how much faster it is in neighbouring runs; the largest difference of an output."""

    checked: Literal["ok", "wrong"]
    error: float | None = None
    seconds: float = 0.0
    spread: float = 0.0
    original_seconds: float = 0.0
    original_spread: float = 0.0
    low: float = 0.0
    ratio: float = 0.0
    high: float = 0.0
    rounds: int = 0
    threads: int = 1


class Step(Struct, frozen=True, kw_only=True):
    """One stop of the timeline: a pass over a graph, a schedule primitive, a lowering pass, an LLVM stage."""

    group: Group
    name: str
    detail: str = ""
    """The full call or a sentence, e.g. ``C.split(i, factor=32)``."""
    phase: int | None = None
    """Lowering phase 0 to 3, 4 for the passes that split off kernels; None outside lowering."""
    line: int | None = None
    """The user's line that caused it, where there is one."""
    listing: str | None = None
    """Key of the text after this step."""
    changed: bool = True
    """Decided on the IR, not on the text."""
    applied: bool = True
    """False for a schedule primitive that ``Options.prefix`` leaves out, and for a pass that its context leaves out."""
    refused: str = ""
    """Why a schedule primitive could not be applied; its text is then the program, with the reason drawn into it.

    Of kernels, why they cannot be written in a language; there is no text then.
    """
    milliseconds: float | None = None
    delta: dict[str, int] = {}
    """Differences to the step before, e.g. ``{"lines": 24, "nodes": 190}``."""
    facts: dict[str, float] = {}
    """Facts after the step: of a graph its operators, kernels, and bytes read and written."""
    drawing: str | None = None
    """Key of the graph after this step."""
    checked: Literal["ok", "wrong", "unchecked"] = "unchecked"
    """Whether the program computes the same as before the step, checked on one random input."""
    error: float | None = None
    """Largest absolute difference of that check."""


class Loop(Struct, frozen=True, kw_only=True):
    """A leaf axis of a stage in the schedule pane, outermost first."""

    name: str
    extent: str
    kind: Literal["spatial", "reduce", "thread"]
    annotation: str = ""
    origins: list[OriginId] = []
    depth: int = 0


class Stage(Struct, frozen=True, kw_only=True):
    """A stage of the schedule as a nest of loops, or a block of a program with those loops that it has first."""

    name: str
    placement: str
    """``root``, ``inlined``, or ``at C, i_outer``; of a block ``in C_o, at k_0``."""
    loops: list[Loop]
    depth: int = 0
    """Of its body: how many loops and blocks stand around it."""
    body: str
    origins: list[OriginId] = []


class Unit(Struct, frozen=True, kw_only=True):
    """One thing that was lowered or built: a function or a graph, with its whole timeline."""

    name: str
    kind: Literal["function", "graph"] = "function"
    line: int | None = None
    target: str = ""
    built: bool = False
    steps: list[Step] = []
    schedule: list[Stage] = []
    kernels: list[Kernel] = []
    unmeasured: str = ""
    """Why a run does not measure the kernels of a graph; empty if it does."""
    own_kernels: list[OwnKernel] = []
    race: ModelRace | None = None
    device: KernelReport | None = None
    """Of a function that launches kernels."""
    memory: list[str] = []
    """How a graph's buffers are shared, in sentences."""


ConsoleStream = Literal["stdout", "stderr", "note"]


class Console(Struct, frozen=True):
    """A piece of the console: what the script wrote, or a note of the explorer."""

    stream: ConsoleStream
    text: str


class Problem(Struct, frozen=True, kw_only=True):
    """What went wrong, where (the user's line), and what was expected."""

    kind: str
    """Exception class or ``Timeout``, ``OutputLimit``, ``MemoryLimit``, ``Crash``."""
    message: str
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    severity: Literal["error", "warning"] = "error"
    trace: list[str] = []
    """The user's own frames, innermost last, one string each."""
    cut_short: bool = False
    """Whether the script did not come to its end; the answer's message says where what it did until then is shown."""


MeasurementKind = Literal["kernel", "prefix", "numpy", "peak", "bandwidth"]
Source = Literal["script", "server", "link"]
"""Who measured: the process that ran the script, which can report whatever it likes, or one that only measures; of a
link, whoever shared it says so."""


NOISE = 0.1
"""Spread relative to the time, or distance of two measurements of one thing, from which on they are called noisy."""


class Measurement(Struct, frozen=True, kw_only=True):
    """A time and how it was measured."""

    name: str
    kind: MeasurementKind
    seconds: float
    """Median, in seconds."""
    spread: float = 0.0
    """Interquartile range, in seconds."""
    repeats: int = 1
    number: int = 1
    """Calls per repeat."""
    threads: int = 1
    flops: float | None = None
    """Floating-point operations a call, where the definition determines them."""
    gflops: float | None = None
    traffic: float | None = None
    """Bytes between the last cache and memory: of a kernel a call's, by a model; of the bandwidth those copied."""
    checked: Literal["ok", "wrong", "unchecked"] = "unchecked"
    error: float | None = None
    """Largest absolute difference to what NumPy computes of the same inputs, else to the unscheduled definition.

    It is often 0: BLAS adds the products of a sum in the same order as a simple loop does, each with one rounding.
    """
    cpu: str = ""
    host: Annotated[str, Meta(max_length=400)] = ""
    """The machine of a cluster that measured, set by the server; empty for the server's own."""
    target: str = ""
    note: str = ""
    line: int | None = None
    step: int | None = None
    """How many schedule primitives were applied (``prefix`` only)."""
    frequency: float | None = None
    """Cycles a second of the core, measured right after it by a loop whose cycles are known; of one thread only."""
    estimated: bool = False
    """Whether ``seconds`` are not a measurement: those of a part of the work, times how often the part is in it."""
    source: Source = "script"
    """Set by the server, whatever the child says."""


class Answer(Struct, frozen=True, kw_only=True):
    """Everything that was recorded of one run of a script."""

    format: int = FORMAT
    mode: Mode = "compile"
    status: Literal["ok", "error", "timeout", "limit", "crash"] = "ok"
    units: list[Unit] = []
    listings: dict[str, Listing] = {}
    drawings: dict[str, Drawing] = {}
    origins: list[Origin] = []
    console: list[Console] = []
    problems: list[Problem] = []
    measurements: list[Measurement] = []
    milliseconds: float = 0.0
    environment: dict[str, str] = {}
    """Compiler version, LLVM version, CPU model, parallel runtime."""
