"""Why a function takes the time that it takes: causes with their shares, and what would remove each of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from app.proposals import Proposal

MAX_CAUSES = 40
CauseKind = Literal[
    "chain", "scalar", "lanes", "divisions", "calls", "float64", "order", "conflicts", "intermediate",
    "recomputed", "inlined", "threads", "balance", "grain", "spills",
]  # fmt: skip


class Cause(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that takes time."""

    kind: CauseKind
    words: Annotated[str, Meta(max_length=1_000)]
    """A sentence with the numbers that it rests on."""
    share: Annotated[float, Meta(ge=0, le=1)]
    """The part of the time that the function would not take without it."""
    source: Literal["model", "assembly"] = "model"
    """Where the share is from: the model of the loops, or the instructions of the hot loop."""
    lines: Annotated[list[str], Meta(max_length=20)] = []
    """The lines of the loop IR that it is about, as they are shown."""
    remedy: Proposal | None = None
    """The primitive that shortens the function most, of those that remove such a cause."""
    gain: float | None = None
    """How many times as fast the model has the function after the remedy; or, without one, without the cause."""


class Why(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="why"):
    """The causes of a function's time, the largest first."""

    name: Annotated[str, Meta(max_length=1_000)] = ""
    cycles: float = 0.0
    """Of a call, by the model."""
    causes: Annotated[list[Cause], Meta(max_length=MAX_CAUSES)] = []
    unknown: Annotated[list[str], Meta(max_length=20)] = []
    """What no model knows of this function."""
    problem: Annotated[str, Meta(max_length=2_000)] = ""
    """Why there are none."""
