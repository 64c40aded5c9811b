"""Causes: what is planted is said first, in words with the numbers of the kernel, and the remedy is a legal edit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.causes import Why
from app.recorder.causes.costs import Model
from app.recorder.causes.explain import TYPICAL
from app.recorder.causes.statements import Unmodelled
from compiler.classic.alias import install
from compiler.target.target import Target
from compiler.tir.access_trace.cache import CacheLevel
from compiler.tir.script.functions import from_source
from compiler.tir.statements.function import PrimFunc
from tests.app.recorder.proposals.test_proposer import edited
from tests.benchmarks.causes import KERNELS, PLANTED, scripts, why

SAMPLE = ("row sums, one chain each", "a function of C", "an intermediate in memory",
          "computed again for each column", "one thread of two", "a tile of more registers than there are")  # fmt: skip


CACHES = (CacheLevel("L1", 48 << 10, 12, 64), CacheLevel("L2", 2 << 20, 16, 64), CacheLevel("L3", 480 << 20, 16, 64))


@pytest.fixture(autouse=True)
def one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives all machines the same caches, and slow ones the time to try all remedies."""
    monkeypatch.setattr("app.recorder.causes.explain.CACHES", CACHES)
    monkeypatch.setattr("app.recorder.causes.explain.SECONDS", 60)


def without_ports(said: Why) -> list[str]:
    """Return what is not known, but for the processor's ports, which llvm-mca may not be there to tell."""
    return [line for line in said.unknown if not line.startswith("ports: ")]


@pytest.mark.parametrize("name", SAMPLE)
def test_a_planted_defect_is_said_first(name: str) -> None:
    [planted] = [case for case in PLANTED if case.name == name]
    said = why(scripts(planted, "haswell"), "haswell", planted.threads)
    assert said.problem == ""
    assert said.causes[0].kind == planted.kinds[0]


def test_words_numbers_lines_and_the_remedy_belong_to_the_kernel() -> None:
    [planted] = [case for case in PLANTED if case.name == "columns inside of rows"]
    script = scripts(planted, "skylake-avx512")
    first = why(script, "skylake-avx512").causes[0]
    assert first.words.startswith(
        "B moves 128 MB into L1, at least 8 MB would do; i, the innermost loop, moves by 4 KB"
    )
    assert first.lines == ["B_1[cse_var_1] = A_1[cse_var_1] * T.float32(2.0)"]
    assert first.remedy is not None
    after = why(edited(script, first.remedy.edit), "skylake-avx512")
    assert all(cause.kind != "order" for cause in after.causes)
    assert first.gain == pytest.approx(why(script, "skylake-avx512").cycles / after.cycles)


EVERY = {case.name: case for kernels in KERNELS.values() for case in kernels}
POWER = "a column per line, a power of two apart"
COLUMNS = "sums of images, each in a column"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("row sums, one chain each", "split i by 16, vectorize the inner loop"),
        (POWER, "split i by 16, move the inner loop inside"),
        ("columns of a table of 512 doubles", "split j by 8, move the outer loop out"),
        (COLUMNS, "add up in a local block for each j"),
    ],
)
def test_what_no_primitive_removes_a_split_and_another_one_may(name: str, label: str) -> None:
    script = scripts(EVERY[name], "skylake-avx512")
    said = why(script, "skylake-avx512")
    first = said.causes[0]
    assert first.remedy is not None
    assert first.remedy.label == label
    after = why(edited(script, first.remedy.edit), "skylake-avx512")
    assert first.gain == pytest.approx(said.cycles / after.cycles), "the lines do what was tried"


SUMS = (
    "import tvm\nfrom tvm import te\n\nA = te.placeholder((64, 64, 512), name='A')\nk = te.reduce_axis((0, 64), 'k')\n"
    "B = te.compute((512, 64), lambda i, j: te.sum(A[j, k, i], k), name='B')\n{}"
)
OF_BLOCKS = SUMS.format(
    "sch = tvm.tir.Schedule(te.create_prim_func([A, B]))\nb = sch.get_block('B')\ni, j, k = sch.get_loops(b)\n"
    "sch.reorder(j, k, i)\nf = tvm.build(sch.mod, target='llvm -mcpu=haswell')\n"
)
OF_STAGES = SUMS.format(
    "s = te.create_schedule(B.op)\ni, j = B.op.axis\n[k] = B.op.reduce_axis\n{}\n"
    "f = tvm.build(s, [A, B], 'llvm -mcpu=haswell', name='f')\n"
)
IN_ORDER = "s[B].reorder(j, k, i)"


