"""Searches of schedules: what a page asks for, and what it is told of candidates."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

LOG = "search.jsonl"
"""The file of a workspace with the records of its searches, each a line of :mod:`compiler.search.database`."""
MAX_LOG = 4 << 20
"""Bytes of a log that a search goes on from."""
MAX_LINE = 20_000
MAX_WISHES = 50
MAX_REFUSALS = 12
HOTTEST = 10
"""How many kernels of a model are searched, those that take most of its time."""
MAX_LISTED = 100
"""Kernels of a log, such as the tasks of a whole network."""
Word = Annotated[str, Meta(max_length=1_000)]
Value = bool | int | Annotated[str, Meta(max_length=200)] | Annotated[list[int], Meta(max_length=16)]
Decision = tuple[Annotated[str, Meta(max_length=200)], Value]
"""The name of a decision, and what was chosen."""


class KernelWishes(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is wanted of the candidates of a function."""

    pinned: Annotated[list[Decision], Meta(max_length=MAX_WISHES)] = []
    """Decisions that all candidates make so."""
    banned: Annotated[list[Decision], Meta(max_length=MAX_WISHES)] = []
    """Choices that no candidate makes."""


class SearchSettings(KernelWishes, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How to search."""

    seconds: Annotated[float, Meta(ge=5, le=120)] = 60.0
    """By the clock, without waiting for a turn."""
    model: bool = False
    """Whether the kernels of the script's last model are searched, instead of its last function."""
    kernels: Annotated[dict[Word, KernelWishes], Meta(max_length=HOTTEST)] = {}
    """What is wanted of each kernel of the model, by its workload."""


class Tried(Struct, frozen=True, kw_only=True, tag="tried"):
    """A candidate was measured, or why it could not be."""

    record: Annotated[str, Meta(max_length=MAX_LINE)]
    """The line of the log."""


class Refusal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why derivations ended before anything was compiled."""

    sketch: Annotated[list[Decision], Meta(max_length=100)] = []
    """What was decided until then, without sizes and places."""
    reason: Annotated[str, Meta(max_length=500)]
    count: Annotated[int, Meta(ge=1)]


Refusals = Annotated[list[Refusal], Meta(max_length=MAX_REFUSALS)]


class Searching(Struct, frozen=True, kw_only=True, tag="searching"):
    """Where a search is after a round; ``seconds`` are by the clock, since its process began."""

    trials: int
    seconds: float
    refused: Refusals = []
    default_seconds: float | None = None
    """Of a call of what the script makes, measured as candidates are."""


class Found(Struct, frozen=True, kw_only=True, tag="found"):
    """What a search found, compared with the default in turns once more."""

    choices: Annotated[list[Decision], Meta(max_length=1_000)] | None = None
    """None if nothing was faster than the default, which stays."""
    seconds: float | None = None
    default_seconds: float | None = None


Count = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(gt=0, lt=1e6)]
Ways = Annotated[dict[Word, Annotated[str, Meta(max_length=200)]], Meta(max_length=100)]


class KernelSearch(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a search over a model has found for a kernel; times are of a call in the model."""

    name: Word
    workload: Word
    """What the records of its candidates are known by."""
    calls: Count = 0
    before: Seconds | None = None
    best: Seconds | None = None
    beside: Seconds | None = None
    """As ``before``, but measured in turns with candidates; times of their records compare with it."""
    trials: Count = 0
    """Candidates of the log, which earlier searches may have begun."""
    kept: bool = False
    """Whether the model is built with the best; known at the end."""
    trouble: Word = ""
    """Why it is not searched (any more)."""
    refused: Refusals = []


class ModelSearch(Struct, frozen=True, kw_only=True, tag="model", omit_defaults=True, forbid_unknown_fields=True):
    """Where a search over a model is after a round."""

    kernels: Annotated[list[KernelSearch], Meta(max_length=MAX_LISTED)]
    total: Seconds | None = None
    """Seconds of all kernels in a run before the search, those included that it leaves out."""
    trials: Count = 0
    seconds: float = 0.0
    """By the clock, since its process began."""
    others: Annotated[dict[Word, Word], Meta(max_length=HOTTEST)] = {}
    """Hot kernels that have nothing to search, and why."""
    ways: Ways = {}
    """Operators that are computed in other ways than usual."""
    before: Seconds | None = None
    """Seconds of a run of the model by default, measured at the end, in turns with ``after``."""
    after: Seconds | None = None
    """The same if nothing that was found stays."""

    @property
    def expected(self) -> float | None:
        """Seconds of a run with the best of all kernels, if nothing else changes."""
        times = [(k.calls, k.before, k.best) for k in self.kernels]
        gained = sum(calls * (before - best) for calls, before, best in times if before and best and best < before)
        return None if self.total is None else self.total - gained


class SoughtKernel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kernel of the script's last model, built with operators computed in some ways."""

    workload: Word
    ways: Ways = {}


class PairSettings(Struct, frozen=True, kw_only=True):
    """How a candidate of a search elsewhere is compared with its reference, as of ``compiler.search.Patience``."""

    target: str
    turn: float
    most: int
    seconds: float
    matters: float


class Paired(Struct, frozen=True, kw_only=True, tag="paired"):
    """What became of such a candidate, as of ``compiler.search.Measurement``."""

    kind: Annotated[str, Meta(pattern=r"^(ok|refused|wrong)\Z")]
    message: Annotated[str, Meta(max_length=10_000)] = ""
    ratio: float = 0.0
    error: float = 0.0
    seconds: float = 0.0
    reference: float = 0.0
    times: Annotated[list[float], Meta(max_length=1_000)] = []
    """Seconds of its turns; empty unless ``kind`` is ``ok``."""
    building: float = 0.0
    compared: float = 0.0


class CandidateTexts(Struct, frozen=True, kw_only=True, tag="candidate"):
    """A candidate as texts."""

    script: Annotated[str, Meta(max_length=500_000)]
    """With its primitives; it runs as it stands."""
    loops: Annotated[str, Meta(max_length=500_000)]
    assembly: Annotated[str, Meta(max_length=1_000_000)]
    kernel: Word = ""
    """The name of the kernel of a model that it is a candidate of."""
    original: Annotated[str, Meta(max_length=500_000)] = ""
    """A script of that kernel with the schedule that it has without a search."""
    workload: Word = ""
    """What records call the function now: those of another workload are none that its search goes on from."""
