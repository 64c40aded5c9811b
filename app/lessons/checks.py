"""The kinds of checks that a step of a lesson can make.

Each kind is a :class:`msgspec.Struct`, so that a lesson names it by ``kind`` and its fields by their names.  It says
in words what it asks, and judges the :class:`~app.lessons.evidence.Evidence`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, get_args

from msgspec import Meta, Struct

from app.artifacts import NOISE, Problem
from app.lessons.evidence import Evidence
from app.panes import table

__all__ = ["KINDS", "Check", "Verdict", "difference_of", "judge", "measured"]

Words = Annotated[str, Meta(max_length=300)]
Pattern = Annotated[str, Meta(min_length=1, max_length=300)]
Reference = Literal["default", "numpy"]
Quantity = Literal["milliseconds", "gflops", "times default", "times numpy"]
Measuring = Literal["", "kernel", "ladder"]
"""What a check needs measured: nothing, the kernel and NumPy, or every prefix of the schedule, too."""


class Verdict(Struct, frozen=True, kw_only=True):
    """The result of a check."""

    words: str
    """The requirement."""
    passed: bool
    detail: str = ""
    """What the script has."""
    unsure: bool = False
    """Whether it failed by a time that was measured while others used the machine."""


class CheckBase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """A check; subclasses describe it in ``default_words`` and implement ``judge``."""

    words: Words = ""
    """The teacher's wording; empty for the default one."""

    measuring: ClassVar[Measuring] = ""
    timed: ClassVar[bool] = False
    """Whether the outcome depends on measured times."""

    @property
    def sentence(self) -> str:
        """The description of the check."""
        return self.words or self.default_words

    @property
    def default_words(self) -> str:
        """The default description."""
        raise NotImplementedError

    @property
    def needs(self) -> Measuring:
        """The measurements that the check needs."""
        return self.measuring

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        """Return whether the evidence passes, and a detail to show."""
        raise NotImplementedError

    def verdict(self, evidence: Evidence) -> Verdict:
        """Judge the evidence, and shorten the detail for display."""
        passed, detail = self.judge(evidence)
        unsure = self.timed and not passed and evidence.busy
        return Verdict(words=self.sentence, passed=passed, detail=detail[:400], unsure=unsure)


class Loops(CheckBase, frozen=True, kw_only=True, tag="loops"):
    """Loops of a stage occur in an order, outermost first, possibly with others between them."""

    order: list[str]
    stage: str = ""

    @property
    def default_words(self) -> str:
        return f"The loops of {self.stage or 'the last stage'} nest in the order {', '.join(self.order)}"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        stage = evidence.stage(self.stage)
        if stage is None:
            return False, "there is no such stage in the schedule"
        names = [loop.name for loop in stage.loops]
        rest = iter(names)
        return all(name in rest for name in self.order), f"its loops are {', '.join(names)}"


class LoopCount(CheckBase, frozen=True, kw_only=True, tag="loop count"):
    """A stage has some number of loops."""

    at_least: int = 0
    at_most: int = 1000
    stage: str = ""

    @property
    def default_words(self) -> str:
        return f"{self.stage or 'The last stage'} has {_counted(_range(self.at_least, self.at_most, 1000), 'loops')}"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        stage = evidence.stage(self.stage)
        if stage is None:
            return False, "there is no such stage in the schedule"
        names = [loop.name for loop in stage.loops]
        return self.at_least <= len(names) <= self.at_most, f"{len(names)} loops: {', '.join(names)}"


class AnnotatedLoop(CheckBase, frozen=True, kw_only=True, tag="annotated"):
    """A loop of a stage is vectorised, parallel or unrolled."""

    annotation: Literal["vectorize", "parallel", "unroll"]
    at: Literal["innermost", "outermost", "anywhere"] = "anywhere"
    stage: str = ""

    @property
    def default_words(self) -> str:
        participle = {"vectorize": "vectorised", "parallel": "parallel", "unroll": "unrolled"}[self.annotation]
        which = "A loop" if self.at == "anywhere" else f"The {self.at} loop"
        return f"{which} of {self.stage or 'the last stage'} is {participle}"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        stage = evidence.stage(self.stage)
        if stage is None:
            return False, "there is no such stage in the schedule"
        loops = {"innermost": stage.loops[-1:], "outermost": stage.loops[:1], "anywhere": stage.loops}[self.at]
        seen = ", ".join(f"{loop.name} ({loop.annotation or 'plain'})" for loop in loops)
        return any(loop.annotation == self.annotation for loop in loops), seen


