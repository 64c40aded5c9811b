"""The definition of a pane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from app.panes.buttons import TimelineButton
    from app.panes.selection import Selection
    from app.panes.steps import TimelineStep

LISTING_TEMPLATE = "panes/_listing.html"


@dataclass(frozen=True, kw_only=True)
class Dock:
    """A row or column of the page that divides its room among its panes."""

    name: str
    """The element's id."""
    level: Literal["", "graph", "code"] = ""
    """Level at which it shows: a graph, or the code of one function; empty for both."""
    direction: Literal["horizontal", "vertical"] = "horizontal"
    size: float = 100.0
    """Share of the column's height, in proportion to the other docks of its level."""
    minimum: int = 120
    """Least width or height of a pane, in pixels."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Panes that share a place as tabs."""

    panes: tuple[str, ...]
    front: str
    """The one that shows, if it is open."""


@dataclass(frozen=True, kw_only=True)
class Arrangement:
    """Where panes stand for a kind of script, unless a visitor moves them: in their docks, or in groups."""

    name: str
    title: str
    groups: tuple[Group, ...] = ()
    """On pages with room for three texts beside the script."""
    shares: Mapping[str, float]
    """On smaller pages, shares of the column by name of a dock."""


@dataclass(frozen=True, kw_only=True)
class Pane:
    """A pane of the page.

    Its template gets the row as ``pane``, what the producer returned as ``content``, and in ``swap`` the attribute
    that marks a fragment of an answer; the other names are those of the page.
    """

    name: str
    """Short name, in element ids, addresses and links."""
    title: str
    dock: str
    """Name of its dock."""
    size: float
    """Share of the dock, in proportion to the sizes of its other panes."""
    template: str
    producer: Callable[[Pane, Selection], object | None]
    """Returns what the template draws; None if the answer holds nothing for this pane."""
    empty: str = ""
    """What it says when there is nothing to show."""
    redrawn: bool = True
    """Whether an answer draws it anew; else the page's scripts fill it."""
    live: bool = False
    """Whether it is drawn anew while a script still runs."""
    on_demand: bool = False
    """Whether it shows what is made on demand, such as measurements: that stays until it is made again."""

    machine: Literal["", "cpu", "device"] = ""
    """Whether it shows code of a CPU or of kernels, and has its place only where the function shown has such code."""
    open: bool = True
    """Whether it is open until a visitor says otherwise."""

    leaves: bool = True
    """Whether it can have a window of its own, which shows what answers and runs draw, and nothing else."""
    wanted: tuple[int, int] = (420, 260)
    """Width and height that it needs to be of use, in pixels: where its dock leaves less, it opens elsewhere."""

    copies: int = 0
    """How many more panes of its kind a visitor can open, each with steps of its own."""
    copy_template: str = LISTING_TEMPLATE
    """Of its copies, which leave out the tools that hold for all panes of the kind."""
    copy_of: str = ""
    """Name of the pane that this one is a copy of."""

    option: str = ""
    """Name of the option that its text is made for; a page sets it once the pane is open. Empty if always made."""
    listing: bool = False
    """Whether it shows a listing, in chunks whose lines link to the lines of other panes."""
    unlinked: str = ""
    """Why a line of the listing, or of the script, may link to nothing."""
    flows: bool = False
    """Whether the control flow of its text can be drawn."""
    group: str = ""
    """Group of the recorded steps that it shows, e.g. ``"lowering"``; empty if it shows no steps."""
    also: str = ""
    """Group of further steps whose texts can be chosen; their buttons are those of another pane."""
    changes_only: bool = False
    """Whether steps that changed nothing are left out of the choice."""
    stepped: bool = False
    """Whether its steps can be chosen and compared."""
    against: str = ""
    """Name under which a link keeps the step that is compared with."""
    strip: str = ""
    """Title of its steps in the timeline; empty if they are not there."""
    fold: Callable[[Sequence[TimelineStep]], list[TimelineButton]] | None = None
    """Folds its steps into the timeline's buttons."""
