"""Each kind of check passes what it asks for, fails what it does not, and says what it saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import pytest

from app.artifacts import Answer, Console, Line, Listing, Loop, Measurement, Problem, Stage, Step, Unit
from app.lessons.checks import Check, Verdict, judge
from app.lessons.evidence import Evidence


def stage(name: str, placement: str = "root", **loops: str) -> Stage:
    made = [Loop(name=loop, extent="4", kind="spatial", annotation=annotation) for loop, annotation in loops.items()]
    return Stage(name=name, placement=placement, loops=made, body="")


def texts(*lines: str) -> Listing:
    summary: dict[str, int | float | str] = {"fma": 8, "vector bits": 256}
    return Listing(
        key="k", level="asm", name="f", language="gas", lines=[Line(line) for line in lines], summary=summary
    )


STEPS = [
    Step(group="schedule", name="split"),
    Step(group="schedule", name="split"),
    Step(group="schedule", name="unroll", refused="no"),
    Step(group="lowering", name="tir.Simplify", changed=False),
    Step(group="assembly", name="host", listing="k"),
]
GRAPH = Unit(
    name="main", kind="graph", steps=[Step(group="graph", name="FuseOps", facts={"operators": 5, "kernels": 2})]
)
FUNCTION = Unit(
    name="f", steps=STEPS, schedule=[stage("B", "inlined"), stage("C", i="parallel", k="", j="vectorize")], built=True
)
ANSWER = Answer(
    units=[GRAPH, FUNCTION],
    listings={"k": texts("vfmadd231ps ymm0", "vmovaps ymm1", "vmovaps ymm2")},
    console=[Console("stdout", "7 oranges"), Console("stderr", "pears")],
)


def measurement(kind: Any, seconds: float, **more: Any) -> Measurement:
    return Measurement(name=kind, kind=kind, seconds=seconds, source="server", **more)


LADDER = [
    measurement("numpy", 2e-3),
    measurement("prefix", 8e-3, step=0, flops=1e6, checked="ok"),
    measurement("prefix", 1e-3, step=1, flops=1e6, gflops=1.0, checked="ok", definition="float32[16]: 1f"),
]

PREDICTED = {"kind": "prediction", "name": "ms", "ask": "Milliseconds", "of": "milliseconds"}
CASES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"kind": "loops", "order": ["i", "j"]}, {"kind": "loops", "order": ["j", "i"]}, "its loops are i, k, j"),
    ({"kind": "loops", "order": ["i"], "stage": "C"}, {"kind": "loops", "order": ["i"], "stage": "D"}, "no such stage"),
    ({"kind": "loop count", "at_least": 3}, {"kind": "loop count", "at_least": 4}, "3 loops: i, k, j"),
    ({"kind": "loop count", "at_most": 3}, {"kind": "loop count", "at_most": 2}, "3 loops: i, k, j"),
    (
        {"kind": "annotated", "annotation": "vectorize", "at": "innermost"},
        {"kind": "annotated", "annotation": "vectorize", "at": "outermost"},
        "i (parallel)",
    ),
    ({"kind": "placed", "stage": "B", "at": "inlined"}, {"kind": "placed", "stage": "C", "at": "at B"}, "root"),
    ({"kind": "applied", "step": "split", "times": 2}, {"kind": "applied", "step": "unroll"}, "applied 0 times"),
    (
        {"kind": "applied", "step": "tir.Simplify"},
        {"kind": "applied", "step": "tir.Simplify", "changed": True},
        "applied once, once without a change",
    ),
    (
        {"kind": "contains", "pane": "asm", "text": "vmov[a-z]+", "at_least": 2},
        {"kind": "contains", "pane": "asm", "text": "vmov[a-z]+", "at_most": 0},
        "2 times",
    ),
    (
        {"kind": "contains", "pane": "asm", "text": "fma"},
        {"kind": "contains", "pane": "llvm", "text": "fma"},
        "LLVM IR",
    ),
    (
        {"kind": "fact", "pane": "asm", "fact": "vector bits", "at_least": 256},
        {"kind": "fact", "pane": "asm", "fact": "spills", "at_most": 9},
        "no number of spills",
    ),
    (
        {"kind": "fact", "pane": "asm", "fact": "fma", "at_most": 8},
        {"kind": "fact", "pane": "asm", "fact": "fma", "at_most": 7},
        "8",
    ),
    ({"kind": "graph", "fact": "kernels", "at_most": 2}, {"kind": "graph", "fact": "operators", "at_most": 4}, "has 5"),
    ({"kind": "printed", "text": r"^\d oranges"}, {"kind": "printed", "text": "pears"}, "it printed 7 oranges"),
    (
        {"kind": "question", "name": "n", "ask": "?", "answer": 40, "tolerance": 2},
        {"kind": "question", "name": "n", "ask": "?", "answer": 40},
        "42 is not right",
    ),
    (
        {"kind": "question", "name": "n", "ask": "?", "answer": 42},
        {"kind": "question", "name": "m", "ask": "?", "answer": 42},
        "type",
    ),
    ({"kind": "right"}, {"kind": "faster", "times": 9}, "8 ×"),
    ({"kind": "faster", "times": 8}, {"kind": "faster", "times": 8.5}, "8 ×"),
    ({"kind": "faster", "times": 2, "than": "numpy"}, {"kind": "faster", "times": 3, "than": "numpy"}, "2 ×"),
    (
        {"kind": "prediction", "name": "x", "ask": "?", "of": "milliseconds"},
        {"kind": "prediction", "name": "x", "ask": "?", "of": "times default"},
        "predicted 1.5, measured 8",
    ),
    (
        {"kind": "prediction", "name": "x", "ask": "?", "of": "gflops"},
        {"kind": "prediction", "name": "n", "ask": "?", "of": "times numpy"},
        "predicted 42, measured 2",
    ),
]


DEFINITIONS = [
    ("float32[16]: 1f", True, "its definition is the lesson's"),
    ("float32[17]: 1f", False, "its arguments are float32[16], the lesson's float32[17]"),
    ("float32[16]: 20", False, "what is computed of them is written in another way"),
    ("", False, "the server's log has the reason"),
]


@pytest.mark.parametrize(("lesson", "passes", "detail"), DEFINITIONS)
def test_a_definition_is_the_lesson_s_or_told_apart(lesson: str, passes: bool, detail: str) -> None:
    [check] = msgspec.convert([{"kind": "definition"}], list[Check])
    [made] = judge([check], Evidence(ANSWER, LADDER, {}, lesson))
    assert (made.passed, detail in made.detail) == (passes, True)
    [unmeasured] = judge([check], Evidence(ANSWER, definition=lesson, computed="float32[16]: 1f"))
    assert unmeasured == made
    [unknown] = judge([check], Evidence(ANSWER, [measurement("kernel", 1e-3)], {}, lesson or "float32[16]: 1f"))
    assert (unknown.passed, "was not recorded" in unknown.detail) == (False, True)


def test_of_several_kernels_the_last_one_counts() -> None:
    kernels = [measurement("kernel", 1.0, checked="ok"), measurement("kernel", 2.0, checked="wrong")]
    assert Evidence(ANSWER, kernels).kernel is kernels[1]


def verdict(check: dict[str, Any], measurements: Sequence[Measurement] = LADDER, answer: Answer = ANSWER) -> Verdict:
    checks = msgspec.convert([check], list[Check])
    [made] = judge(checks, Evidence(answer, measurements, {"n": 42, "x": 1.5}))
    return made


@pytest.mark.parametrize(("passing", "failing", "detail"), CASES, ids=lambda case: str(case)[:60])
def test_a_check_passes_and_fails(passing: dict[str, Any], failing: dict[str, Any], detail: str) -> None:
    assert verdict(passing).passed
    failed = verdict(failing)
    assert not failed.passed
    assert detail in failed.detail
    assert failed.words
    assert "\n" not in failed.words


@pytest.mark.parametrize(
    ("fact", "amount", "words"),
    [
        ("spills", 1, "at most 1 spill"),
        ("instructions", 1, "at most 1 instruction"),
        ("branches", 1, "at most 1 branch"),
        ("vector bits", 128, "vectors of at most 128 bits"),
    ],
)
def test_what_is_counted_is_named_in_the_right_number(fact: str, amount: int, words: str) -> None:
    assert verdict({"kind": "fact", "pane": "asm", "fact": fact, "at_most": amount}).words == f"Assembly has {words}"


def test_how_often_something_is_asked_for_reads_well() -> None:
    asked = {"kind": "contains", "pane": "asm", "text": "vmov", "at_least": 1, "at_most": 1}
    assert verdict(asked).words == "“vmov” is in Assembly exactly 1 time"
    assert verdict({**asked, "at_least": 2, "at_most": 3}).words == "“vmov” is in Assembly 2 to 3 times"
    assert verdict({"kind": "applied", "step": "split", "times": 2}).detail == "applied 2 times"


def test_what_the_script_has_is_said_with_its_unit() -> None:
    assert (
        verdict({"kind": "fact", "pane": "asm", "fact": "vector bits", "at_least": 512}).detail
        == "it has vectors of 256 bits"
    )
    assert verdict({"kind": "graph", "fact": "kernels", "at_most": 1}).detail == "after FuseOps it has 2 kernels"


def test_every_kind_is_tested() -> None:
    tags = {kind.__struct_config__.tag for kind in get_args(Check)}
    tested = {case["kind"] for passing, failing, _ in CASES for case in (passing, failing)}
    assert tags == tested | {"definition"}


def test_what_needs_a_measurement_fails_without_one() -> None:
    for passing, _, _ in CASES:
        [check] = msgspec.convert([passing], list[Check])
        assert verdict(passing, measurements=()).passed is not bool(check.needs)


def test_a_wrong_result_is_not_right() -> None:
    wrong = [measurement("kernel", 0.0, checked="wrong")]
    assert not verdict({"kind": "right"}, wrong).passed
    assert not verdict({"kind": "faster", "times": 1, "than": "numpy"}, [*wrong, measurement("numpy", 1.0)]).passed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"T\.grid\(60, 16\)", "yours are 57 and 17"),
        (r"T\.Buffer\(\(1000,\)", "yours is 969"),
        (r"grid\(60, 16\) of (?:3|4)", "not found"),
        (r"parallel", "not found"),
        (r"[0-8]{4}x", "not found"),
    ],
)
def test_numbers_that_are_not_those_asked_for_are_quoted(text: str, words: str) -> None:
    listing = texts("line: T.Buffer((969,))", "for i, j in T.grid(57, 17):")
    answer = Answer(units=ANSWER.units, listings={"k": listing})
    assert verdict({"kind": "contains", "pane": "asm", "text": text}, answer=answer).detail == words


def test_noise_is_told() -> None:
    noisy = [measurement("kernel", 1.0, spread=0.5), measurement("numpy", 1.0)]
    assert "measure again" in verdict({"kind": "faster", "times": 1, "than": "numpy"}, noisy).detail


def test_a_script_that_fails_passes_nothing() -> None:
    answer = Answer(status="error", problems=[Problem(kind="E", message="axis j")], units=ANSWER.units)
    made = verdict({"kind": "loops", "order": ["i"]}, answer=answer)
    assert (made.passed, made.detail) == (False, "the script fails: axis j")


def test_why_a_script_fails_is_said_once() -> None:
    answer = Answer(status="error", problems=[Problem(kind="E", message="axis j")])
    checks = msgspec.convert([{"kind": "loops", "order": ["i"]}] * 2, list[Check])
    made = judge(checks, Evidence(answer, [], {}))
    assert [(one.passed, one.detail) for one in made] == [(False, "the script fails: axis j"), (False, "")]


def test_a_script_whose_time_was_over_is_told_what_helps() -> None:
    stopped = Problem(kind="Timeout", message="it was stopped; Run allows more time", line=7, severity="info")
    made = verdict({"kind": "right"}, answer=Answer(status="timeout", problems=[stopped], units=ANSWER.units))
    assert not made.passed
    assert "ran out of time at line 7: check again" in made.detail
    assert "Run" not in made.detail  # which no check looks at


def test_what_a_hostile_script_answers_is_cut() -> None:
    answer = Answer(console=[Console("stdout", "x" * 100_000)])
    assert len(verdict({"kind": "printed", "text": "y"}, answer=answer).detail) <= 400
    assert not verdict({"kind": "graph", "fact": "kernels"}, answer=Answer()).passed


@pytest.mark.parametrize("typed", [1e308, float("inf"), -1e308, 1e-320, 0.0])
def test_a_strange_prediction_is_a_wrong_one(typed: float) -> None:
    questions = [
        {"kind": "question", "name": "n", "ask": "?", "answer": 40},
        {"kind": "prediction", "name": "n", "ask": "?", "of": "gflops"},
    ]
    verdicts = judge(msgspec.convert(questions, list[Check]), Evidence(ANSWER, LADDER, {"n": typed}))
    assert [one.passed for one in verdicts] == [False, False]
    assert all(len(one.detail) < 60 for one in verdicts)


@pytest.mark.parametrize("asked", [{"kind": "faster", "times": 9}, PREDICTED])
def test_times_of_a_busy_machine_fail_nobody(asked: dict[str, Any]) -> None:
    check = msgspec.convert(asked, Check)
    right = msgspec.convert({"kind": "right"}, Check)
    for disturbed in (False, True):
        ladder = [*LADDER[:1], msgspec.structs.replace(LADDER[1], disturbed=disturbed), LADDER[2]]
        verdicts = judge([check, right], Evidence(ANSWER, ladder, {"ms": 300.0}))
        assert [(verdict.passed, verdict.unsure) for verdict in verdicts] == [(False, disturbed), (True, False)]
