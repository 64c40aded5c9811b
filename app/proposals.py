"""Proposed schedule primitives, each with a source edit or the reason why it cannot be applied.

A child computes the proposals, trying each on the script's own schedule; the page offers them in menus and as
drag-and-drop.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

MAX_PROPOSALS = 200
"""Maximum number of proposals for a loop or stage."""
MAX_FACTOR = 1 << 20
MAX_EDIT = 4_000
"""Maximum length of the text of an edit."""
MAX_REMOVED = 1_000
"""Maximum number of lines that an edit replaces."""
ProposedPrimitive = Literal[
    "split",
    "reorder",
    "fuse",
    "vectorize",
    "parallel",
    "unroll",
    "bind",
    "compute_at",
    "compute_inline",
    "compute_root",
    "reverse_compute_at",
    "reverse_compute_inline",
    "decompose_reduction",
    "cache_write",
]
"""The primitives that can be proposed, of tensor expressions and TensorIR."""
Position = Annotated[int, Meta(ge=0, le=100_000)]


class Place(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stage of the schedule pane, or one of its loops."""

    stage: Position
    loop: Position | None = None
    """Position among the stage's loops, outermost first; None for the stage itself."""


class Subject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The subject of proposals."""

    unit: Annotated[int, Meta(ge=-1, le=1_000)] = -1
    """Position among the functions of the script; -1 is the last one."""
    place: Place
    factor: Annotated[int, Meta(ge=1, le=MAX_FACTOR)] | None = None
    """Only propose a split by this factor; None for all proposals."""


class Edit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A replacement of lines of the script."""

    line: Annotated[int, Meta(ge=1, le=1_000_001)]
    """1-based line of the first one; if none is removed, the text is inserted before this line."""
    removed: Annotated[int, Meta(ge=0, le=MAX_REMOVED)] = 0
    """Number of lines to replace."""
    text: Annotated[str, Meta(max_length=MAX_EDIT)]
    """The new text, without trailing newline."""
    instead: Annotated[str, Meta(max_length=MAX_EDIT)] = ""
    """The statement of the script that the last line replaces."""


class Proposal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A primitive that may be applied next."""

    primitive: ProposedPrimitive
    label: Annotated[str, Meta(max_length=200)]
    """Short description."""
    onto: Place | None = None
    """Drop target of the loop or stage; None if the proposal is not a drop.  A reordered loop takes the place of the
    loop that it is dropped onto."""
    edit: Edit | None = None
    """The source edit; None if the primitive cannot be applied."""
    refused: Annotated[str, Meta(max_length=2_000)] = ""
    """Why it cannot be applied, or not be expressed in the script."""
    gain: Annotated[str, Meta(max_length=500)] = ""
    """Expected benefit; empty if there is none."""


class Proposed(Struct, frozen=True, kw_only=True, tag="proposed"):
    """Sent after the possible primitives were tried."""

    proposals: Annotated[list[Proposal], Meta(max_length=MAX_PROPOSALS)] = []
    problem: Annotated[str, Meta(max_length=2_000)] = ""
    """Why there are no proposals."""
