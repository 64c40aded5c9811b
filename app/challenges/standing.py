"""Where a program stands: whether it computes what a problem defines, and how its time compares."""

from __future__ import annotations

from msgspec import Struct

from app.artifacts import Measurement
from app.challenges.problem import Problem
from app.lessons import Evidence, Verdict
from app.lessons.checks import difference_of
from app.panes.numbers import duration, number

__all__ = ["Standing", "stand"]


class Standing(Struct, frozen=True, kw_only=True):
    """The verdicts on a program, and its time as the server measured it."""

    passed: bool
    verdicts: list[Verdict]
    seconds: float | None = None
    times_numpy: float | None = None
    share: float | None = None
    """The share of what the processor's arithmetic or its memory could do."""
    limit: str = ""
    """What that is a share of."""
    disturbed: bool = False
    """Whether others used the machine meanwhile."""
    numpy: str = ""
    """NumPy's time; empty where it was not measured."""
    words: str = ""
    """The time and what it is compared with."""


def stand(problem: Problem, evidence: Evidence) -> Standing:
    """Judge the measurements of a program; of one for a GPU only the definition is known."""
    kernel = evidence.kernel
    verdicts = [_same_definition(kernel, evidence.definition)]
    if not problem.on_gpu:
        checked = kernel.checked if kernel else "unchecked"
        detail = f"compared with {'NumPy' if evidence.reference('numpy') else 'the definition'}: {checked}"
        verdicts.append(Verdict(words="The result is right", passed=checked == "ok", detail=detail))
    passed = all(verdict.passed for verdict in verdicts)
    if not passed or kernel is None or not kernel.seconds:
        return Standing(passed=passed, verdicts=verdicts)
    numpy = evidence.reference("numpy")
    share, limit = _share(problem, evidence, kernel)
    parts = [duration(kernel.seconds)]
    if numpy:
        parts.append(f"{number(numpy.seconds / kernel.seconds)} × as fast as NumPy, {duration(numpy.seconds)}")
    if share is not None:
        parts.append(f"{number(100 * share, 2)} % of {limit}")
    return Standing(
        passed=True,
        verdicts=verdicts,
        seconds=kernel.seconds,
        times_numpy=numpy.seconds / kernel.seconds if numpy else None,
        numpy=duration(numpy.seconds) if numpy else "",
        share=share,
        limit=limit,
        disturbed=kernel.disturbed,
        words=" · ".join(parts),
    )


def _same_definition(kernel: Measurement | None, asked: str) -> Verdict:
    words = "It is the computation of the problem: shapes, types and expressions"
    if kernel is None or not kernel.definition:
        detail = "nothing was measured" if kernel is None else "its definition was not recorded"
    else:
        detail = difference_of(kernel.definition, asked, "the problem's")
    return Verdict(words=words, passed=not detail, detail=detail or "its definition is the problem's")


def _share(problem: Problem, evidence: Evidence, kernel: Measurement) -> tuple[float | None, str]:
    """Return the share of the processor's limit that a kernel reaches, and what the limit is."""
    peak, bandwidth = evidence.reference("peak"), evidence.reference("bandwidth")
    if problem.settings.peak == "compute" and peak and peak.gflops and kernel.gflops:
        return kernel.gflops / peak.gflops, "the processor's arithmetic"
    if problem.settings.peak == "memory" and bandwidth and bandwidth.traffic and kernel.traffic:
        rate = bandwidth.traffic / bandwidth.seconds
        return kernel.traffic / kernel.seconds / rate, "the memory's bandwidth"
    return None, ""
