"""Proposals: what they write is a script that runs and schedules as they say; what lowering refuses is refused."""

from __future__ import annotations

import random

import pytest

from app.artifacts import Answer
from app.proposals import Edit, Place, Proposal, Proposed, Subject
from app.protocol import Message, Request, Snapshot
from app.recorder.proposals.insertion import ScriptText
from app.recorder.proposals.payoffs import CORES, MAX_UNROLLED, Payoffs
from app.recorder.session import Session
from compiler.ir.expr.primexpr import Var
from compiler.target.target import Target
from compiler.tir.script.functions import from_source
from compiler.tir.statements.stmt import For
from tests.e2e.steps import MATMUL

BLUR = """\
import tvm
from tvm import te

image = te.placeholder((34, 32), name="image")
across = te.compute((34, 32), lambda y, x: image[y, x] * 2.0, name="across")
blur = te.compute((32, 32), lambda y, x: across[y, x] + across[y + 2, x], name="blur")
s = te.create_schedule(blur.op)
f = tvm.build(s, [image, blur], target="llvm", name="blur")
"""


def run(script: str, subject: Subject | None = None) -> tuple[Answer, Proposed | None]:
    """Run a script; return the answer, and the proposals where a subject asks for some."""
    messages: list[Message] = []
    request = Request(mode="propose" if subject else "compile", script=script, subject=subject)
    Session(request, messages.append, guarded=False).run()
    answers = [message.answer for message in messages if isinstance(message, Snapshot)]
    return answers[-1], next((message for message in messages if isinstance(message, Proposed)), None)


def proposals(script: str, stage: int, loop: int | None = None, factor: int | None = None) -> list[Proposal]:
    _, proposed = run(script, Subject(place=Place(stage=stage, loop=loop), factor=factor))
    assert proposed is not None
    assert proposed.problem == ""
    return proposed.proposals


def edited(script: str, edit: Edit | None) -> str:
    """Return a script after an edit, as the editor makes it."""
    assert edit is not None
    lines = script.splitlines()
    lines[edit.line - 1 : edit.line - 1 + edit.removed] = edit.text.split("\n")
    return "\n".join(lines) + "\n"


def labelled(proposed: list[Proposal], label: str) -> Proposal:
    return next(proposal for proposal in proposed if proposal.label == label)


def loops(answer: Answer, stage: int = 0) -> list[str]:
    return [loop.name for loop in answer.units[-1].schedule[stage].loops]


def test_a_split_is_written_where_a_person_would_write_it() -> None:
    split = labelled(proposals(MATMUL, 0, 0), "split by 8")
    lines = edited(MATMUL, split.edit).splitlines()
    assert lines[-3:-1] == ["s[C].vectorize(ji)", "io, ii = s[C].split(i, factor=8)"]
    answer, _ = run(edited(MATMUL, split.edit))
    assert answer.problems == []
    assert loops(answer) == ["i.outer", "i.inner", "j.outer", "k", "j.inner"]


PLACED = BLUR.replace(
    "f = tvm.build",
    "y, x = blur.op.axis\ns[across].compute_at(s[blur], y)\nxo, xi = s[blur].split(x, factor=8)\nf = tvm.build",
)


@pytest.mark.parametrize(
    ("label", "statement"),
    [
        ("inline", "s[across].compute_inline()"),
        ("compute at the root", "s[across].compute_root()"),
        ("compute at blur, x.outer", "s[across].compute_at(s[blur], xo)"),
    ],
)
def test_a_stage_is_placed_once(label: str, statement: str) -> None:
    placed = labelled(proposals(PLACED, 0), label)
    assert placed.edit is not None
    assert placed.edit.instead == "s[across].compute_at(s[blur], y)"
    script = edited(PLACED, placed.edit)
    assert [line for line in script.splitlines() if "s[across]" in line] == [statement]
    assert sorted(script.splitlines()) == sorted(PLACED.replace(placed.edit.instead, statement).splitlines())
    answer, _ = run(script)
    assert answer.problems == []


@pytest.mark.parametrize(
    "line",
    [
        "s[across].compute_at(s[blur], y)  # rows stay in the cache",
        "s[across].compute_at(s[blur], y); ready = True",
        "for stage in (across,):\n    s[stage].compute_at(s[blur], y)",
        "def place(stage):\n    s[stage].compute_at(s[blur], y)\n\nplace(across)",
    ],
)
def test_a_line_that_says_more_than_where_a_stage_is_placed_stays(line: str) -> None:
    script = PLACED.replace("s[across].compute_at(s[blur], y)", line)
    placed = labelled(proposals(script, 0), "inline")
    assert placed.edit is not None
    assert placed.edit.instead == ""
    assert line in edited(script, placed.edit)
    assert run(edited(script, placed.edit))[0].problems == []


