"""Where a proposal cannot be written into a script, it says why, and no line is changed."""

from __future__ import annotations

import pytest

from app.proposals import Place, Subject
from tests.app.recorder.proposals.test_block_trials import BUILT, NAIVE, NAMED, TWO
from tests.app.recorder.proposals.test_proposer import BLUR, labelled, proposals, run

SCHEDULE = "s = te.create_schedule(blur.op)\n"
BUILD = 'f = tvm.build(s, [image, blur], target="llvm", name="blur")\n'
HEAD = BLUR.partition("s = te.create_schedule")[0]


@pytest.mark.parametrize(
    ("stage", "loop", "words"), [(7, None, "has no block 7: it has 1"), (0, 9, "has no loop 9: it has")]
)
def test_a_block_or_loop_that_is_gone_is_told(stage: int, loop: int | None, words: str) -> None:
    _, proposed = run(NAIVE, Subject(place=Place(stage=stage, loop=loop)))
    assert proposed is not None
    assert words in proposed.problem


ONE_STATEMENT = HEAD + 'f = tvm.build(te.create_schedule(blur.op), [image, blur], target="llvm", name="blur")\n'
ONE_LINE = HEAD + SCHEDULE + "s[blur].parallel(s[blur].op.axis[0]); " + BUILD
ENDS_THERE = HEAD + SCHEDULE.replace("(", "(\n").rstrip() + "; " + BUILD.replace("f = ", "f = (\n    ").rstrip() + ")\n"
SCHEDULED = """\
def scheduled():
    s = te.create_schedule(blur.op)
    s[blur].parallel(s[blur].op.axis[0])
    return [s]

"""
RETURNED = HEAD + SCHEDULED + BUILD.replace("build(s,", "build(scheduled()[0],")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (ONE_STATEMENT, "no variable for this schedule"),
        (ONE_LINE, "schedules and lowers in one statement; split it into several"),
        (ENDS_THERE, "line 8 has several statements; put each on its own line"),
        (RETURNED, "no variable for this schedule"),
    ],
    ids=["in one statement", "on one line", "from the end of a line", "not kept"],
)
def test_a_script_with_no_place_for_a_line_says_so(script: str, words: str) -> None:
    made = labelled(proposals(script, 1, 1), "vectorize")
    assert made.edit is None
    assert words in made.refused


def test_a_block_whose_name_another_has_needs_a_variable() -> None:
    twins = TWO.replace('T.block("C")', 'T.block("B")')
    assert "Found 2 blocks with the name: B" in labelled(proposals(twins, 1, 0), "parallel").refused
    kept = twins.replace("f = ", 'block = sch.get_child_blocks(sch.get_block("root"))[1]\nf = ')
    assert labelled(proposals(kept, 1, 0), "parallel").edit is not None


def test_a_schedule_without_a_variable_has_no_place_for_a_line() -> None:
    script = NAIVE.replace("sch = tir.Schedule(matmul)\n", "").replace("sch.mod", "tir.Schedule(matmul).mod")
    made = labelled(proposals(script, 0, 0), "parallel")
    assert "no variable for this schedule where it lowers it" in made.refused


def test_no_more_than_the_cores_of_the_target_run_in_parallel() -> None:
    gpu = NAMED.replace("'llvm'", "'cuda'").replace("f = ", "sch.bind(i, 'blockIdx.x')\nf = ")
    assert BUILT in NAMED
    assert "has no parallel CPU loops" in labelled(proposals(gpu, 0, 1), "parallel").refused


NAMELESS = """\
from tvm import build
from tvm.te import compute, create_schedule, placeholder

a = placeholder((64,), name="a")
b = compute((64,), lambda i: a[i] * 2.0, name="b")
s = create_schedule(b.op)
f = build(s, [a, b], target="cuda", name="twice")
"""


def test_threads_are_bound_where_the_script_has_a_name_for_their_module() -> None:
    assert "the script does not import te" in labelled(proposals(NAMELESS, 0, 0), "bind to blockIdx.x").refused
    named = "import tvm\n" + NAMELESS
    edit = labelled(proposals(named, 0, 0), "bind to blockIdx.x").edit
    assert edit is not None
    assert 'tvm.te.thread_axis("blockIdx.x")' in edit.text
