"""The types that the sandboxed child, the server and the page exchange.

Every type is a :class:`msgspec.Struct`: a single definition serves for encoding, for validating untrusted messages of a
child, and for the JSON schema of the API description.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from app.kernel_reports import KernelReport
from app.proposals import Edit

FORMAT = 1
"""Version of the workspace and answer formats; decoders of old versions are kept."""

OriginId = int
Level = Literal["source", "graph", "te", "schedule", "loop", "memory", "llvm", "asm"]
Name = Annotated[str, Meta(pattern=r"^[a-z]{1,20}\Z")]
Group = Name
"""Kind of a step, e.g. ``lowering``; ``app.panes.table`` maps it to a pane."""
AssemblyFilter = Literal["labels", "directives", "comments", "unspilled", "hot"]
"""Filters of assembly listings: show unreferenced labels, directives or LLVM's comments; hide spills of vector
registers, or all but the hot loop."""
Mode = Literal[
    "compile", "run", "ladder", "record", "propose", "file", "measure", "trace", "webgpu", "define", "cuda", "sass",
    "search", "candidate", "batch", "pair",
]  # fmt: skip
"""Task of a child.  All but the last ten run a script; those measure, trace, prepare for WebGPU or define a program
recorded by another child, compile CUDA C, disassemble the result, search schedules of a program and show one, and
measure several programs of one definition in turns, or a candidate of a search elsewhere beside its reference."""
_REORDERS_NOTHING = re.compile(r"(?:^|\.)(?:split|fuse)\(")


def has_rung(primitive: str, is_last: bool) -> bool:
    """Return whether a ladder measures the prefix that ends with a primitive, given as its call.

    A split or a fusion leaves the iterations in their order and prepares what comes next.
    """
    return is_last or not _REORDERS_NOTHING.search(primitive)


MEASURING: frozenset[Mode] = frozenset({"run", "ladder", "measure", "search", "batch"})
"""Modes that time kernels, and need CPUs for exclusive use."""
MOMENTARY: frozenset[Mode] = frozenset({"compile", "record", "propose", "file"})
"""Modes that run kernels only briefly, if at all."""
SCRIPT_NAME = "script.py"
"""File name that scripts are compiled with."""
MAX_PROGRAM = 1 << 20
"""Maximum length of a recorded program, in characters."""


class Options(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options for compiling and showing a script."""

    target: Annotated[str, Meta(max_length=200)] = "llvm -mcpu=native"
    """The meaning of ``tvm.target.Target("llvm")`` for panes whose target the script does not choose."""
    assembly: Annotated[str, Meta(max_length=256)] = "host"
    """Key of the assembly pane's target, one of ``compiler.target.assembly_targets()``."""
    assembly_also: Annotated[tuple[Annotated[str, Meta(max_length=256)], ...], Meta(max_length=2)] = ()
    """Keys of the targets of additional assembly panes."""
    assembly_filters: Annotated[tuple[AssemblyFilter, ...], Meta(max_length=5)] = ()
    device: Annotated[str, Meta(pattern=r"^(cuda|opencl|metal|webgpu|nvptx|rocm)?\Z")] = ""
    """The device kind whose code is shown, a key of ``app.device_languages``; empty for the script's."""
    arch: Annotated[str, Meta(pattern=r"^sm_[0-9]{2,3}\Z")] = "sm_90"
    """The GPU architecture to compile CUDA C for."""
    sass: bool = False
    """Disassemble compiled CUDA C."""
    opt_level: Annotated[int, Meta(ge=0, le=3)] = 3
    threads: Annotated[int, Meta(ge=1, le=256)] = 1
    prefix: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    """Show the last schedule after this many primitives; None for all of them."""
    kernel: Annotated[str, Meta(max_length=400)] | None = None
    """Show all levels of this kernel of the last graph; None for the graph itself."""
    llvm_passes: bool = False
    """Show the LLVM IR after each pass of LLVM's optimizer."""
    todays_tvm: bool = False
    """Write each function as a program for TVM 0.27."""


EXAMPLE = """\
import tvm
from tvm import te

A = te.placeholder((1024,), name="A")
B = te.compute((1024,), lambda i: A[i] * 2.0, name="B")
s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], factor=16)
s[B].vectorize(inner)
f = tvm.build(s, [A, B], target="llvm")
"""
"""A script for the API's documentation."""