def test_a_reordering_takes_the_place_of_the_one_before() -> None:
    moved = labelled(proposals(MATMUL, 0, 2), "move outside of i")
    assert moved.onto == Place(stage=0, loop=0)
    script = edited(MATMUL, moved.edit)
    assert script.count("reorder") == 1
    assert "s[C].reorder(k, i, jo, ji)" in script
    answer, _ = run(script)
    assert loops(answer) == ["k", "i", "j.outer", "j.inner"]


def test_axes_without_a_name_get_one() -> None:
    split = labelled(proposals(BLUR, 1, 0), "split by 16")
    script = edited(BLUR, split.edit)
    assert "y, x = s[blur].op.axis\nyo, yi = s[blur].split(y, factor=16)\nf = " in script
    again = labelled(proposals(script, 1, 2), "vectorize")
    assert "s[blur].vectorize(x)\nf = " in edited(script, again.edit)


def test_what_follows_rfactor_is_written_after_it() -> None:
    """The stage has other axes from there on."""
    script = MATMUL.replace("jo, ji = s[C].split(j, factor=16)", "ko, ki = s[C].split(k, factor=8)")
    script = script.replace("s[C].reorder(i, jo, k, ji)\ns[C].vectorize(ji)", "partial = s.rfactor(C, ki)")
    split = labelled(proposals(script, 1, 2), "split by 4")
    assert ".rfactor(C, ki)\n" in script
    assert edited(script, split.edit).split("rfactor")[1].startswith("(C, ki)\nkivo, kivi = s[C].split(")


def test_a_stage_is_dropped_at_a_loop_of_its_consumer() -> None:
    places = proposals(BLUR, 0)
    at = next(p for p in places if p.onto == Place(stage=1, loop=0))
    assert "s[across].compute_at(s[blur], y)\n" in edited(BLUR, at.edit)
    answer, _ = run(edited(BLUR, at.edit))
    assert answer.units[-1].schedule[0].placement == "at blur, y"


@pytest.mark.parametrize(
    ("script", "written"),
    [
        (
            BLUR.replace("f = tvm", "\n\ndef make():\n    t = te.create_schedule(blur.op)\n    return tvm").replace(
                "build(s,", "build(t,"
            )
            + "make()\n",
            "    y, x = t[blur].op.axis\n    t[blur].parallel(y)\n    return",
        ),
        (
            BLUR.replace("f = tvm", "with tvm.target.Target('llvm'):\n    f = tvm"),
            "\ny, x = s[blur].op.axis\ns[blur].parallel(y)\nwith",
        ),
        (
            BLUR.replace("f = tvm", "if True:\n    y, x = blur.op.axis\n    f = tvm"),
            "\n    s[blur].parallel(y)\n    f =",
        ),
        (BLUR.replace("f = ", "axes = blur.op.axis\nf = "), "axes = blur.op.axis\ns[blur].parallel(axes[0])\n"),
        (BLUR.replace("f = ", "y, x = 1, 2\nf = "), "s[blur].parallel(s[blur].op.axis[0])\n"),
        (BLUR.rpartition("f = ")[0], "y, x = s[blur].op.axis\ns[blur].parallel(y)\n"),
    ],
    ids=["function", "before a block", "inside a block", "list", "names taken", "nothing lowers"],
)
def test_the_line_has_its_place_and_its_names(script: str, written: str) -> None:
    parallel = labelled(proposals(script, 1, 0), "parallel")
    assert written in edited(script, parallel.edit)
    assert run(edited(script, parallel.edit))[0].problems == []


def test_what_lowering_refuses_is_refused_with_its_reason() -> None:
    refused = labelled(proposals(MATMUL, 0, 2), "vectorize")
    assert refused.edit is None
    assert "reduction axis" in refused.refused
    assert MATMUL.count("n = 64") == 1
    longer = labelled(proposals(MATMUL.replace("n = 64", "n = 4096"), 0, 2), "vectorize")
    assert longer.refused == refused.refused, "however long: no part of it can be, either"
    bound = labelled(proposals(MATMUL, 0, 0), "bind to blockIdx.x")
    assert "build for a GPU" in bound.refused
    assert "written out 64 times" in labelled(proposals(MATMUL, 0, 0), "unroll").refused
    assert labelled(proposals(MATMUL, 0, 1), "unroll").edit is not None, "4 copies of the loop over k"


def test_loops_are_bound_for_a_gpu() -> None:
    script = MATMUL.replace('target="llvm"', 'target="opencl"').replace("s[C].vectorize(ji)\n", "")
    bound = labelled(proposals(script, 0, 0), "bind to blockIdx.x")
    script = edited(script, bound.edit)
    assert 's[C].bind(i, te.thread_axis("blockIdx.x"))\n' in script
    assert not {"vectorize", "parallel", "unroll", "bind to blockIdx.x"} & {p.label for p in proposals(script, 0, 0)}
    assert "has no parallel CPU loops" in labelled(proposals(script, 0, 1), "parallel").refused
    assert not [p.gain for p in proposals(script, 0, 1) if "cores" in p.gain or "moves" in p.gain], "those of a CPU"
    twice = labelled(proposals(script, 0, 1), "bind to blockIdx.x").refused
    assert "both bound to blockIdx.x, so that" in twice, "a line that is not written yet has no number"


