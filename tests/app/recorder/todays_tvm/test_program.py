"""A program for TVM 0.27 computes what its schedule does, call by call, and says what it leaves out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from app.artifacts import Options
from app.protocol import Request, Snapshot
from app.recorder.todays_tvm.correspondence import Correspondence
from app.recorder.todays_tvm.dialect import respelled
from compiler import te
from compiler.driver.build import build
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm
from compiler.runtime.arrays.ndarray import array
from compiler.te.definition.tensor import Tensor
from compiler.te.program import NotExpressible
from compiler.te.scheduling.schedule import Schedule
from tests.app.recorder.serving import served

TODAYS_TVM = os.environ.get("STRATA_TODAYS_TVM", "")


def product(n: int = 13, m: int = 11, depth: int = 10) -> tuple[Tensor, Tensor, Tensor]:
    """Return two matrices and their product."""
    a, b = te.placeholder((n, depth), name="A"), te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), name="k")
    return a, b, te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def shape_of(tensor: Tensor) -> list[int]:
    """Return the constant shape of a tensor."""
    return [extent.value for extent in tensor.shape if isinstance(extent, IntImm)]


def computes_the_same(schedule: Schedule, args: list[Tensor]) -> Correspondence:
    """Check the blocks that correspond to a schedule against what it computes itself."""
    made = Correspondence(schedule, args)
    rng = np.random.default_rng(0)
    values = [rng.integers(-4, 5, shape_of(t)).astype(t.dtype) for t in args]
    results = []
    for program in (build(schedule, args, "llvm"), build(made.result.mod, target="llvm")):
        arrays = [array(v) for v in values]
        program(*arrays)
        results.append(arrays[-1].numpy())
    np.testing.assert_array_equal(results[0], results[1])
    return made


def calls(made: Correspondence) -> list[str]:
    """Return the calls that change the program, as they are spelled here."""
    return [i.python(made.names) for call in made.calls for i in call.instructions if not i.kind.is_pure]


def test_caches_tiles_and_places_of_stages_have_counterparts() -> None:
    a, b, c = product()
    d = te.compute(c.shape, lambda i, j: c[i, j] + 1.0, name="D")
    s = te.create_schedule(d.op)
    cached = s.cache_write(c, "global")
    read = s.cache_read(a, "global", [cached])
    s[c].compute_inline()
    outer, tile, _, _ = s[d].tile(d.op.axis[0], d.op.axis[1], 5, 4)
    s[cached].compute_at(s[d], tile)
    k_outer, k_inner = s[cached].split(cached.op.reduce_axis[0], nparts=4)
    i, j = cached.op.axis
    s[cached].reorder(k_outer, i, k_inner, j)
    s[cached].vectorize(j)
    s[cached].unroll(k_inner)
    s[read].compute_at(s[cached], k_outer)
    s[d].parallel(outer)
    made = computes_the_same(s, [a, b, d])
    assert not made.missing
    names = [call.partition("sch.")[2].partition("(")[0] for call in calls(made)]
    assert names == [
        *("cache_write", "cache_read", "compute_inline", "split", "split", "reorder", "compute_at", "split", "reorder"),
        *("compute_at", "parallel", "vectorize", "unroll", "decompose_reduction"),
    ]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("moved", [False, True])
def test_a_reduction_factor_has_a_counterpart_also_where_it_is_moved(place: int, moved: bool) -> None:
    a, b, c = product()
    s = te.create_schedule(c.op)
    _, inner = s[c].split(c.op.reduce_axis[0], factor=5)
    part = s.rfactor(c, inner, place)
    assert isinstance(part, Tensor)
    if moved:
        s[part].compute_at(s[c], s[c].op.axis[0])
    s[part].unroll(part.op.axis[place])
    made = computes_the_same(s, [a, b, c])
    assert not made.missing
    assert any(f"sch.rfactor(loop=k_inner, factor_axis={place})" in call for call in calls(made))


def test_stages_are_fused_and_their_loops_split_unevenly() -> None:
    a = te.placeholder((7, 9), name="A")
    b = te.compute((7, 9), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((7, 9), lambda i, j: b[i, j] - a[i, j], name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(s[c].fuse(*c.op.axis), factor=10)
    s[b].compute_at(s[c], outer)
    s[c].vectorize(inner)
    made = computes_the_same(s, [a, c])
    assert [call.label for call in made.missing] == []


def test_what_has_no_counterpart_is_named_with_its_line_and_left_out() -> None:
    a, b, c = product()
    s = te.create_schedule(c.op)
    s[c].pragma(c.op.axis[0], "loop_partition_hint")
    s[c].prefetch(a, c.op.axis[0], 1)
    s[c].parallel(c.op.axis[0])
    made = computes_the_same(s, [a, b, c])
    assert [(call.label.partition("(")[0], call.line is not None) for call in made.missing] == [
        ("C: pragma", True),
        ("C: prefetch", True),
    ]
    assert calls(made)[0] == "sch.parallel(loop=i)"


def test_definitions_without_blocks_are_refused() -> None:
    m = te.placeholder((4, 3), name="X")
    state = te.placeholder((4, 3), name="state")
    first = te.compute((1, 3), lambda _, i: m[0, i], name="first")
    step = te.compute((4, 3), lambda t, i: state[t - 1, i] + m[t, i], name="step")
    scan = te.scan(first, step, state, inputs=[m])
    with pytest.raises(TVMError, match="Unsupported Operation"):
        Correspondence(te.create_schedule(scan.op), [m, scan])


def test_words_are_respelled_but_not_inside_of_texts() -> None:
    assert respelled('    with T.block("T.block"):') == '    with T.sblock("T.block"):'
    assert respelled("    C = T.alloc_buffer((4,))") == "    C = T.sblock_alloc_buffer((4,))"
    assert respelled('    T.func_attr({"tir.noalias": T.bool(True)})') == '    T.func_attr({"tirx.noalias": True})'
    assert respelled("    @T.prim_func") == "    @T.prim_func(s_tir=True)"
    assert respelled("    C[0:8] = C[0:8] + T.exp(B[c, 4:8])") == (
        "    C[T.Ramp(0, 1, 8)] = C[T.Ramp(0, 1, 8)] + T.exp(B[c, T.Ramp(4, 1, 4)])"
    )
    assert respelled("    T.reads(A[0:8])") == "    T.reads(A[0:8])"
    with pytest.raises(NotExpressible, match="no elements by a slice"):
        respelled("    C[i * 8:i * 8 + 8] = T.Broadcast(A[0], 8)")
    with pytest.raises(NotExpressible, match=r"T\.tvm_bmma_sync has no counterpart"):
        respelled("    T.tvm_bmma_sync(A.data)")


# the program on the page

HEAD = """\
import tvm
from tvm import te, tir