class PlacementCheck(CheckBase, frozen=True, kw_only=True, tag="placed"):
    """A stage is computed at the root, inlined, or within another stage."""

    stage: str
    at: str
    """The prefix of its placement: ``root``, ``inlined``, ``at C``."""

    @property
    def default_words(self) -> str:
        where = {"root": "on its own", "inlined": "inlined"}.get(self.at, self.at)
        return f"{self.stage} is computed {where}"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        stages = evidence.function.schedule if evidence.function else []
        stage = next((stage for stage in stages if stage.name == self.stage), None)
        if stage is None:
            return False, f"there is no stage {self.stage}"
        return stage.placement.startswith(self.at), f"its placement is: {stage.placement}"


class StepCheck(CheckBase, frozen=True, kw_only=True, tag="applied"):
    """A schedule primitive or a pass was applied."""

    step: str
    times: Annotated[int, Meta(ge=1)] = 1
    changed: bool = False
    """Whether it must have had an effect."""

    @property
    def default_words(self) -> str:
        often = f" {_often(self.times)}" if self.times > 1 else ""
        return f"{self.step} is applied{often}" + (" and changes something" if self.changed else "")

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        steps = [step for step in evidence.steps if step.name == self.step and not step.refused]
        counted = [step for step in steps if step.changed or not self.changed]
        idle = f", {_often(len(steps) - len(counted))} without a change" if len(counted) < len(steps) else ""
        return len(counted) >= self.times, f"applied {_often(len(steps))}{idle}"