class Workspace(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Everything that a user edits: a script, the files attached to it, and a few options."""

    script: Annotated[str, Meta(max_length=1_000_000, examples=[EXAMPLE])]
    files: dict[Annotated[str, Meta(max_length=120)], bytes] = {}
    """Attached files by name; base64 in JSON."""
    uploads: dict[Annotated[str, Meta(max_length=120)], Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]] = {}
    """Uploaded files by name, as the SHA-256 hashes that they are stored under."""
    options: Options = Options()

    @property
    def is_long(self) -> bool:
        """Whether it has a model, whose compilation takes seconds: others go first."""
        return bool(self.uploads)


class Origin(Struct, frozen=True):
    """A row of the origin table: a source location at some level."""

    id: OriginId
    level: Level
    label: str
    line: int | None = None
    """1-based line, in the script for ``source``, in the final loop IR for ``loop``."""
    column: int | None = None
    parents: list[OriginId] = []


class Region(Struct, frozen=True, array_like=True):
    """A column range ``[start, end)`` of a line, and its origins."""

    start: int
    end: int
    origins: list[OriginId]


class Line(Struct, frozen=True, array_like=True):
    """A printed line; ``origins`` is the union over its regions, of the most specific level only."""

    text: str
    origins: list[OriginId] = []
    regions: list[Region] = []


class Listing(Struct, frozen=True, kw_only=True):
    """A text shown in a pane: loop IR at some step, LLVM IR, assembly."""

    key: str
    """Content hash: equal listings have equal keys."""
    level: Level
    name: str
    language: Name
    """Language for syntax highlighting, see ``app.panes.highlighting``; unknown ones are not highlighted."""
    lines: list[Line]
    summary: dict[str, int | float | str] = {}
    """Statistics for the pane's title, e.g. ``{"instructions": 268, "vector bits": 512, "fma": 64, "spills": 0}``."""
    loop_summary: dict[str, int | float | str] = {}
    """Statistics of the hot loop, if only that is shown."""
    findings: list[Annotated[str, Meta(max_length=200)]] = []
    """What is wrong with the hot loop for the target, e.g. ``"spills: 8 moves of vectors to and from the stack"``."""
    linked: float = 0.0
    """Fraction of non-blank lines with at least one origin."""


def listing_key(listing: Listing) -> str:
    """Return the content hash that is a listing's key; servers verify the keys that children send."""
    told = [listing.summary, listing.loop_summary, listing.findings]
    content = [listing.level, listing.name, listing.language, listing.lines, *told]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:24]


def make_listing(
    level: Level,
    name: str,
    language: str,
    lines: list[Line],
    summary: dict[str, int | float | str],
    loop_summary: dict[str, int | float | str] | None = None,
    findings: Sequence[str] = (),
) -> Listing:
    """Create a listing with its content hash and the share of linked lines."""
    substantial = [line for line in lines if line.text.strip()]
    linked = sum(1 for line in substantial if line.origins) / len(substantial) if substantial else 0.0
    listing = Listing(
        key="",
        level=level,
        name=name,
        language=language,
        lines=lines,
        summary=summary,
        loop_summary=loop_summary or {},
        findings=list(findings),
        linked=round(linked, 4),
    )
    return msgspec.structs.replace(listing, key=listing_key(listing))


class DeviceListing(NamedTuple):
    """A listing of kernels, with its step."""

    group: Group
    title: str
    listing: Listing


HEIGHTS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/"
"""Digits for the heights of histogram bars; the tallest bar has the last one."""