@pytest.mark.parametrize(
    ("script", "threads"),
    [
        (OF_BLOCKS, 1),
        (OF_STAGES.format(IN_ORDER), 1),
        (OF_STAGES.format(f"{IN_ORDER}\ns[B].parallel(j)\ns[B].vectorize(i)"), 2),
    ],
)
def test_a_sum_in_a_local_block_computes_the_same_as_fast_as_was_said(script: str, threads: int) -> None:
    said = why(script, "haswell", threads)
    remedy = said.causes[0].remedy
    assert remedy is not None
    assert (remedy.primitive, remedy.edit is not None) == ("cache_write", True)
    mended = edited(script, remedy.edit)
    assert said.causes[0].gain == pytest.approx(said.cycles / why(mended, "haswell", threads).cycles)
    given = np.random.default_rng(0).random((64, 64, 512)).astype("float32")
    for text in (script, mended):
        names: dict[str, Any] = {}
        install()
        exec(text.replace("haswell", "native"), names)
        result = np.full((512, 64), np.nan, "float32")
        names["f"](given, result)
        np.testing.assert_allclose(result, given.sum(1).T, rtol=1e-5)
    if "vectorize" in script:
        assert "s[B].parallel(s[B].op.axis[1])\ns[BL].vectorize(s[BL].op.axis[1])" in mended, "loops stay as they were"


@pytest.mark.parametrize(
    "schedule",
    [
        "",  # each sum is in a register
        "s[B].reorder(k, j, i)",  # no loop is around a sum
        f"{IN_ORDER}\ns[B].split(i, 8)",  # that loop would be a dimension of the block
        f"{IN_ORDER}\ns[B].pragma(j, 'auto_unroll_max_step', 16)",  # the copy would be without it
        f"{IN_ORDER}\ns[B].unroll(k)",
        f"{IN_ORDER}\nBL = 1",  # the name is another one's
    ],
)
def test_a_sum_gets_a_local_block_only_where_that_is_all_that_changes(schedule: str) -> None:
    said = why(OF_STAGES.format(schedule), "haswell")
    assert said.problem == ""
    assert not [each for each in said.causes if each.remedy and each.remedy.primitive == "cache_write"]


@pytest.mark.parametrize("order", ["i, k, j", "i, j, k", "k, j, i"])
def test_a_local_block_that_does_not_help_is_no_remedy(order: str) -> None:
    for script in (OF_STAGES.format(IN_ORDER), OF_BLOCKS):
        script = script.replace("A[j, k, i]", "A[i, k, j]").replace("(64, 64, 512)", "(512, 64, 64)")
        script = script.replace("reorder(j, k, i)", f"reorder({order})")
        causes = why(script, "haswell").causes
        assert not [each for each in causes if each.remedy and each.remedy.primitive == "cache_write"]


def test_a_loop_that_would_lose_its_annotation_is_not_split() -> None:
    causes = why(scripts(EVERY["columns of one table for two threads"], "haswell"), "haswell", 2).causes
    assert not [cause for cause in causes if cause.remedy and "split" in cause.remedy.label]


def test_loops_that_only_their_positions_name_are_not_reordered_after_a_split() -> None:
    script = scripts(EVERY[POWER], "haswell").replace("\nf = tvm.build", "\ns[B].split(j, factor=16)\nf = tvm.build")
    first = why(script, "haswell").causes[0]
    assert (first.kind, first.remedy) == ("conflicts", None)


def test_what_there_was_no_time_to_try_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.recorder.causes.explain.SECONDS", 0)
    said = why(scripts(EVERY[POWER], "haswell"), "haswell")
    assert without_ports(said) == [
        f"remedies: after 0 s not all {what} had been tried" for what in ("primitives", "pairs of primitives")
    ]
    assert said.causes[0].remedy is None


def test_a_kernel_without_its_defect_is_not_said_to_have_it() -> None:
    [planted] = [case for case in PLANTED if case.name == "a function of C"]
    mended = why(scripts(planted, "haswell").replace(*planted.mended), "haswell")
    assert all(cause.kind != "calls" for cause in mended.causes)


def test_threads_that_write_to_the_same_lines_are_said_with_the_loop_that_keeps_them_apart() -> None:
    [planted] = [case for case in PLANTED if case.kinds == ("sharing",)]
    script = scripts(planted, "haswell")
    first = why(script, "haswell", 2).causes[0]
    assert first.words == (
        "the threads of j write to the same lines of B, 32 of 64 bytes apart: a line goes from one to another up to "
        "65,536 times; parallel i instead gives each thread lines of its own"
    )
    assert first.lines == ["B_1[cse_var_1] = A_1[cse_var_1] * T.float32(2.0)"]
    mended, whole_lines = script.replace(*planted.mended), script.replace("4096, 16", "2048, 32")
    for other, threads in ((script, 1), (mended, 2), (whole_lines, 2)):
        assert "sharing" not in {cause.kind for cause in why(other, "haswell", threads).causes}


def test_what_conditions_cost_is_not_claimed_to_be_known() -> None:
    [planted] = [case for case in PLANTED if case.name == "vectors of three"]
    script = scripts(planted, "haswell").replace("s[B].vectorize(ji)", "").replace("split(j, 3)", "split(j, 7)")
    assert without_ports(why(script, "haswell")) == ["conditions in the innermost loop of B: LLVM removes some"]


def test_where_no_model_knows_the_loops_it_says_so() -> None:
    script = (
        "import tvm\nfrom tvm import te\nn = te.var('n')\nA = te.placeholder((n,), name='A')\n"
        "B = te.compute((n,), lambda i: A[i] * 2.0, name='B')\ns = te.create_schedule(B.op)\n"
        "f = tvm.build(s, [A, B], 'llvm', name='f')\n"
    )
    said = why(script, "haswell")
    assert said.causes == []
    assert said.problem == "the loop i has an extent that is not a constant"


