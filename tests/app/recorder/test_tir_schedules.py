"""A TensorIR schedule is a timeline of its primitives, each with its program, its line and what it was made from."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from app.artifacts import Answer, Line, Options, Step
from app.protocol import Message, Request, Snapshot
from app.recorder.units import function_units
from tests.app.recorder.serving import served

MATMUL = """\
import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def matmul(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


"""
SCHEDULED = (
    MATMUL
    + """\
sch = tir.Schedule(matmul)
block = sch.get_block("C")
i, j, k = sch.get_loops(block)
j_0, j_1 = sch.split(j, factors=[None, 8])
sch.reorder(i, j_0, k, j_1)
sch.vectorize(j_1)
sch.decompose_reduction(block, k)
"""
)
LOOPS, BLOCK, AXES, INIT, UPDATE = 8, 9, 10, 12, 13
SCHEDULE, SPLIT, REORDER, VECTORIZE, DECOMPOSE = 16, 19, 20, 21, 22


def messages(script: str, mode: str = "compile", **options: object) -> list[Message]:
    return served(Request(mode=mode, script=script, options=Options(**options)))  # type: ignore[arg-type]


def answered(script: str, **options: object) -> Answer:
    snapshots = [m.answer for m in messages(script, **options) if isinstance(m, Snapshot)]  # type: ignore[arg-type]
    listings = {key: item for answer in snapshots for key, item in answer.listings.items()}
    return msgspec.structs.replace(snapshots[-1], listings=listings)


def schedule_steps(answer: Answer) -> list[Step]:
    return [step for step in answer.units[-1].steps if step.group == "schedule"]


def script_lines(answer: Answer, origins: list[int]) -> set[int]:
    """Return the lines of the script that some origins come from."""
    rows = {row.id: row for row in answer.origins}
    lines, seen, todo = set(), set(origins), list(origins)
    while todo:
        row = rows[todo.pop()]
        if row.level == "source" and row.line:
            lines.add(row.line)
        todo.extend(set(row.parents) - seen)
        seen.update(row.parents)
    return lines


def printed(answer: Answer, step: Step) -> list[Line]:
    return answer.listings[step.listing or ""].lines


def test_the_steps_are_the_primitives_with_their_lines_and_calls() -> None:
    answer = answered(SCHEDULED)
    steps = schedule_steps(answer)
    assert [(step.name, step.line) for step in steps] == [
        ("default", SCHEDULE),
        ("split", SPLIT),
        ("reorder", REORDER),
        ("vectorize", VECTORIZE),
        ("decompose_reduction", DECOMPOSE),
    ]
    assert steps[1].detail == "split(j, factors=[None, 8]) -> j_0, j_1"
    assert steps[4].detail == "decompose_reduction(C, k) -> C_init"
    assert all(step.applied and not step.refused for step in steps)
    assert {step.group for step in answer.units[-1].steps} == {"schedule", "lowering", "llvm", "assembly"}


def test_the_text_of_a_step_is_the_program_after_it() -> None:
    answer = answered(SCHEDULED)
    texts = ["\n".join(line.text for line in printed(answer, step)) for step in schedule_steps(answer)]
    grids = ["T.grid(32, 32, 32)", "T.grid(32, 4, 8, 32)", "T.grid(32, 4, 32, 8)", "T.grid(32, 4, 32)", "T.grid(32, 4)"]
    for text, grid in zip(texts, grids, strict=True):
        assert grid in text
    assert ["T.vectorized(8)" in text for text in texts] == [False, False, False, True, True]
    assert ["C_init" in text for text in texts] == [False] * 4 + [True]


def test_each_line_of_the_program_comes_from_the_script() -> None:
    answer = answered(SCHEDULED)
    lines = printed(answer, schedule_steps(answer)[-1])
    first = next(i for i, line in enumerate(lines) if "def " in line.text)
    assert all(line.origins for line in lines[first:])
    origins = {line.text.strip(): script_lines(answer, line.origins) for line in lines}
    assert origins["for i, j_0 in T.grid(32, 4):"] == {LOOPS, SPLIT, REORDER}
    assert origins['with T.block("C_init"):'] == {BLOCK, DECOMPOSE}
    assert origins["C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"] == {UPDATE}
    assert [lines for text, lines in origins.items() if text.startswith("for j_1 in T.vectorized")] == [
        {LOOPS, SPLIT, REORDER, VECTORIZE}
    ]


def test_instructions_come_from_the_lines_of_the_program() -> None:
    answer = answered(SCHEDULED)
    assembly = next(step for step in answer.units[-1].steps if step.group == "assembly")
    multiplied = [line for line in printed(answer, assembly) if "mulps" in line.text or "fmadd" in line.text]
    assert multiplied
    assert all(UPDATE in script_lines(answer, line.origins) for line in multiplied)


def test_a_prefix_is_the_schedule_after_so_many_primitives() -> None:
    answer = answered(SCHEDULED + 'f = tvm.build(sch.mod, target="llvm")\n', prefix=2)
    (unit,) = answer.units
    assert [step.applied for step in schedule_steps(answer)] == [True, True, True, False, False]
    assert [(stage.name, [loop.name for loop in stage.loops]) for stage in unit.schedule] == [
        ("C", ["i", "j_0", "k", "j_1"])
    ]
    first = next(step for step in unit.steps if step.group == "lowering")
    assert printed(answer, first) == printed(answer, schedule_steps(answer)[2])


def test_blocks_are_a_tree_of_loops() -> None:
    stages = answered(SCHEDULED).units[-1].schedule
    init, update = stages
    assert [(loop.name, loop.depth) for loop in init.loops] == [("i", 0), ("j_0", 1), ("j_1_init", 2)]
    assert [(loop.name, loop.kind, loop.depth, loop.annotation) for loop in update.loops] == [
        ("k", "reduce", 2, ""),
        ("j_1", "spatial", 3, "vectorize"),
    ]
    assert (update.placement, update.body) == ("at j_0", "C[vi, vj] += A[vi, vk] * B[vk, vj]")


def test_a_refused_primitive_stands_at_its_place_with_the_reason() -> None:
    answer = answered(SCHEDULED.replace("sch.vectorize(j_1)", "sch.parallel(k)"))
    (problem,) = answer.problems
    assert problem.line == VECTORIZE
    assert "\n" not in problem.message
    assert "block 'C' has axis 'vk', which depends on the loop 'k'" in problem.message
    *applied, refused = schedule_steps(answer)
    assert [step.name for step in applied] == ["default", "split", "reorder"]
    assert (refused.name, refused.line, refused.applied) == ("parallel", VECTORIZE, False)
    assert refused.refused == problem.message
    drawn = [line.text.strip() for line in printed(answer, refused)]
    assert drawn[drawn.index("# tir.For#0") + 2].startswith("^^^")
    assert any(step.group == "assembly" for step in answer.units[-1].steps)


def test_a_refused_primitive_that_the_script_survives_is_no_prefix() -> None:
    tried = SCHEDULED.replace(
        "sch.vectorize(j_1)", "try:\n    sch.parallel(k)\nexcept tvm.tir.ScheduleError: print('no')\nsch.vectorize(j_1)"
    )
    answer = answered(tried, prefix=3)
    assert not answer.problems
    names = [(step.name, step.applied, bool(step.refused)) for step in schedule_steps(answer)]
    assert names[3:] == [("parallel", False, True), ("vectorize", True, False), ("decompose_reduction", False, False)]


def test_a_copy_begins_with_the_primitives_of_its_schedule() -> None:
    script = SCHEDULED.replace("sch.vectorize(j_1)", "sch.copy().parallel(i)\nother = sch.copy()\nother.vectorize(j_1)")
    script = script.replace("sch.decompose_reduction(block, k)", "f = tvm.build(other.mod)")
    names = [step.name for step in schedule_steps(answered(script))]
    assert names == ["default", "split", "reorder", "vectorize"]


def test_a_program_without_a_schedule_shows_its_blocks_and_lines() -> None:
    answer = answered(MATMUL + 'f = tvm.build(matmul, target="llvm")\n')
    (unit,) = answer.units
    assert schedule_steps(answer) == []
    assert [stage.name for stage in unit.schedule] == ["C"]
    text = printed(answer, next(step for step in unit.steps if step.group == "lowering"))
    lines = [script_lines(answer, line.origins) for line in text if "C[vi, vj] =" in line.text]
    assert lines == [{INIT}, {UPDATE}]


def test_a_program_that_is_only_defined_is_lowered_and_built() -> None:
    (unit,) = answered(MATMUL).units
    (built,) = answered(MATMUL + 'f = tvm.build(matmul, target="llvm -mcpu=native", name="matmul")\n').units
    assert (unit.name, unit.built, unit.line) == ("matmul", True, None)
    assert [(step.group, step.name) for step in unit.steps] == [(step.group, step.name) for step in built.steps]
    (code, other) = (next(step for step in u.steps if step.group == "assembly") for u in (unit, built))
    assert code.delta["instructions"] == other.delta["instructions"] > 10


def test_a_module_that_is_only_defined_shows_all_of_its_functions() -> None:
    head, _, body = MATMUL.partition("@T.prim_func")
    methods = "\n".join(f"    {line}" for line in f"@T.prim_func{body}".splitlines())
    script = f"{head}\n@tvm.script.ir_module\nclass Both:\n{methods}\n{methods.replace('matmul', 'again')}\n"
    answer = answered(script)
    (unit,) = answer.units
    lowered = [line.text for line in printed(answer, unit.steps[0])]
    assert sum(line.strip().startswith("def ") for line in lowered) == 2
    code = answer.listings[next(step.listing for step in unit.steps if step.group == "assembly") or ""]
    assert {"matmul:", "again:"} <= {line.text.strip() for line in code.lines}


def test_a_program_that_launches_threads_is_shown_as_kernels() -> None:
    answer = answered(MATMUL.replace("for i, j, k in T.grid(32, 32, 32):", THREADS))
    (unit,) = answer.units
    assert (unit.built, answer.problems) == (True, [])
    assert "for i in T.thread_binding(32" in "\n".join(line.text for line in printed(answer, unit.steps[0]))
    assert {"kernel", "ptx"} < {step.group for step in unit.steps}


THREADS = 'for i in T.thread_binding(32, thread="threadIdx.x"):\n      for j, k in T.grid(32, 32):'


def test_llvm_s_passes_are_steps_between_what_was_emitted_and_what_is_optimised() -> None:
    answer = answered(SCHEDULED, llvm_passes=True)
    steps = [step for step in answer.units[-1].steps if step.group == "llvm"]
    assert (steps[0].name, steps[-1].name) == ("as emitted", "optimised")
    assert [step.name for step in answered(SCHEDULED).units[-1].steps if step.group == "llvm"] == [
        "as emitted",
        "optimised",
    ]
    for before, step in pairwise(steps[:-1]):
        assert (step.listing != before.listing) == step.changed
    changed = [step for step in steps[1:-1] if step.changed]
    assert {step.name for step in changed} > {"EarlyCSE", "InstCombine"}
    assert any(step.detail.endswith("in function matmul)") for step in steps)
    linked = [answer.listings[step.listing or ""].linked for step in changed]
    assert min(linked) > 0.3


SAME_NAMES = """\
import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def twice(A: T.Buffer((32,)), B: T.Buffer((32,)), C: T.Buffer((48,)), D: T.Buffer((48,))):
    for i in range(32):
        with T.block("B"):
            v = T.axis.spatial(32, i)
            B[v] = A[v]
    for i in range(48):
        with T.block("D"):
            v = T.axis.spatial(48, i)
            D[v] = C[v]


sch = tir.Schedule(twice)
sch.split(sch.get_loops(sch.get_block("D"))[0], factors=[None, 4])
try:
    sch.split(sch.get_loops(sch.get_block("B"))[0], factors=[3, 3])
except tvm.tir.ScheduleError:
    pass
"""


def test_a_split_tells_the_extent_of_its_own_loop_among_those_of_the_same_name() -> None:
    splits = answered(SAME_NAMES).units[-1].splits
    assert [(split.line, split.extent) for split in splits] == [(19, 48), (21, 32)]


SEARCH = (
    MATMUL
    + """\
sch = tir.Schedule(matmul)
block = sch.get_block("C")
for factor in range(1, 400):
    tried = sch.copy()
    tried.split(tried.get_loops(block)[0], factors=[None, factor])
    try:
        sch.compute_inline(block)
    except tvm.tir.ScheduleError:
        pass
sch.vectorize(sch.get_loops(block)[1])
"""
)


def test_the_schedule_of_a_search_is_not_lost_among_its_copies() -> None:
    answer = answered(SEARCH)
    steps = schedule_steps(answer)
    assert [step.name for step in steps if step.applied] == ["default", "vectorize"]
    assert 10 <= sum(bool(step.refused) for step in steps) <= 100


def test_of_a_long_schedule_the_last_programs_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_units, "MAX_PROGRAM_LINES", 50)
    answer = answered(SCHEDULED)
    printed_steps = [step.listing is not None for step in schedule_steps(answer)]
    assert printed_steps == [False, False, True, True, True]
    first = [step.listing is not None for step in schedule_steps(answered(SCHEDULED, prefix=1))]
    assert first == [True, True, False, False, True]