class Weight(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Statistics of the values of a constant argument."""

    name: Annotated[str, Meta(max_length=80)]
    """Name of the operator's input."""
    type: Annotated[str, Meta(max_length=200)]
    minimum: float
    maximum: float
    mean: float | None = None
    """Of the finite values."""
    zeros: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Fraction of zeros."""
    unusual: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Fraction of infinities and NaNs, which the other statistics exclude."""
    histogram: Annotated[str, Meta(pattern=r"^[0-9A-Za-z+/]{0,64}\Z")] = ""
    """Histogram from minimum to maximum: heights of the bars, as digits of :data:`HEIGHTS`."""
    sampled: bool = False
    """Whether fractions and histogram are computed of a sample."""


FILE_KEY = "file:"
"""Begins the keys of the nodes of a model's file as it is stored."""
NodeKind = Literal["operator", "input", "function", "control"]


class GraphNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node of a graph drawing: an operator, an input or a function call."""

    key: str
    """Identifies the node within its drawing."""
    label: str
    kind: NodeKind = "operator"
    detail: str = ""
    """The non-default attributes."""
    type: str = ""
    """Type of the value, e.g. ``(1, 64, 56, 56) float32``."""
    attributes: dict[str, str] = {}
    """All attributes, abbreviated."""
    weights: list[Weight] = []
    """The non-scalar constant arguments whose values are known."""
    constants: list[str] = []
    """The constant arguments, which are not drawn as nodes."""
    group: str = ""
    """Name of the fused function that contains the node."""
    scope: list[str] = []
    """The enclosing branches, clauses and functions, outermost first."""
    line: int = 0
    """1-based line of the listing of the same step."""
    origins: list[OriginId] = []
    layers: list[str] = []
    """Names of the layers of the imported model that the node comes from."""


class GraphEdge(Struct, frozen=True, array_like=True):
    """A data edge between nodes, given by their positions, with the type of the value."""

    source: int
    target: int
    type: str = ""


class Drawing(Struct, frozen=True, kw_only=True):
    """A graph to draw; its layout is computed on demand."""

    key: str
    """Content hash: equal drawings have equal keys."""
    name: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]

    @property
    def is_sound(self) -> bool:
        """Whether every edge leads from a node to a later one."""
        return all(0 <= edge.source < edge.target < len(self.nodes) for edge in self.edges)


def drawing_key(drawing: Drawing) -> str:
    """Return the content hash that is a drawing's key."""
    return hashlib.sha256(msgspec.json.encode([drawing.name, drawing.nodes, drawing.edges])).hexdigest()[:24]


class Kernel(Struct, frozen=True, kw_only=True):
    """A kernel: a fused function of a graph that is compiled to one function of machine code."""

    name: str
    operators: list[str]
    calls: int | None = 1
    """Number of calls in a run of the model; None if it depends on control flow."""
    flops: float | None = None
    """Floating-point operations per call."""
    bytes: float | None = None
    """Minimum memory traffic of a call: the size of its arguments and results."""
    seconds: float | None = None
    """Total time of its calls in one run of the model, measured by the process that ran the script."""
    disturbed: bool = False
    """As of a :class:`Measurement`."""
    source: Literal["script"] = "script"
    """The origin of the time; see :data:`Source`."""
    origins: list[OriginId] = []
    layers: list[str] = []
    """Names of the layers of the imported model that the kernel was fused from."""
    script: str = ""
    """A standalone script that defines the kernel and schedules it as in the model."""
    found: bool = False
    """Whether it is built as a search has found, of which the workspace has the log."""


class OwnKernel(Struct, frozen=True, kw_only=True):
    """A kernel that a separate script of the workspace defines, replacing that of the model."""

    name: Annotated[str, Meta(max_length=400)]
    problem: Annotated[str, Meta(max_length=10_000)] = ""
    """Why the model does not use this kernel; empty if it does."""


class ModelRace(Struct, frozen=True, kw_only=True):
    """Comparison of a model with kernels of the workspace and the same model without them.

    It has median times and spreads, quartiles of the speedup between adjacent runs, and the largest difference of an
    output.
    """

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
    disturbed: bool = False
    """As of a :class:`Measurement`."""


class Step(Struct, frozen=True, kw_only=True):
    """A step of the timeline: a graph pass, a schedule primitive, a lowering pass or an LLVM stage."""

    group: Group
    name: str
    detail: str = ""
    """The call or a description, e.g. ``C.split(i, factor=32)``."""
    phase: int | None = None
    """Lowering phase 0 to 3, or 4 for the passes that split host and device; None outside lowering."""
    line: int | None = None
    """The line of the script that caused the step, if any."""
    listing: str | None = None
    """Key of the listing after this step."""
    changed: bool = True
    """Whether the step changed the IR."""
    applied: bool = True
    """False for a schedule primitive excluded by ``Options.prefix``, and for a pass disabled by its context."""
    refused: str = ""
    """Why a schedule primitive could not be applied; the listing is then the program, annotated with the reason.

    For kernels, why they cannot be printed in a language; there is no listing then.
    """
    milliseconds: float | None = None
    delta: dict[str, int] = {}
    """Differences from the previous step, e.g. ``{"lines": 24, "nodes": 190}``."""
    facts: dict[str, float] = {}
    """Statistics after the step: for a graph, the operators, kernels, and bytes read and written."""
    drawing: str | None = None
    """Key of the drawing after this step."""
    checked: Literal["ok", "wrong", "unchecked"] = "unchecked"
    """Whether the step preserved the results of the program, checked on one random input."""
    error: float | None = None
    """Largest absolute difference in that check."""


class Loop(Struct, frozen=True, kw_only=True):
    """A leaf axis of a stage in the schedule pane, outermost first."""

    name: str
    extent: str
    kind: Literal["spatial", "reduce", "thread"]
    annotation: str = ""
    origins: list[OriginId] = []
    depth: int = 0


class Stage(Struct, frozen=True, kw_only=True):
    """A stage of the schedule as a loop nest, or a block of a program with its enclosing loops."""

    name: str
    placement: str
    """``root``, ``inlined``, or ``at C, i_outer``; for a block ``in C_o, at k_0``."""
    loops: list[Loop]
    depth: int = 0
    """Number of loops and blocks around its body."""
    body: str
    origins: list[OriginId] = []


class SplitLoop(Struct, frozen=True, kw_only=True):
    """A loop that a primitive split: what its factors are chosen for."""

    line: int
    """1-based line of the script."""
    extent: int


MAX_LAYOUT_NAME, MAX_RULE, MAX_AXES = 200, 2_000, 12
"""Characters of a layout's names and of its rule, and axes of what is laid out."""


class Layout(Struct, frozen=True, kw_only=True):
    """A buffer that holds the elements of a tensor in another order."""

    name: Annotated[str, Meta(max_length=MAX_LAYOUT_NAME)]
    source: Annotated[str, Meta(max_length=MAX_LAYOUT_NAME)] = ""
    """The buffer that is copied, or the matrix that a tile holds; empty where the elements are computed."""
    rule: Annotated[str, Meta(max_length=MAX_RULE)]
    """Which element is at which place, e.g. ``packed[p, k, c] = B[k, p * 16 + c]``."""
    dtype: Annotated[str, Meta(max_length=40)]
    element: int
    """Bytes of an element."""
    shape: Annotated[list[int], Meta(max_length=MAX_AXES)]
    packed: Annotated[list[int], Meta(max_length=MAX_AXES)]
    """The shape of the buffer."""
    axes: tuple[int, int]
    """The axes of the tensor that are drawn down and across; all others are at 0."""
    rows: int
    columns: int
    offsets: Annotated[list[int], Meta(max_length=1_024)]
    """Where the elements of the drawn part are in the buffer, row by row; -1 for what is not in it."""
    memory: Annotated[list[int], Meta(max_length=1_024)]
    """Which element of the tensor, counted in its own order, is at the first places; -1 for padding."""
    is_tile: bool = False
    """Whether it is a tile register, whose rows have 64 bytes, and no memory."""
    origins: list[OriginId] = []


class Unit(Struct, frozen=True, kw_only=True):
    """A function or graph that was lowered or built, with its timeline."""

    name: str
    kind: Literal["function", "graph"] = "function"
    line: int | None = None
    target: str = ""
    built: bool = False
    steps: list[Step] = []
    schedule: list[Stage] = []
    layouts: Annotated[list[Layout], Meta(max_length=8)] = []
    """Buffers that its stages or blocks fill in another order."""
    splits: list[SplitLoop] = []
    """Loops of a constant extent that its schedule splits."""
    kernels: list[Kernel] = []
    unmeasured: str = ""
    """Why the kernels of a graph are not measured; empty if they are."""
    unbuilt: str = ""
    """Why a graph that the script does not build has no kernels; empty if it has."""
    own_kernels: list[OwnKernel] = []
    race: ModelRace | None = None
    device: KernelReport | None = None
    """Device kind of a function that launches kernels."""
    memory: list[str] = []
    """Description of the memory plan of a graph."""


ConsoleStream = Literal["stdout", "stderr", "note", "value"]
"""What a piece of console output is; ``value`` is that of the last statement of a cell."""


class Console(Struct, frozen=True):
    """A piece of console output: written by the script, or a note of the explorer."""

    stream: ConsoleStream
    text: str
    cell: int | None = None
    """Position of the cell that it belongs to."""


MAX_CELLS = 200
"""The maximum number of cells of a script; one with more has none."""


class Cell(Struct, frozen=True, kw_only=True):
    """A part of a script that begins with a line ``# %%``."""

    title: Annotated[str, Meta(max_length=80)] = ""
    """What stands on that line; empty for what stands before the first."""
    line: int
    """The first line."""
    end_line: int
    state: Literal["waiting", "ran", "failed"] = "waiting"
    """``waiting`` for one that does not run: it needs what another one failed to make, or the script ended before."""


Severity = Literal["error", "warning", "info"]
"""How bad a problem is: ``info`` is none of the script's, which was stopped before its end and goes on with Run."""


MAX_FIXES, MAX_EDITS = 3, 1_000
"""The maximum number of fixes of a problem, and of edits of each."""


class Fix(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What would mend a problem, on request: edits of the script, or a file that it lacks."""

    label: Annotated[str, Meta(max_length=400)]
    edits: Annotated[list[Edit], Meta(max_length=MAX_EDITS)] = []
    """Each names lines as they are before all of them."""
    attach: Annotated[str, Meta(max_length=120)] = ""
    """The name of a file to be attached."""


class Problem(Struct, frozen=True, kw_only=True):
    """An error, with the line of the script and what was expected."""

    kind: str
    """Exception class or ``Timeout``, ``OutputLimit``, ``MemoryLimit``, ``Crash``, ``Exit``, or a kernel's fault."""
    message: str
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    severity: Severity = "error"
    trace: list[str] = []
    """The stack frames of the script, innermost last."""
    origins: list[OriginId] = []
    """Of the expression that is wrong, so that its node can be marked in a drawing."""
    fixes: Annotated[list[Fix], Meta(max_length=MAX_FIXES)] = []
    """What would mend it, the likeliest first."""
    cut_short: bool = False
    """Whether the script was terminated early; the message says where its results so far are shown."""
    starved: bool = False
    """Whether it was, for lack of a processor: another try may come to the end."""


MAX_HINTS = 500
"""Lines of a script that have a hint."""
MAX_HINT = 100
"""Characters of a hint."""


class Hint(Struct, frozen=True, array_like=True):
    """What a statement of the script gives names to: shapes, dtypes, extents."""

    line: int
    """1-based line where the statement ends."""
    text: Annotated[str, Meta(max_length=MAX_HINT)]


MeasurementKind = Literal["kernel", "prefix", "numpy", "peak", "bandwidth"]
Source = Literal["script", "server", "link", "package"]
"""Origin of a measurement: the process that ran the script, which is untrusted; a process that only measures; a link,
whose creator made the claim; or the package, whose examples were measured on another machine."""


NOISE = 0.1
"""Relative spread, or relative difference of two measurements of the same thing, beyond which they are noisy."""


class Measurement(Struct, frozen=True, kw_only=True):
    """A measured time, with the circumstances."""

    name: str
    kind: MeasurementKind
    seconds: float
    """Median, in seconds."""
    spread: float = 0.0
    """Interquartile range, in seconds."""
    disturbed: bool = False
    """Whether other programs used the processors meanwhile.

    The times of a single thread are then those of the processor, not the clock.
    """
    repeats: int = 1
    number: int = 1
    """Calls per repeat."""
    threads: int = 1
    flops: float | None = None
    """Floating-point operations a call, where the definition determines them."""
    gflops: float | None = None
    traffic: float | None = None
    """Bytes between last-level cache and memory: modelled per call of a kernel; those copied for the bandwidth."""
    definition: Annotated[str, Meta(max_length=400)] = ""
    """What the measured program computes: its parameters, and a digest of its definition without a schedule.

    Equal texts are equal definitions, up to names; empty where there is none.
    """
    checked: Literal["ok", "wrong", "unchecked"] = "unchecked"
    error: float | None = None
    """Largest absolute difference from the result of NumPy, or else of the unscheduled definition, on equal inputs.

    It is often 0, as BLAS accumulates in the same order as a simple loop, with one rounding each.
    """
    cpu: str = ""
    host: Annotated[str, Meta(max_length=400)] = ""
    """The cluster machine of the measurement, set by the server; empty for the server's own."""
    target: str = ""
    note: str = ""
    line: int | None = None
    step: int | None = None
    """Number of schedule primitives applied (``prefix`` only)."""
    frequency: float | None = None
    """Clock frequency of the core, measured right afterwards by a loop of known cycle count; single-threaded only."""
    estimated: bool = False
    """Whether ``seconds`` is extrapolated from a measurement of a part of the work."""
    source: Source = "script"
    """The origin, set by the server regardless of what the child sends."""


class Answer(Struct, frozen=True, kw_only=True):
    """Everything recorded of one run of a script."""

    format: int = FORMAT
    mode: Mode = "compile"
    status: Literal["ok", "error", "timeout", "limit", "crash"] = "ok"
    units: list[Unit] = []
    listings: dict[str, Listing] = {}
    drawings: dict[str, Drawing] = {}
    origins: list[Origin] = []
    console: list[Console] = []
    cells: Annotated[list[Cell], Meta(max_length=MAX_CELLS)] = []
    """The cells of a script that has any."""
    problems: list[Problem] = []
    hints: Annotated[list[Hint], Meta(max_length=MAX_HINTS)] = []
    measurements: list[Measurement] = []
    hurried: bool = False
    """Whether something is missing for which there was no time on a busy machine: the next answer may have it."""
    milliseconds: float = 0.0
    environment: dict[str, str] = {}
    """Compiler version, LLVM version, CPU model, parallel runtime."""
