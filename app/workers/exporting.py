"""Renders self-contained pages with all texts of their panes and the links of each line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import msgspec

from app.artifacts import Answer, Line, Listing
from app.graphs.drawings import Drawings, DrawnGraph
from app.panes import table
from app.panes.listing_pane import PaneListing
from app.panes.listings import CHUNK_LINES, Chunk, chunks
from app.panes.page import page
from app.panes.pane import Dock, Pane
from app.panes.steps import TimelineStep
from app.workers.tasks import RenderExport

MAX_LINES = 60_000
"""Maximum number of lines of all texts in a file; steps beyond it are omitted."""
MAX_NODES = 20_000
"""Maximum number of nodes of all drawings in a file."""
SOURCE = "source"
"""Name of the script pane, which is an editor on the live page."""
DRAWING = "drawing"
"""Name of the graph pane, whose content the live page fetches."""


@dataclass(frozen=True)
class FullListing(PaneListing):
    """A listing with all of its lines rendered."""

    @property
    def chunks(self) -> list[Chunk]:
        """All lines, highlighted."""
        return chunks(self.listing, first=len(self.listing.lines) // CHUNK_LINES + 1)


class Exporter:
    """Renders the panes of one file, within its budgets of lines and nodes.

    Parameters
    ----------
    drawings : Drawings
        Drawings of the answer.
    """

    def __init__(self, task: RenderExport, answer: Answer, drawings: Drawings) -> None:
        if task.measurements:
            told = [msgspec.structs.replace(one, source="link") for one in task.measurements]
            answer = msgspec.structs.replace(answer, measurements=told)
        self._script = task.script
        self._drawings = drawings
        self._lines = MAX_LINES
        self._nodes = MAX_NODES
        self._page = page(answer, task.view, task.options)
        self._texts: dict[str, FullListing] = {}
        self._graphs: dict[str, DrawnGraph] = {}

    def draw(self, template: Callable[..., str]) -> str:
        """Render the timeline, the panes and the data of the file.

        Parameters
        ----------
        template : callable
            Renders a template, given its name and its variables.
        """
        # The initially shown texts are always included; the other steps share the rest of the budget.
        listings = [content for content in self._page.contents.values() if isinstance(content, PaneListing)]
        self._lines -= sum(len(content.listing.lines) for content in listings)
        contents = dict(self._contents())
        return template(
            "panes/_export.html",
            page=replace(self._page, contents=contents),
            docks=[dock for dock in table.DOCKS if _shown(dock, contents)],
            rows=[_own(pane) for pane in table.PANES if pane.name in contents],
            texts=self._texts,
            graphs=self._graphs,
        )

    def _contents(self) -> Iterator[tuple[str, object]]:
        """Yield the name and content of each pane of the file."""
        contents = self._page.contents
        for pane in table.PANES:
            content = contents[pane.name]
            if isinstance(content, PaneListing):
                yield pane.name, self._listing(content)
            elif pane.name == SOURCE:
                yield pane.name, _source(pane, self._script)
            elif content is not None and (pane.redrawn or (pane.name == DRAWING and self._graphs)):
                yield pane.name, content

    def _listing(self, content: PaneListing) -> FullListing:
        """Return a listing with the steps whose texts fit the budget."""
        choices = [step for step in content.choices if self._take_text(content, step)]
        for step in choices:
            self._take_drawing(step.step.drawing, content.united if step is content.step else "")
        return FullListing(_own(content.pane), content.listing, content.label, choices=choices, step=content.step)

    def _take_text(self, content: PaneListing, step: TimelineStep) -> bool:
        """Add the text of a step to the file; return whether the file contains it."""
        key = step.step.listing or ""
        listing = self._page.answer.listings[key]
        if listing is content.listing or key in self._texts:
            return True
        if len(listing.lines) > self._lines:
            return False
        self._lines -= len(listing.lines)
        self._texts[key] = FullListing(_own(content.pane), listing)
        return True

    def _take_drawing(self, key: str | None, other: str) -> None:
        """Add a drawing to the file; as one with that of ``other`` if that is given."""
        if not key or key in self._graphs:
            return
        drawn = (self._drawings.compared(key, other) if other else None) or self._drawings.get(key)
        if drawn is not None and len(drawn.drawing.nodes) <= self._nodes:
            self._nodes -= len(drawn.drawing.nodes)
            self._graphs[key] = drawn


def _shown(dock: Dock, contents: dict[str, object]) -> bool:
    return any(pane.name in contents for pane in table.panes_of(dock))


def _source(pane: Pane, script: str) -> FullListing:
    lines = [Line(text) for text in script.rstrip("\n").split("\n")]
    return FullListing(
        _own(pane), Listing(key=pane.name, level="source", name="script.py", language="python", lines=lines)
    )


def _own(pane: Pane) -> Pane:
    """Return the table row of a pane without comparison, which needs the server."""
    return replace(pane, against="", listing=pane.listing or pane.name == SOURCE)
