"""Why a function takes the time that it takes: causes with their shares, and what would remove each of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from app.proposals import Proposal

MAX_CAUSES = 40
CauseKind = Literal[
    "chain", "scalar", "lanes", "divisions", "calls", "float64", "order", "conflicts", "intermediate",
    "recomputed", "inlined", "threads", "balance", "grain", "sharing", "spills", "ports",
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


NOT_HIDDEN = 0.4
"""The share of what other parts of the processor do meanwhile that takes time of its own."""


def overlapped(computing: float, memory: float) -> float:
    """Return the cycles of instructions and of the memory that they wait for."""
    return max(computing, memory) + NOT_HIDDEN * min(computing, memory)


class LoopCode(Struct, frozen=True, kw_only=True):
    """The instructions of a function's hot loop, and what its time is made of by the model."""

    lines: Annotated[list[str], Meta(max_length=2_000)]
    spare: list[Annotated[int, Meta(ge=0, lt=2_000)]]
    """Which of them do no work: they only rearrange, convert, or find places."""
    triple: Annotated[str, Meta(max_length=200)]
    cpu: Annotated[str, Meta(max_length=200)]
    features: Annotated[str, Meta(max_length=10_000)]
    computing: float
    memory: float
    """Cycles of a call for instructions, and for bytes between the levels of memory."""

    def cycles(self, factor: float) -> float:
        """Return those of a call whose instructions take ``factor`` times as long."""
        return overlapped(self.computing * factor, self.memory)


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
    loop: LoopCode | None = None
    """For the model of the processor's ports, which runs elsewhere; an answer has its cause instead."""

    def with_cause(self, cause: Cause | None, unknown: str) -> Why:
        """Return this with what a model of the loop has found, the largest cause first."""
        causes = sorted([*self.causes, *([cause] if cause else [])], key=lambda each: -each.share)
        more = [unknown] if unknown else []
        return structs.replace(self, causes=causes[:MAX_CAUSES], unknown=[*self.unknown, *more], loop=None)