def _often(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


class ContentCheck(CheckBase, frozen=True, kw_only=True, tag="contains"):
    """The number of matches of a regular expression in a pane is within bounds."""

    pane: str
    text: Pattern
    at_least: Annotated[int, Meta(ge=0)] = 1
    at_most: Annotated[int, Meta(ge=0)] = 1_000_000

    def __post_init__(self) -> None:
        _require_listing(self.pane)
        _require_pattern(self.text)

    @property
    def default_words(self) -> str:
        if not self.at_most:
            return f"“{_plain(self.text)}” is not in {_title(self.pane)}"
        often = _counted(_range(self.at_least, self.at_most, 1_000_000), "times")
        endless = self.at_least == 1 and self.at_most == 1_000_000
        return f"“{_plain(self.text)}” is in {_title(self.pane)}{'' if endless else f' {often}'}"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        listing = evidence.listing(self.pane)
        if listing is None:
            return False, f"nothing was made for {_title(self.pane)}"
        pattern = re.compile(self.text)
        count = sum(len(pattern.findall(line.text)) for line in listing.lines)
        passed = min(self.at_least, self.at_most) <= count <= self.at_most
        if count:
            return passed, f"found {_often(count)}"
        instead = "" if passed else _other_numbers(self.text, [line.text for line in listing.lines])
        return passed, instead or "not found"


def _other_numbers(pattern: str, lines: Sequence[str]) -> str:
    """Return the numbers of a text that a pattern would find if it named others, ``""`` if there is none.

    ``T\\.grid\\(60, 16\\)`` finds nothing in ``for i, j in T.grid(57, 17):``, of which this returns ``yours are 57
    and 17``.
    """
    parts = re.split(r"(?<![\\\w{\[])(\d+)(?![\w\]}])", pattern)
    if len(parts) == 1:
        return ""
    loose = re.compile("".join(rf"(?P<_{index}>\d+)" if index % 2 else part for index, part in enumerate(parts)))
    found = next(filter(None, map(loose.search, lines)), None)
    if found is None:
        return ""
    *most, last = [found[f"_{index}"] for index in range(1, len(parts), 2)]
    return f"yours are {', '.join(most)} and {last}" if most else f"yours is {last}"


class Fact(CheckBase, frozen=True, kw_only=True, tag="fact"):
    """A number in a pane's title is within bounds: instructions, vector bits, fma, spills."""

    pane: str
    fact: str
    at_least: float = float("-inf")
    at_most: float = float("inf")

    def __post_init__(self) -> None:
        _require_listing(self.pane)

    @property
    def default_words(self) -> str:
        return f"{_title(self.pane)} has {self._amount(_range(self.at_least, self.at_most))}"

    def _amount(self, amount: str) -> str:
        return f"vectors of {amount} bits" if self.fact == "vector bits" else _counted(amount, self.fact)

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        listing = evidence.listing(self.pane)
        value = listing.summary.get(self.fact) if listing else None
        if not isinstance(value, int | float):
            return False, f"{_title(self.pane)} has no number of {self.fact}"
        return self.at_least <= value <= self.at_most, f"it has {self._amount(_number(value))}"


class GraphFact(CheckBase, frozen=True, kw_only=True, tag="graph"):
    """A statistic of the graph after its last pass is within bounds."""

    fact: Literal["operators", "kernels", "bytes read", "bytes written"]
    at_least: float = float("-inf")
    at_most: float = float("inf")

    @property
    def default_words(self) -> str:
        return f"The graph ends with {_counted(_range(self.at_least, self.at_most), self.fact)}"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        steps = [step for step in (evidence.graph.steps if evidence.graph else []) if self.fact in step.facts]
        if not steps:
            return False, "the script has no graph"
        value = steps[-1].facts[self.fact]
        return (
            self.at_least <= value <= self.at_most,
            f"after {steps[-1].name} it has {_counted(_number(value), self.fact)}",
        )


class OutputCheck(CheckBase, frozen=True, kw_only=True, tag="printed"):
    """The output of the script matches a regular expression."""

    text: Pattern

    def __post_init__(self) -> None:
        _require_pattern(self.text)

    @property
    def default_words(self) -> str:
        return f"The script prints “{_plain(self.text)}”"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        printed = "".join(piece.text for piece in evidence.answer.console if piece.stream == "stdout")
        return re.search(self.text, printed) is not None, f"it printed {printed[:120].strip() or 'nothing'}"


class Question(CheckBase, frozen=True, kw_only=True, tag="question"):
    """The student enters a number that can be read off the page."""

    name: Annotated[str, Meta(pattern=r"^[a-z_]{1,30}\Z")]
    ask: Words
    answer: float
    tolerance: Annotated[float, Meta(ge=0)] = 0.0

    @property
    def default_words(self) -> str:
        return self.ask

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        typed = evidence.predictions.get(self.name)
        if typed is None:
            return False, "type a number"
        right = abs(typed - self.answer) <= self.tolerance
        return right, f"{_number(typed)}{'' if right else ' is not right'}"


class ResultCheck(CheckBase, frozen=True, kw_only=True, tag="right"):
    """The measured kernel agrees with its definition."""

    measuring: ClassVar[Measuring] = "kernel"

    @property
    def default_words(self) -> str:
        return "The result is right"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        kernel = evidence.kernel
        if kernel is None:
            return False, "nothing was measured"
        return kernel.checked == "ok", f"checked on random inputs: {kernel.checked}"


class SameDefinition(CheckBase, frozen=True, kw_only=True, tag="definition"):
    """The kernel computes what the step's answer does: the same shapes, types and expressions, in one order.

    Of the steps that measure, only those with this check have a leaderboard.
    """

    @property
    def default_words(self) -> str:
        return "It is the same computation as the lesson's: shapes, types and expressions"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        own = evidence.kernel.definition if evidence.kernel else evidence.computed
        if not evidence.definition:
            return False, "the lesson's own answer cannot be read; the server's log has the reason"
        if not own:
            return False, "its definition was not recorded, so it cannot be compared"
        difference = difference_of(own, evidence.definition, "the lesson's")
        return not difference, difference or "its definition is the lesson's"


class SpeedCheck(CheckBase, frozen=True, kw_only=True, tag="faster"):
    """The measured kernel is faster than the unscheduled definition, or than NumPy, by a factor."""

    times: Annotated[float, Meta(gt=0)]
    than: Reference = "default"

    timed: ClassVar[bool] = True

    @property
    def default_words(self) -> str:
        return f"{self.times:g} × as fast as {_REFERENCES[self.than]}"

    @property
    def needs(self) -> Measuring:
        return "ladder" if self.than == "default" else "kernel"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        ratio = _times(evidence, self.than)
        if ratio is None:
            return False, "nothing was measured"
        return ratio >= self.times, f"{ratio:.3g} ×{_noise(evidence)}"


class Prediction(CheckBase, frozen=True, kw_only=True, tag="prediction"):
    """The student predicts a measurement in advance, within a factor."""

    name: Annotated[str, Meta(pattern=r"^[a-z_]{1,30}\Z")]
    ask: Words
    of: Quantity
    within: Annotated[float, Meta(gt=1)] = 2.0

    timed: ClassVar[bool] = True

    @property
    def default_words(self) -> str:
        return f"Predicted within a factor of {self.within:g}"

    @property
    def needs(self) -> Measuring:
        return "ladder" if self.of == "times default" else "kernel"

    def judge(self, evidence: Evidence) -> tuple[bool, str]:
        typed = evidence.predictions.get(self.name)
        if typed is None or not typed > 0:
            return False, "type a number first"
        value = measured(evidence, self.of)
        if not value:
            return False, "nothing was measured"
        return (
            1 / self.within <= typed / value <= self.within,
            f"predicted {_number(typed)}, measured {_number(value)}",
        )


Check = (
    Loops
    | LoopCount
    | AnnotatedLoop
    | PlacementCheck
    | StepCheck
    | ContentCheck
    | Fact
    | GraphFact
    | OutputCheck
    | Question
    | ResultCheck
    | SameDefinition
    | SpeedCheck
    | Prediction
)
KINDS = tuple(kind.__struct_config__.tag for kind in get_args(Check))
"""The kinds of checks by their names in lessons."""
_REFERENCES: dict[Reference, str] = {"default": "the definition without a schedule", "numpy": "NumPy"}


def judge(checks: list[Check], evidence: Evidence) -> list[Verdict]:
    """Judge all checks; a script that fails passes none, and the first says why."""
    errors = [problem for problem in evidence.answer.problems if problem.severity == "error"]
    if evidence.answer.status != "ok" or errors:
        detail = _late(evidence.answer.problems) if evidence.answer.status == "timeout" else _failed(errors)
        details = [detail, *[""] * (len(checks) - 1)]
        return [
            Verdict(words=check.sentence, passed=False, detail=said)
            for check, said in zip(checks, details, strict=True)
        ]
    return [check.verdict(evidence) for check in checks]


def difference_of(definition: str, asked: str, whose: str) -> str:
    """Return how a measured definition differs from the one that is asked for; empty if it does not."""
    if definition == asked:
        return ""
    own, other = (text.rpartition(": ")[0] for text in (definition, asked))
    if own != other:
        return f"its arguments are {own}, {whose} {other}"
    return "the arguments agree, but what is computed of them is written in another way"


def _failed(errors: list[Problem]) -> str:
    """Return why the script failed."""
    return f"the script fails: {errors[0].message if errors else 'the script did not end'}"[:400]


def _late(problems: list[Problem]) -> str:
    """Return advice for a script that ran out of time, without the longer time of Run."""
    line = next((problem.line for problem in problems if problem.line), None)
    where = f" at line {line}" if line else ""
    return (
        f"the script ran out of time{where}: check again, since the server may have been busy; "
        "if that does not help, make the shapes smaller or leave out what the step does not ask for"
    )


def measured(evidence: Evidence, of: Quantity) -> float | None:
    """Return a quantity of the measured kernel, or None if it was not measured."""
    kernel = evidence.kernel
    if kernel is None or not kernel.seconds:
        return None
    if of == "milliseconds":
        return kernel.seconds * 1e3
    if of == "gflops":
        return kernel.gflops
    return _times(evidence, "default" if of == "times default" else "numpy")


def _times(evidence: Evidence, than: Reference) -> float | None:
    """Return the speedup of the kernel over a reference."""
    kernel, reference = evidence.kernel, evidence.reference(than)
    if kernel is None or reference is None or not kernel.seconds or not reference.seconds:
        return None
    return reference.seconds / kernel.seconds


def _noise(evidence: Evidence) -> str:
    """Return a note if the measurement is so noisy that another one may have another outcome."""
    kernel = evidence.kernel
    noisy = kernel is not None and kernel.spread > NOISE * kernel.seconds
    return "; the times varied a lot, so measure again if in doubt" if noisy else ""


def _plain(pattern: str) -> str:
    """Return a regular expression without escapes, for display."""
    return pattern.replace("\\", "")


def _title(pane: str) -> str:
    row = table.find(pane)
    return row.title if row else pane


def _require_listing(pane: str) -> None:
    """Check that a pane shows text."""
    listings = [row.name for row in table.PANES if row.listing and not row.copy_of]
    if pane not in listings:
        raise ValueError(f"Expected a pane with a text, one of {', '.join(listings)}, got {pane!r}")


def _require_pattern(text: str) -> None:
    """Check that a regular expression is valid."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"Expected a regular expression, got {text!r}: {error}") from error


def _number(value: float) -> str:
    """Format a number: large ones as integers, small ones with three digits."""
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.3g}"


def _counted(amount: str, things: str) -> str:
    """Format a bound on a count, e.g. ``at most 1 kernel``."""
    one = re.sub(r"(?:(?<=ch)e)?s\b", "", things, count=1)
    return f"{amount} {one if amount.split()[-1] == '1' else things}"


def _range(least: float, most: float, endless: float = float("inf")) -> str:
    if least == most:
        return f"exactly {_number(least)}"
    if most >= endless:
        return f"at least {_number(least)}"
    return f"at most {_number(most)}" if least in (0, float("-inf")) else f"{_number(least)} to {_number(most)}"
