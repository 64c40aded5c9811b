"""The strip: steps folded into chips, told apart by ids that survive a recompilation."""

from __future__ import annotations

import pytest

from app.artifacts import Answer, Step, Unit
from app.panes.timeline import signed, stops, timeline
from tests.app.fixtures import full_answer


def chips(answer: Answer) -> dict[str, list[tuple[str, str]]]:
    rows = timeline(stops(answer.units[0]))
    return {row.key: [(chip.label, chip.small) for chip in row.chips] for row in rows}


def test_the_strip_goes_from_the_first_primitive_to_llvm() -> None:
    assert chips(full_answer()) == {
        "schedule": [("default", "line 2"), ("split", "line 3"), ("parallel", "line 4")],
        "lowering": [("Phase 0", "+8"), ("Phase 2", "="), ("Phase 3", "±0")],
        "llvm": [("as emitted", "5"), ("optimised", "4")],
    }


def test_a_run_of_one_primitive_is_one_chip_that_leads_to_its_end() -> None:
    names = ["default", "split", "split", "split", "reorder"]
    steps = [Step(group="schedule", name=name, line=number) for number, name in enumerate(names, 10)]
    [row] = timeline(stops(Unit(name="main", steps=steps)))
    assert [(chip.label, chip.small, chip.stop.position) for chip in row.chips] == [
        ("default", "line 10", 0),
        ("split ×3", "lines 11–13", 3),
        ("reorder", "line 14", 4),
    ]


def test_primitives_left_out_are_dim() -> None:
    steps = [Step(group="schedule", name="split"), Step(group="schedule", name="vectorize", applied=False)]
    [row] = timeline(stops(Unit(name="main", steps=steps)))
    assert [chip.dim for chip in row.chips] == [False, True]


def test_step_ids_tell_passes_of_one_name_apart() -> None:
    steps = [Step(group="lowering", name="Simplify"), Step(group="lowering", name="Simplify")]
    assert [stop.id for stop in stops(Unit(name="f", steps=steps))] == ["lowering:Simplify:0", "lowering:Simplify:1"]


@pytest.mark.parametrize(("number", "text"), [(24, "+24"), (-6, "−6"), (0, "0"), (1200, "+1,200")])
def test_signs(number: int, text: str) -> None:
    assert signed(number) == text


@pytest.mark.parametrize(
    ("step", "story"),
    [
        (
            Step(group="lowering", name="tir.Simplify", changed=False, milliseconds=0.417),
            "Simplify\u2003no change, 0.42 ms",
        ),
        (Step(group="lowering", name="tir.Unroll", delta={"lines": 24}), "Unroll\u2003+24 lines"),
        (Step(group="lowering", name="mine", delta={"lines": -1}), "mine\u2003−1 line"),
        (Step(group="lowering", name="mine", delta={"lines": 0}), "mine\u2003same length"),
    ],
)
def test_a_step_tells_what_it_did(step: Step, story: str) -> None:
    [stop] = stops(Unit(name="f", steps=[step]))
    assert stop.story == story
