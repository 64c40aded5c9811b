"""The timeline: steps folded into buttons, told apart by ids that survive a recompilation."""

from __future__ import annotations

import pytest

from app.artifacts import Answer, Step, Unit
from app.panes.numbers import signed
from app.panes.page import timeline
from app.panes.steps import timeline_steps
from tests.app.fixtures import full_answer


def buttons(answer: Answer) -> dict[str, list[tuple[str, str]]]:
    groups = timeline(timeline_steps(answer.units[0]))
    return {group.name: [(button.label, button.caption) for button in group.buttons] for group in groups}


def test_the_strip_goes_from_the_first_primitive_to_llvm() -> None:
    assert buttons(full_answer()) == {
        "schedule": [("default", "line 2"), ("split", "line 3"), ("parallel", "line 4")],
        "lowering": [("Loops", "+8 lines"), ("Vectors", "no change"), ("Clean-up", "same length")],
        "llvm": [("as emitted", "5 instructions"), ("optimised", "4 instructions")],
    }


def test_code_says_its_size_in_what_it_is_made_of() -> None:
    kernel = Step(group="kernel", name="CUDA C", delta={"lines": 17})
    ptx = Step(group="ptx", name="PTX", delta={"instructions": 73})
    steps = timeline_steps(Unit(name="main", steps=[kernel, ptx]))
    assert [step.change for step in steps] == ["17 lines", "73 instructions"]


def test_a_run_of_one_primitive_is_one_button_that_leads_to_its_end() -> None:
    names = ["default", "split", "split", "split", "reorder"]
    steps = [Step(group="schedule", name=name, line=number) for number, name in enumerate(names, 10)]
    [group] = timeline(timeline_steps(Unit(name="main", steps=steps)))
    assert [(button.label, button.caption, button.target.position) for button in group.buttons] == [
        ("default", "line 10", 0),
        ("split ×3", "lines 11–13", 3),
        ("reorder", "line 14", 4),
    ]


def test_primitives_left_out_are_dim() -> None:
    steps = [Step(group="schedule", name="split"), Step(group="schedule", name="vectorize", applied=False)]
    [group] = timeline(timeline_steps(Unit(name="main", steps=steps)))
    assert [button.dim for button in group.buttons] == [False, True]


def test_step_ids_tell_passes_of_one_name_apart() -> None:
    steps = [Step(group="lowering", name="Simplify"), Step(group="lowering", name="Simplify")]
    assert [step.id for step in timeline_steps(Unit(name="f", steps=steps))] == [
        "lowering:Simplify:0",
        "lowering:Simplify:1",
    ]


@pytest.mark.parametrize(("number", "text"), [(24, "+24"), (-6, "−6"), (0, "0"), (1200, "+1,200")])
def test_signs(number: int, text: str) -> None:
    assert signed(number) == text


@pytest.mark.parametrize(
    ("step", "summary"),
    [
        (
            Step(group="lowering", name="tir.Simplify", changed=False, milliseconds=0.417),
            "Simplify\u2003no change, 0.42 ms",
        ),
        (Step(group="lowering", name="tir.Unroll", delta={"lines": 24}), "Unroll\u2003+24 lines"),
        (Step(group="graph", name="Fold", changed=False, milliseconds=1131.7), "Fold\u2003no change, 1,100 ms"),
        (Step(group="lowering", name="mine", delta={"lines": -1}), "mine\u2003−1 line"),
        (Step(group="lowering", name="mine", delta={"lines": 0}), "mine\u2003same length"),
        (Step(group="llvm", name="LCSSA", delta={"instructions": 83}), "LCSSA\u200383 instructions"),
        (Step(group="llvm", name="GVN", delta={"instructions": 1}, milliseconds=2.0), "GVN\u20031 instruction, 2 ms"),
        (Step(group="llvm", name="GVN", milliseconds=2.0), "GVN\u20032 ms"),
        (Step(group="llvm", name="GVN", changed=False), "GVN\u2003no change"),
    ],
)
def test_a_step_tells_what_it_did(step: Step, summary: str) -> None:
    [shown] = timeline_steps(Unit(name="f", steps=[step]))
    assert shown.summary == summary
