"""Proposed schedule primitives, each with the edit that writes it, or the reason why it is rejected.

A child proposes them, so that each is tried on the script's own schedule; the page offers them as menus and drops.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

MAX_PROPOSALS = 200
"""Of one loop or stage."""
MAX_FACTOR = 1 << 20
MAX_EDIT = 4_000
"""Characters that an edit writes."""
MAX_REMOVED = 1_000
"""Lines that an edit replaces."""
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
]
"""Primitives that are proposed, of tensor expressions and of TensorIR."""
Position = Annotated[int, Meta(ge=0, le=100_000)]


class Place(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stage of the schedule pane, or one of its loops."""

    stage: Position
    loop: Position | None = None
    """Position among the stage's loops, outermost first; None for the stage itself."""


class Subject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What proposals are asked for."""

    unit: Annotated[int, Meta(ge=-1, le=1_000)] = -1
    """Position among the functions that the script makes; -1 is the last one."""
    place: Place
    factor: Annotated[int, Meta(ge=1, le=MAX_FACTOR)] | None = None
    """Propose a split by this factor alone; None for all that is worth proposing."""


class Edit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lines of the script that are replaced."""

    line: Annotated[int, Meta(ge=1, le=1_000_001)]
    """The first of them, counted from 1; without any, what is written comes before this line."""
    removed: Annotated[int, Meta(ge=0, le=MAX_REMOVED)] = 0
    """How many are replaced."""
    text: Annotated[str, Meta(max_length=MAX_EDIT)]
    """What is written, without a line break at its end."""
    instead: Annotated[str, Meta(max_length=MAX_EDIT)] = ""
    """The statement of the script whose place the last line takes."""


class Proposal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A primitive that might be applied next."""

    primitive: ProposedPrimitive
    label: Annotated[str, Meta(max_length=200)]
    """What it does, in a few words."""
    onto: Place | None = None
    """Where the loop or stage is dropped for it; None if it is not a drop.  A reordered loop takes the place of the
    loop that it is dropped onto."""
    edit: Edit | None = None
    """How the script says it; None if it is refused."""
    refused: Annotated[str, Meta(max_length=2_000)] = ""
    """Why it cannot be applied, or not be written."""
    gain: Annotated[str, Meta(max_length=500)] = ""
    """Why it might help; empty if there is no reason."""


class Proposed(Struct, frozen=True, kw_only=True, tag="proposed"):
    """Sent when the primitives that may come next were tried."""

    proposals: Annotated[list[Proposal], Meta(max_length=MAX_PROPOSALS)] = []
    problem: Annotated[str, Meta(max_length=2_000)] = ""
    """Why nothing is proposed."""
