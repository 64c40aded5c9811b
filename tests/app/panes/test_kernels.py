"""The table of a graph's kernels."""

from __future__ import annotations

from app.artifacts import Answer, Kernel, Unit
from app.panes.kernels import with_times


def graph(*kernels: Kernel) -> Unit:
    return Unit(name="main", kind="graph", kernels=list(kernels))


def kernel(name: str, seconds: float | None = None) -> Kernel:
    return Kernel(name=name, operators=[name], seconds=seconds, disturbed=seconds is not None)


def test_a_kernel_that_is_shown_after_a_run_leaves_the_times_of_all() -> None:
    shown = Answer(units=[graph(kernel("a"), kernel("b")), Unit(name="a")])
    run = Answer(units=[graph(kernel("b", 2.0), kernel("a", 1.0))])
    timed = with_times(shown, run)
    assert timed.units == [graph(kernel("a", 1.0), kernel("b", 2.0)), Unit(name="a")]


def test_times_of_other_kernels_are_not_taken() -> None:
    shown = Answer(units=[graph(kernel("a")), graph(kernel("b"))])
    assert with_times(shown, Answer(units=[graph(kernel("b", 2.0))])) == shown