def test_no_loop_runs_in_parallel_inside_of_one_that_does() -> None:
    script = BLUR.replace("f = ", "s[blur].parallel(s[blur].op.axis[0])\nf = ")
    refused = labelled(proposals(script, 1, 1), "parallel").refused
    assert refused.endswith("would run in parallel inside a loop that is already parallel")


def test_an_output_that_nothing_reads_has_no_place_to_choose() -> None:
    _, proposed = run(MATMUL, Subject(place=Place(stage=0)))
    assert proposed is not None
    assert "an output that no other stage reads" in proposed.problem


def test_reasons_are_those_of_the_loops() -> None:
    naive = MATMUL.replace("jo, ji = s[C].split(j, factor=16)\ns[C].reorder(i, jo, k, ji)\ns[C].vectorize(ji)\n", "")
    assert "reduction k is innermost" in labelled(proposals(naive, 0, 2), "move outside of j").gain
    assert "no loop of C is parallel" in labelled(proposals(MATMUL, 0, 0), "parallel").gain
    scalar = MATMUL.replace("s[C].vectorize(ji)\n", "")
    assert "element by element" in labelled(proposals(scalar, 0, 3), "vectorize").gain
    assert labelled(proposals(scalar, 0, 0), "vectorize").gain == ""
    assert "independent" not in labelled(proposals(BLUR, 1, 0), "move inside of x").gain


def test_a_factor_of_ones_own_is_proposed_alone() -> None:
    [split] = proposals(MATMUL, 0, 0, factor=10)
    assert split.label == "split by 10"
    assert "factor=10" in edited(MATMUL, split.edit)


@pytest.mark.parametrize(("unit", "stage", "loop"), [(-1, 7, None), (-1, 0, 9), (5, 0, None)])
def test_proposals_for_what_is_gone_say_so(unit: int, stage: int, loop: int | None) -> None:
    _, proposed = run(MATMUL, Subject(unit=unit, place=Place(stage=stage, loop=loop)))
    assert proposed is not None
    assert proposed.problem
    assert proposed.proposals == []


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in (0, 3, 4, 5))])
def test_walks_of_proposals_stay_legal(seed: int) -> None:
    """Whatever is proposed can be written, one after another, and the script still runs."""
    choose = random.Random(seed)
    script = BLUR if seed % 2 else MATMUL
    for _ in range(4):
        answer, _ = run(script)
        assert answer.problems == [], script
        stages = answer.units[-1].schedule
        stage = choose.randrange(len(stages))
        loop = choose.choice([None, *range(len(stages[stage].loops))])
        _, proposed = run(script, Subject(place=Place(stage=stage, loop=loop)))
        assert proposed is not None
        legal = [proposal for proposal in proposed.proposals if proposal.edit]
        if legal:
            script = edited(script, choose.choice(legal).edit)
    assert run(script)[0].problems == [], script


def test_a_form_feed_and_a_separator_of_unicode_end_no_line_of_a_script() -> None:
    text = ScriptText("x = '\x0c\u2028'\ns = x\ns.upper()  # in place\n\x0cs.lower()\n", None)
    edit = text.replacement("s.title()", 3)
    assert edit is not None
    assert (edit.line, edit.removed, edit.text) == (3, 1, "s.title()  # in place")


@pytest.mark.parametrize(("index", "unit"), [("i", True), ("i * 2", False), ("0", False)])
def test_a_reason_is_given_just_where_a_primitive_might_help(index: str, unit: bool) -> None:
    arrays = 'A: T.Buffer((64,), "float32"), B: T.Buffer((128,), "float32")'
    func = from_source(f"@T.prim_func\ndef main({arrays}):\n    for i in range(64): B[{index}] = A[i]\n")
    assert isinstance(func.body, For)
    loop, of = func.body.loop_var, Payoffs(func, Target("llvm -mcpu=haswell"))  # which has vectors of eight
    assert [bool(of.vectorize(loop, extent)) for extent in (8, 32, 33, None)] == [unit, unit, False, False]
    assert [bool(of.split(loop, *pair)) for pair in ((64, 8), (32, 8), (60, 8), (64, 4), (None, 8))] == [unit] + 4 * [
        False
    ]
    assert bool(of.move_inside(loop, Var("k"))) is unit
    on_device = Payoffs(func, Target("cuda"))
    assert [bool(each.fuse(2)) for each in (of, on_device)] == [True, False]
    assert [bool(each.parallel("B", 64)) for each in (of, on_device)] == [True, False]
    assert not of.vectorize(Var("elsewhere"), 8)
    assert [bool(of.unroll(extent)) for extent in (1, 2, MAX_UNROLLED, MAX_UNROLLED + 1)] == [False, True, True, False]
    assert [bool(of.parallel("C", extent)) for extent in (1, 2, None)] == [False, True, False]
    assert [bool(of.fuse(extent)) for extent in (2 * CORES - 1, 2 * CORES, None)] == [True, False, False]