A = te.placeholder((64, 30), name="A")
k = te.reduce_axis((0, 30), name="k")
B = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="B")
"""
SCHEDULED = (
    HEAD
    + """\
s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], factor=7)
s[B].parallel(outer)
f = tvm.build(s, [A, B], "llvm")
"""
)
BLOCKS = (
    HEAD
    + """\
sch = tir.Schedule(te.create_prim_func([A, B]))
i, k = sch.get_loops("B")
outer, inner = sch.split(i, factors=[None, 7])
sch.parallel(outer)
f = tvm.build(sch.mod, target="llvm")
"""
)
THREADS = (
    HEAD
    + """\
s = te.create_schedule(B.op)
BB = s.cache_write(B, "local")
s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
s[BB].compute_at(s[B], B.op.axis[0])
f = tvm.build(s, [A, B], "cuda")
"""
)


def program(script: str) -> tuple[str, dict[str, set[int | None]]]:
    """Return the program that the page shows, and the lines of the script that each of its lines comes from."""
    request = Request(mode="compile", script=script, options=Options(todays_tvm=True))
    answers = [message.answer for message in served(request) if isinstance(message, Snapshot)]
    listings = {key: listing for answer in answers for key, listing in answer.listings.items()}
    [step] = [step for step in answers[-1].units[-1].steps if step.group == "tvm"]
    assert step.listing is not None
    at = {origin.id: origin.line for origin in answers[-1].origins}
    lines = listings[step.listing].lines
    return "\n".join(line.text for line in lines), {line.text: {at[o] for o in line.origins} for line in lines}


@pytest.mark.parametrize("script", [SCHEDULED, BLOCKS])
def test_each_call_of_the_program_stands_beside_its_line_of_the_script(script: str) -> None:
    text, lines = program(script)
    compile(text, "program", "exec")
    split = next(number for number, line in enumerate(script.splitlines(), 1) if "split(" in line)
    assert lines["sch = s_tir.Schedule(Module)"] == set()
    assert 'target = "cuda"' not in text
    [shown] = [line for line in lines if "sch.split(" in line]
    assert lines[shown] == {split}
    [parallel] = [line for line in lines if line.startswith("sch.parallel(")]
    assert lines[parallel] == {split + 1}
    assert "T.block(" not in text
    [definition] = [line for line in lines if 'with T.sblock("B")' in line]
    assert lines[definition] == {6}


def test_kernels_of_threads_are_programs_for_their_device() -> None:
    text, _ = program(THREADS)
    assert 'sch.bind(i, thread_axis="threadIdx.x")' in text
    assert 'target = "cuda"' in text


def test_what_a_thread_computes_for_itself_is_in_its_own_memory() -> None:
    a, b, c = product()
    d = te.compute(c.shape, lambda i, j: c[i, j] + 1.0, name="D")
    s = te.create_schedule(d.op)
    s[d].bind(d.op.axis[0], te.thread_axis("blockIdx.x"))
    s[d].bind(d.op.axis[1], te.thread_axis("threadIdx.x"))
    s[c].compute_at(s[d], d.op.axis[1])
    made = Correspondence(s, [a, b, d])
    assert not made.missing
    assert 'sch.set_scope(block=C, buffer_index=0, storage_scope="local")' in calls(made)


def test_a_kernel_that_would_be_another_one_is_not_exported() -> None:
    text, _ = program(THREADS.replace('"threadIdx.x"', '"cthread"'))
    assert text.startswith("# main has no counterpart in TVM 0.27:\n# line 9: B: bind(")


@pytest.mark.skipif(not TODAYS_TVM, reason="STRATA_TODAYS_TVM names no interpreter with TVM 0.27")
@pytest.mark.parametrize("script", [SCHEDULED, BLOCKS])
def test_the_program_runs_on_tvm_as_it_stands(script: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(program(script)[0])
    done = subprocess.run([TODAYS_TVM, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "the schedule computes what its definition says\n"), done.stderr