def loop(body: str, dtype: str = "float32") -> PrimFunc:
    arrays = ", ".join(
        f'{name}: T.Buffer(({elements},), "{dtype}")' for name, elements in zip("ABC", (128, 128, 1), strict=True)
    )
    return from_source(f"@T.prim_func\ndef main({arrays}):\n    {body}\n")


@pytest.mark.parametrize(
    ("body", "dtype", "vector"),
    [
        ("for i in range(64): B[i] = A[i] * 2.0", "float32", True),
        ("for i in T.parallel(64): B[i] = A[i] * 2.0", "float32", True),
        ("for i in T.unroll(64): B[i] = A[i] * 2.0", "float32", False),
        ("for i in T.unroll(2): B[T.Ramp(i * 8, 1, 8)] = A[T.Ramp(0, 1, 8)]", "float32", True),
        ("B[0] = A[0]", "float32", False),
        ("for i in range(64): C[0] = C[0] + A[i]", "float32", False),  # additions of floats keep their order
        ("for i in range(64): C[0] = C[0] + A[i]", "int32", True),
        ("for i in range(64): B[i] = B[i] + A[i]", "float32", True),
        ("for i in range(64):\n        if i < 40: B[i] = A[i]", "float32", False),
        ("for j, i in T.grid(2, 64):\n        if j < 1: B[i] = A[i]", "float32", True),
        ("for i in range(64): B[i] = T.Cast('float32', i // 3)", "float32", False),
        ("for i in range(64): B[i] = T.Cast('float32', i // 4)", "float32", True),
        ("for i in range(64): B[i] = T.exp(A[i])", "float32", True),
        ("for i in range(64): B[i] = T.call_pure_extern('float32', 'erff', A[i])", "float32", False),
        ("for i in range(64): B[i * 2] = A[i]", "float32", False),
        ("for i in range(64): B[i] = A[i * 2]", "float32", False),
        ("for i in range(64): B[i] = A[63 - i]", "float32", False),
        ("for i in range(64): B[i] = A[3]", "float32", True),
    ],
)
def test_loops_that_llvm_makes_vectors_of(body: str, dtype: str, vector: bool) -> None:
    model = Model(loop(body, dtype), Target("llvm -mcpu=haswell"), 1, TYPICAL)
    [statement] = model.statements
    assert model.is_vector(statement) is vector


def test_a_while_loop_has_no_model() -> None:
    with pytest.raises(Unmodelled, match="while loop"):
        Model(loop("while C[0] < 9.0: C[0] = C[0] + 1.0"), Target("llvm"), 1, TYPICAL)


@pytest.mark.parametrize(
    ("body", "chained"),
    [
        ("for i in range(64): C[0] = C[0] + A[i]", True),
        ("for i in range(64): C[0] = A[i]", False),
        ("for i in range(64): B[i] = B[i] + A[i]", False),
        ("C[0] = C[0] + A[0]", False),
    ],
)
def test_additions_wait_for_each_other_where_a_loop_adds_to_one_element(body: str, chained: bool) -> None:
    model = Model(loop(body), Target("llvm -mcpu=haswell"), 1, TYPICAL)
    [statement] = model.statements
    assert model.chained(statement) is chained


@pytest.mark.parametrize(
    ("body", "threads", "apart"),
    [
        ("for i in T.parallel(8): B[i] = A[i]", 2, 16),
        ("for i in T.parallel(8): B[i] = A[i]", 1, None),
        ("for i in T.parallel(1): B[i] = A[i]", 2, None),
        ("for i in T.parallel(8): C[0] = A[i]", 2, None),  # no element is one thread's
        ("for i in T.parallel(32): B[i] = A[i]", 2, None),  # a line for each
        ("for i in range(8): B[i] = A[i]", 2, None),
    ],
)
def test_lines_go_from_one_thread_to_another_where_two_of_them_store_less_than_a_line_apart(
    body: str, threads: int, apart: int | None
) -> None:
    model = Model(loop(body), Target("llvm -mcpu=haswell"), threads, TYPICAL)
    [statement] = model.statements
    assert model.shared_lines(statement) == apart
    assert (model.transfers(statement) > 0) is (apart is not None)


@pytest.mark.parametrize(
    ("value", "dtype", "multiplies", "adds"),
    [
        ("A[i] * 2.0 + 1.0", "float32", 1, 1),
        ("A[i * 2 + 1] * 2.0", "float32", 1, 0),
        ("T.Cast('float32', i * 2 + 1) + A[i]", "float32", 0, 1),
        ("A[i] + A[i + 1]", "int8", 0, 1),
    ],
)
def test_arithmetic_of_indices_is_not_counted_as_that_of_values(
    value: str, dtype: str, multiplies: int, adds: int
) -> None:
    [statement] = Model(loop(f"for i in range(32): B[i] = {value}", dtype), Target("llvm"), 1, TYPICAL).statements
    assert (statement.multiplies, statement.adds) == (multiplies, adds)
