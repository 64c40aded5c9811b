"""Requests to rendering processes, and their replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from app.artifacts import Console, Measurement, Options, Problem, Source, Unit
from app.causes import Cause, LoopCode
from app.graphs.folding import Folding
from app.instructions import Tip
from app.jobs.answers import StoredAnswer
from app.lessons.checks import Check, Verdict
from app.machine_code import CompiledKernels
from app.panes.cycles import MeasuredCall
from app.panes.selection import View
from app.sandbox import Outcome


class Html(msgspec.Struct, frozen=True, tag=True):
    """An HTML fragment of the page."""

    html: str


class Update(msgspec.Struct, frozen=True, tag=True):
    """An HTML fragment of the page for a partial answer."""

    html: str
    line: int | None
    """The line of the script that is running native code."""


class PageParts(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The HTML fragments of a whole page."""

    panes: dict[str, str]
    """By name of the pane."""
    strip: str
    """The timeline."""
    data: str
    """The data for the page's scripts, as JSON elements."""
    level: str
    """The level that the page shows first: a graph, or the code of a function."""


class TextFile(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A text file."""

    name: str
    text: str


class Fingerprints(msgspec.Struct, frozen=True, tag=True):
    """Hashes of the final listings, by the title of the pane that shows them."""

    hashes: dict[str, str]


class ShownText(msgspec.Struct, frozen=True, kw_only=True):
    """The text that a pane shows."""

    listing: str
    """Key of the listing."""
    label: str
    """Label of the step that produced it."""
    drawing: str = ""
    """Key of the drawing of the same step, if any."""


class ShownTexts(msgspec.Struct, frozen=True, tag=True):
    """The texts that the panes of an answer show, by name of the pane."""

    texts: dict[str, ShownText]


class Packed(msgspec.Struct, frozen=True, tag=True):
    """A complete answer."""

    answer: StoredAnswer


class Verdicts(msgspec.Struct, frozen=True, tag=True):
    """The verdicts of the checks of a lesson step."""

    verdicts: list[Verdict]


class FoundText(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A text of an answer, or why the script made none."""

    status: Literal["ok", "error", "timeout", "limit", "crash"]
    text: str
    problems: list[Problem]
    console: list[Console]
    functions: list[str]
    """Names of the functions and graphs that the script made."""


class Compared(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The differences between a text of two answers."""

    equal: bool
    diff: list[str]
    """The lines of a unified diff."""
    problems: list[list[Problem]]
    """Of both scripts; with an error, nothing is compared."""


class HotLoop(msgspec.Struct, frozen=True, kw_only=True):
    """What LLVM's model of the processor says of the instructions of a loop, with all data in the nearest cache."""

    cycles: float
    """Cycles of an iteration."""
    ports: list[tuple[str, float]]
    """Cycles that each execution port is busy in an iteration, the busiest first."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What is known of a function."""

    status: Literal["ok", "error", "timeout", "limit", "crash"]
    problems: list[Problem]
    functions: list[str]
    """Names of the functions and graphs that the script made."""
    function: Unit | None
    """The function without the texts of its steps; None if the script made none."""
    hot_loop: HotLoop | None
    """None if nothing loops, or there is no model of the processor."""
    instructions: dict[str, str]
    """What the instructions of its assembly do, by mnemonic."""
    environment: dict[str, str]
    """Compiler version, LLVM version, CPU model, parallel runtime."""


class LoopFigures(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the hot loop of an assembly consists of, an iteration each; nothing but zeros where nothing loops."""

    instructions: int = 0
    vector_bits: int = 0
    """Bits of the vectors that do most of the work; 0 if scalar instructions do."""
    spills: int = 0
    work: float = 0.0
    """Counted in ``unit``."""
    unit: str = ""
    cycles: float | None = None
    """By LLVM's model of the processor."""
    processor: str = ""
    """The one of that model."""
    reason: str = ""
    """Why there are no cycles, or nothing is counted."""


class PortCause(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a busy execution port costs a function, if anything; or why nothing is known of the ports."""

    cause: Cause | None = None
    unknown: str = ""


class InstructionTips(msgspec.Struct, frozen=True, tag=True):
    """What the instruction of each line of a chunk does; None if a line has none that is known."""

    tips: list[Tip | None]


class TypeName(msgspec.Struct, frozen=True, tag=True):
    """The public name of a class or function; empty if there is none."""

    name: str


class Picture(msgspec.Struct, frozen=True, tag=True):
    """A picture as PNG."""

    content: bytes


Reply = (
    Html
    | Update
    | PageParts
    | TextFile
    | Fingerprints
    | ShownTexts
    | Packed
    | Verdicts
    | FoundText
    | Compared
    | Explanation
    | LoopFigures
    | PortCause
    | InstructionTips
    | TypeName
    | Picture
)


class Assemble(msgspec.Struct, frozen=True, tag=True):
    """Assemble the answer of a job from its messages."""

    messages: list[bytes]
    outcome: Outcome
    source: Source = "script"
    """The origin of the measurements."""
    kernels: list[CompiledKernels] = []
    """The compiled CUDA kernels of the job."""


class RenderPanes(msgspec.Struct, frozen=True, tag=True):
    """Render the panes that an answer changes; the times of a second answer are of the same kernels."""

    view: View
    options: Options
    shown: tuple[str, ...] = ()
    """Keys of the bodies that the page already shows; their lines are omitted."""
    replaced: bool = False
    """Whether the page shows another program, none of which may stay beside this one's answer."""
    recalled: bool = False
    """As of a stored answer."""


class RenderPage(msgspec.Struct, frozen=True, tag=True):
    """Render all panes of a page."""

    script: str
    options: Options
    compiled: bool
    """Whether there is an answer; otherwise the page requests one itself."""
    recalled: bool = False
    """As of a stored answer."""


class RenderUpdate(msgspec.Struct, frozen=True, tag=True):
    """Render the measurements and output of a run so far."""

    message: bytes
    """The latest message of the child."""
    view: View
    options: Options


class RenderText(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Render a listing pane at one step, or the diff between two."""

    pane: str
    listing: str
    before: str = ""
    label: str = ""
    before_label: str = ""


class RenderChunk(msgspec.Struct, frozen=True, tag=True):
    """Render a chunk of lines of a listing."""

    listing: str
    index: int


class TellInstructions(msgspec.Struct, frozen=True, tag=True):
    """Say what the instructions of a chunk of lines of a listing do."""

    listing: str
    index: int
    assembly: str = ""
    """Key of the assembly's target."""


class RenderGraph(msgspec.Struct, frozen=True, tag=True):
    """Render a graph."""

    drawing: str
    folding: Folding
    last: str = ""
    """Key of the last drawing of the graph; all steps share its layout."""
    other: str = ""
    """Key of another graph's drawing that it is compared with, both drawn as one."""


class RenderNode(msgspec.Struct, frozen=True, tag=True):
    """Render the details of a node of a graph."""

    drawing: str
    folding: Folding
    last: str
    slot: int
    other: str = ""


class RenderFlow(msgspec.Struct, frozen=True, tag=True):
    """Render the control-flow graph of a function of a listing."""

    listing: str
    function: str = ""


class RenderThroughput(msgspec.Struct, frozen=True, tag=True):
    """Analyse the hot loop of a function of a listing."""

    listing: str
    function: str = ""
    assembly: str = ""
    call: MeasuredCall | None = None
    """The measurement of the function, if the page has one."""


class FindLoopFigures(msgspec.Struct, frozen=True, tag=True):
    """Return the figures of the hot loop of an assembly listing."""

    listing: str
    assembly: str = ""


class FindPortCause(msgspec.Struct, frozen=True, tag=True):
    """Ask LLVM's model of the processor whether one of its ports limits a hot loop."""

    loop: LoopCode


class RenderExport(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Render a self-contained page."""

    script: str
    options: Options
    view: View
    measurements: list[Measurement]
    """Measurements as sent by the client; if empty, those of the answer are used."""


class WriteListing(msgspec.Struct, frozen=True, tag=True):
    """Return a listing as a text file."""

    listing: str


class FindTexts(msgspec.Struct, frozen=True, tag=True):
    """Return the text that each pane shows of an answer."""

    view: View
    options: Options


class ComputeFingerprints(msgspec.Struct, frozen=True, tag=True):
    """Hash the final listings of an answer."""


class JudgeStep(msgspec.Struct, frozen=True, tag=True):
    """Evaluate the checks of a lesson step on an answer."""

    checks: list[Check]
    measurements: list[Measurement]
    """Measurements made by the server."""
    predictions: dict[str, float]
    definition: str
    """What the step's answer computes; empty if no check asks for it."""
    computed: str
    """What the script computes, where a check asks for it and nothing is measured."""


class TextChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which text of an answer."""

    pane: Annotated[str, Meta(max_length=64)] = "loops"
    """``loops``, ``llvm``, ``asm``, ``graph``, ``kernel``, ``ptx`` or ``sass``."""
    function: Annotated[str, Meta(max_length=400)] = ""
    """Name of a function or graph; the one that was built last if empty."""
    step: Annotated[str, Meta(max_length=400)] = ""
    """Name of the pass or primitive after which it is shown; the last one if empty."""


class FindText(msgspec.Struct, frozen=True, tag=True):
    """Return a text of an answer."""

    choice: TextChoice
    options: Options


class CompareTexts(msgspec.Struct, frozen=True, tag=True):
    """Return the differences of a text of two answers."""

    choice: TextChoice
    options: list[Options]


class Explain(msgspec.Struct, frozen=True, tag=True):
    """Return what is known of a function."""

    function: str
    options: Options


class InferType(msgspec.Struct, frozen=True, tag=True):
    """Find out what an expression of a script is."""

    text: str
    """The script up to the end of the expression."""
    rest: str
    """The script after it."""
    folder: str
    """Where stubs are kept."""


class DrawCard(msgspec.Struct, frozen=True, tag=True):
    """Draw the preview card of a link; without an answer, from its script alone."""

    script: str
    title: str
    words: str
    view: dict[str, str | int | float | bool]


Task = (
    Assemble
    | RenderPanes
    | RenderPage
    | RenderUpdate
    | RenderText
    | RenderChunk
    | TellInstructions
    | RenderGraph
    | RenderNode
    | RenderFlow
    | RenderThroughput
    | FindLoopFigures
    | FindPortCause
    | RenderExport
    | WriteListing
    | FindTexts
    | ComputeFingerprints
    | JudgeStep
    | FindText
    | CompareTexts
    | Explain
    | InferType
    | DrawCard
)
Expected = TypeVar(
    "Expected",
    Html,
    Update,
    PageParts,
    TextFile,
    Fingerprints,
    ShownTexts,
    Packed,
    Verdicts,
    FoundText,
    Compared,
    Explanation,
    LoopFigures,
    PortCause,
    InstructionTips,
    TypeName,
    Picture,
)


class Renderer(Protocol):
    """Runs rendering tasks."""

    def perform(
        self, task: Task, kind: type[Expected], answers: Sequence[StoredAnswer] = (), client: str = ""
    ) -> Expected:
        """Run a task and return its reply.

        Parameters
        ----------
        kind : type
            Type of the reply.
        answers : sequence of StoredAnswer
            The answers that the task reads.
        client : str
            The client, for fair scheduling.

        Raises
        ------
        RequestError
            If the requested item does not exist, or takes too much time or memory.
        """

    def close(self) -> None:
        """End all processes of the renderer."""
