"""Requests to rendering processes, and their replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from app.artifacts import Measurement, Options, Source
from app.graphs.folding import Folding
from app.jobs.answers import StoredAnswer
from app.lessons.checks import Check, Verdict
from app.machine_code import CompiledKernels
from app.panes.cycles import MeasuredCall
from app.panes.selection import View
from app.sandbox import Outcome


class Html(msgspec.Struct, frozen=True, tag=True):
    """A fragment of the page."""

    html: str


class Update(msgspec.Struct, frozen=True, tag=True):
    """A fragment of the page for an answer that is not complete."""

    html: str
    line: int | None
    """The script's line that runs native code now."""


class PageParts(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The fragments that a whole page is made of."""

    panes: dict[str, str]
    """By the pane's name."""
    strip: str
    """The timeline."""
    data: str
    """What the page's scripts read."""
    level: str
    """What the page shows first: a graph, or the code of a function."""


class TextFile(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A text with the name of a file."""

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
    """Of the step that it is after."""
    drawing: str = ""
    """Key of the drawing of the same step, where it has one."""


class ShownTexts(msgspec.Struct, frozen=True, tag=True):
    """What an answer's panes show, by the pane's name."""

    texts: dict[str, ShownText]


class Packed(msgspec.Struct, frozen=True, tag=True):
    """A complete answer."""

    answer: StoredAnswer


class Verdicts(msgspec.Struct, frozen=True, tag=True):
    """What the checks of a lesson's step came to."""

    verdicts: list[Verdict]


Reply = Html | Update | PageParts | TextFile | Fingerprints | ShownTexts | Packed | Verdicts


class Assemble(msgspec.Struct, frozen=True, tag=True):
    """Make the answer of a job from its messages."""

    messages: list[bytes]
    outcome: Outcome
    source: Source = "script"
    """Who made the measurements."""
    kernels: list[CompiledKernels] = []
    """What was made of its programs in CUDA C."""


class RenderPanes(msgspec.Struct, frozen=True, tag=True):
    """Draw the panes that an answer changes."""

    view: View
    options: Options
    shown: tuple[str, ...] = ()
    """Keys of the bodies that the page shows already; their lines are left out."""


class RenderPage(msgspec.Struct, frozen=True, tag=True):
    """Draw all panes of a page."""

    script: str
    options: Options
    compiled: bool
    """Whether there is an answer; else the page compiles by itself."""


class RenderUpdate(msgspec.Struct, frozen=True, tag=True):
    """Draw what a run has measured and written until now."""

    message: bytes
    """The child's last message."""
    view: View
    options: Options


class RenderText(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Draw a listing pane at one step, or the difference between two."""

    pane: str
    listing: str
    before: str = ""
    label: str = ""
    before_label: str = ""


class RenderChunk(msgspec.Struct, frozen=True, tag=True):
    """Draw some lines of a listing."""

    listing: str
    index: int


class RenderGraph(msgspec.Struct, frozen=True, tag=True):
    """Draw a graph."""

    drawing: str
    folding: Folding
    last: str = ""
    """The last drawing of the graph, whose steps are laid out together."""


class RenderNode(msgspec.Struct, frozen=True, tag=True):
    """Draw what is known of a node of a graph."""

    drawing: str
    folding: Folding
    last: str
    slot: int


class RenderFlow(msgspec.Struct, frozen=True, tag=True):
    """Draw the control flow of a function of a listing."""

    listing: str
    function: str = ""


class RenderThroughput(msgspec.Struct, frozen=True, tag=True):
    """Analyse the hot loop of a function of a listing."""

    listing: str
    function: str = ""
    assembly: str = ""
    call: MeasuredCall | None = None
    """What was measured of the function, where the page knows it."""


class RenderExport(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Draw a page that needs no server."""

    script: str
    options: Options
    view: View
    measurements: list[Measurement]
    """What was measured of it, as the client says; those of the answer where there are none."""


class WriteListing(msgspec.Struct, frozen=True, tag=True):
    """Write a listing as a file."""

    listing: str


class FindTexts(msgspec.Struct, frozen=True, tag=True):
    """Find the text that each pane shows of an answer."""

    view: View
    options: Options


class ComputeFingerprints(msgspec.Struct, frozen=True, tag=True):
    """Hash what an answer shows."""


class JudgeStep(msgspec.Struct, frozen=True, tag=True):
    """Judge an answer by the checks of a lesson's step."""

    checks: list[Check]
    measurements: list[Measurement]
    """Made by the server."""
    predictions: dict[str, float]


Task = (
    Assemble
    | RenderPanes
    | RenderPage
    | RenderUpdate
    | RenderText
    | RenderChunk
    | RenderGraph
    | RenderNode
    | RenderFlow
    | RenderThroughput
    | RenderExport
    | WriteListing
    | FindTexts
    | ComputeFingerprints
    | JudgeStep
)
Expected = TypeVar("Expected", Html, Update, PageParts, TextFile, Fingerprints, ShownTexts, Packed, Verdicts)


class Renderer(Protocol):
    """Performs tasks."""

    def perform(
        self, task: Task, kind: type[Expected], answers: Sequence[StoredAnswer] = (), client: str = ""
    ) -> Expected:
        """Return the reply to a task.

        Parameters
        ----------
        task : Task
        kind : type
            That of the reply.
        answers : sequence of StoredAnswer
            The answers that the task is about.
        client : str
            Whom it is done for; nobody can take the turns of all others.

        Raises
        ------
        RequestError
            What was asked for does not exist, or would take too much time or memory.
        """

    def close(self) -> None:
        """End what works for it."""
