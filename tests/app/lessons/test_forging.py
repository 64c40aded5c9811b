"""What may not stand on a leaderboard: computations other than the lesson's, and results that are wrong."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest

from app.artifacts import Measurement, Options
from app.lessons import Lesson, Library, Step
from app.protocol import Failed, Measured, ProgramDefinition, RecordedFunction, Request
from app.recorder.measuring import ladder
from app.recorder.measuring.ladder import Ladder
from app.recorder.measuring.measured_program import TensorProgram
from compiler import te
from compiler.ir.module import IRModule
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.target.target import Target
from compiler.te.definition.numpy_reference import NoNumPyProgram
from tests.app.recorder.serving import served

LESSONS = Library().lessons
COMPARED = [(lesson, step) for lesson in LESSONS for step in lesson.steps if step.compares_definitions]
BOARDS = [(lesson, step) for lesson, step in COMPARED if step.measuring]
MATMUL = """
import tvm
from tvm import te
n = 512
A = te.placeholder((n, n), name="A", dtype="{dtype}")
B = te.placeholder((n, n), name="B", dtype="{dtype}")
k = te.reduce_axis((0, {extent}), name="k")
C = te.compute((n, n), lambda y, x: {body}, name="C")
s = te.create_schedule(C.op)
yo, xo, yi, xi = s[C].tile(*C.op.axis, 4, 32)
f = tvm.build(s, [{args}], target="llvm", name="multiply")
"""
POLYNOMIAL = """
import tvm
from tvm import te
n = {n}
x = te.placeholder((n,), name="x", dtype="{dtype}")
y = te.compute((n,), lambda i: {body}, name="y")
s = te.create_schedule(y.op)
f = tvm.build(s, [x, y], target="llvm", name="polynomial")
"""
PRODUCT = "te.sum(A[y, k] * B[k, x], axis=k)"
CUBIC = "((0.5 * x[i] - 1.5) * x[i] + 2.0) * x[i] - 0.25"
HONEST = {"dtype": "float32", "extent": "n", "body": PRODUCT, "args": "A, B, C", "n": "1 << 16"}
FORGED = [
    (1, {"n": "16"}),
    (1, {"n": "(1 << 16) - 1"}),
    (1, {"dtype": "float64"}),
    (1, {"dtype": "int32", "body": "x[i] * x[i] * x[i] - 1"}),
    (1, {"body": "x[i]"}),
    (1, {"body": "tvm.tir.const(0.75, 'float32')"}),
    (1, {"body": CUBIC.replace("0.25", "0.5")}),
    (1, {"body": CUBIC.replace("x[i] +", "x[n - 1 - i] +")}),
    (1, {"body": f"te.if_then_else(i < 0, {CUBIC}, x[i])"}),
    (1, {"body": "x[i] * float('nan') + x[i] - x[i] - x[i]"}),
    (2, {"dtype": "int32", "body": "te.sum(A[y, x] * B[y, x], axis=k)"}),
    (2, {"body": "te.sum(A[y, x] * B[y, x], axis=k)"}),
    (2, {"body": "te.sum(A[y, k] * B[x, k], axis=k)"}),
    (2, {"body": "te.sum(B[k, x] * A[y, k], axis=k)", "args": "B, A, C"}),
    (2, {"args": "B, A, C"}),
    (2, {"extent": "n - 1"}),
    (2, {"body": "te.max(A[y, k] * B[k, x], axis=k)"}),
    (2, {"body": "te.sum(A[y, k] + B[k, x], axis=k)"}),
    (2, {"body": "te.sum(A[y, k] * float('nan'), axis=k)"}),
    (2, {"dtype": "float16"}),
]
TEMPLATES = {1: POLYNOMIAL, 2: MATMUL}
HONEST_BODY = {1: CUBIC, 2: PRODUCT}


@cache
def recorded(script: str) -> str:
    """Return the program of the last function of a script."""
    programs = [
        one.program for one in served(Request(mode="record", script=script)) if isinstance(one, RecordedFunction)
    ]
    return programs[-1]


@cache
def definition(script: str) -> str:
    """Return what a script computes, told by a process that never sees it."""
    said = served(Request(mode="define", program=recorded(script)))
    assert [one for one in said if isinstance(one, Failed)] == []
    [defined] = [one for one in said if isinstance(one, ProgramDefinition)]
    return defined.definition


def script_of(number: int, **changed: str) -> str:
    return TEMPLATES[number].format(**{**HONEST, "body": HONEST_BODY[number], **changed})


def answer_of(number: int) -> str:
    [lesson] = [lesson for lesson in LESSONS if lesson.name == "beat-numpy"]
    return lesson.steps[number - 1].answer or ""


@pytest.mark.parametrize("number", [1, 2])
def test_the_lesson_s_computation_is_known_in_another_script(number: int) -> None:
    assert definition(script_of(number)) == definition(answer_of(number))


@pytest.mark.parametrize(("number", "changed"), FORGED, ids=str)
def test_a_computation_that_is_not_the_lesson_s_is_told_apart(number: int, changed: dict[str, str]) -> None:
    assert definition(script_of(number, **changed)) != definition(answer_of(number))


def test_every_step_that_measures_a_fixed_computation_compares_it() -> None:
    measuring = [(lesson.name, step.title) for lesson in LESSONS for step in lesson.steps if step.measuring]
    assert [(lesson.name, step.title) for lesson, step in BOARDS] == measuring


def renamed(script: str, seed: int) -> str:
    """Return a script with other names for its tensors, axes and variables."""
    known = r"\b(?:[A-Ca-z]|acc|celsius|data|table|image|picture|dark|sums|across|blur)\b"
    names = sorted(set(re.findall(known, script)))
    kept = {"s", "f", "n", "h", "w", "T"}
    to = {name: f"{name}_{random.Random(seed).randrange(10**6)}" for name in names if name not in kept}
    used = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, to)) + r")(?!\w|=\(|=\")") if to else None
    return used.sub(lambda match: to[match[1]], script) if used else script


@pytest.mark.parametrize(("lesson", "step"), COMPARED, ids=lambda value: getattr(value, "name", ""))
def test_names_do_not_count(lesson: Lesson, step: Step) -> None:
    assert step.answer is not None
    other = renamed(step.answer, 7)
    assert other != step.answer
    assert definition(other) == definition(step.answer)


def test_definitions_of_steps_differ_where_their_computations_do() -> None:
    found = {definition(step.answer or "") for _, step in BOARDS}
    assert len(found) == len(BOARDS) - 1  # two lessons multiply the same matrices


def test_a_measurement_says_what_was_measured() -> None:
    script = POLYNOMIAL.format(**{**HONEST, "n": "64", "body": CUBIC})
    said = served(Request(mode="measure", program=recorded(script)))
    kernels = [one.measurement for one in said if isinstance(one, Measured) and one.measurement.kind == "kernel"]
    assert [one.definition for one in kernels] == [definition(script)]
    assert kernels[0].definition.startswith("float32[64], float32[64]: ")


class _Wrong(TensorProgram):
    """A program whose schedule changes what is computed, and which NumPy cannot compute."""

    def lowered(self, count: int | None = None) -> IRModule:
        return super().lowered(count) if count == 0 else self.other.lowered(count)

    def reference(self, inputs: object) -> object:  # type: ignore[override]
        raise NoNumPyProgram("none")


def scheduled(factor: float) -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder((64,), name="a")
    b = te.compute((64,), lambda i: a[i] * factor, name="b")
    schedule = te.create_schedule(b.op)
    schedule[b].split(b.op.axis[0], factor=8)
    return schedule, [a, b]


@pytest.mark.parametrize("many", [1.0, 1e9], ids=["last step first", "first step first"])
@pytest.mark.parametrize("prefixes", [True, False])
def test_a_schedule_whose_values_are_wrong_has_no_time(
    many: float, prefixes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladder, "MANY_FLOPS", many)
    monkeypatch.setattr(ladder, "shortened", lambda *_: None)
    rows: list[Measurement] = []

    def take(event: object) -> None:
        if isinstance(event, Measured):
            rows.append(event.measurement)

    wrong = _Wrong(*scheduled(2.0))
    wrong.other = TensorProgram(*scheduled(3.0))  # type: ignore[attr-defined]
    threads = num_threads()
    climbing = Ladder(wrong, Target("llvm"), Options(), take)
    if prefixes:
        climbing.run()
    else:
        climbing.run_last("f")
    set_num_threads(threads)
    checked = {row.step: row.checked for row in rows if row.kind in ("prefix", "kernel")}
    assert checked == ({0: "ok", 1: "wrong"} if prefixes else {None: "wrong"})
