"""The steps of lowering by themselves: ``tvm.te.schedule``."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic.build_module import schedule_to_module
from compiler.ir.error import ArgumentError, LoweringError, ScheduleError, UnavailableError


def _chain():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((n,), lambda i: B[i] * 2.0, name="C")
    return n, A, B, C


def test_bounds_name_every_axis_of_every_stage():
    n, _A, B, C = _chain()
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    s[B].compute_at(s[C], outer)
    bounds = te.schedule.InferBound(s)
    assert isinstance(bounds, tvm.runtime.container.Map)
    assert {axis for stage in s.stages for axis in stage.all_iter_vars} <= set(bounds)
    assert bounds[inner].extent == 8
    tvm.ir.assert_structural_equal(bounds[B.op.axis[0]].min, outer.var * 8, map_free_vars=False)
    assert bounds[B.op.axis[0]].extent == 8
    assert bounds[C.op.axis[0]].extent is n


def test_threads_have_the_domain_of_their_loop():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    block, thread = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    outer, inner = s[B].split(B.op.axis[0], factor=16)
    s[B].bind(outer, block)
    s[B].bind(inner, thread)
    bounds = te.schedule.InferBound(s)
    assert (bounds[block].extent, bounds[thread].extent) == (4, 16)


def test_an_inlined_stage_has_no_bounds():
    _, _A, B, C = _chain()
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    with pytest.raises(ScheduleError, match="'B' is inlined"):
        te.schedule.InferBound(s)
    assert B.op.axis[0] not in te.schedule.InferBound(s.normalize())


def test_the_steps_make_the_function_that_lowering_makes():
    _, A, B, C = _chain()
    s = te.create_schedule(C.op)
    cached = s.cache_write(C, "local")
    outer, _inner = s[C].split(C.op.axis[0], factor=8)
    s[cached].compute_at(s[C], outer)
    s[B].compute_at(s[C], outer)
    normalized = s.normalize()
    statement = te.schedule.ScheduleOps(normalized, te.schedule.InferBound(normalized))
    assert "T.ProducerRealize(B" in str(statement)
    function = te.schedule.SchedulePostProcToPrimFunc([A, C], statement, None)
    expected = schedule_to_module(s, [A, C])["main"]
    tvm.ir.assert_structural_equal(function.body, expected.body, map_free_vars=True)
    assert cached.op.name == "C.local"
    data = np.arange(20, dtype="float32")
    out = tvm.nd.array(np.zeros(20, "float32"))
    tvm.build(tvm.IRModule.from_expr(function.with_attr("global_symbol", "main")))(tvm.nd.array(data), out)
    np.testing.assert_array_equal(out.numpy(), (data + 1) * 2)


def test_loops_of_one_iteration_can_be_kept():
    A = te.placeholder((1, 4), name="A")
    B = te.compute((1, 4), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op).normalize()
    bounds = te.schedule.InferBound(s)
    assert "for i in range(1)" not in str(te.schedule.ScheduleOps(s, bounds))
    assert "T.grid(1, 4)" in str(te.schedule.ScheduleOps(s, bounds, True))


def test_tensors_without_a_buffer_are_refused():
    _, A, _B, C = _chain()
    s = te.create_schedule(C.op)
    statement = te.schedule.ScheduleOps(s, te.schedule.InferBound(s))
    with pytest.raises(LoweringError, match="'A' is read"):
        te.schedule.SchedulePostProcToPrimFunc([C], statement)
    with pytest.raises(ArgumentError, match="schedule must be a schedule"):
        te.schedule.InferBound(A)
    with pytest.raises(UnavailableError):
        te.schedule.SchedulePostProcRewriteForTensorCore(statement, s)


@pytest.mark.parametrize(
    "step",
    [
        te.schedule.InferBound,
        te.schedule.CreateAttachPath,
        te.schedule.AutoInlineElemWise,
        lambda schedule: te.schedule.ScheduleOps(schedule, {}),
    ],
)
def test_a_step_takes_a_schedule(step):
    with pytest.raises(ArgumentError, match="schedule must be a schedule"):
        step("schedule")


def test_graph_of_reads():
    _, A, B, C = _chain()
    graph = te.schedule.CreateReadGraph([C.op])
    assert graph[C.op] == (B,)
    assert te.schedule.PostDFSOrder([C.op], graph) == (A.op, B.op, C.op)
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    assert te.schedule.CreateAttachPath(s)[B.op] == (C.op.axis[0],)


@pytest.mark.parametrize(
    ("auto_inline", "inlined"),
    [("AutoInlineElemWise", {"E"}), ("AutoInlineBroadcast", {"E", "B"}), ("AutoInlineInjective", {"E", "B", "T"})],
)
def test_auto_inline(auto_inline, inlined):
    A = te.placeholder((4, 4), name="A")
    v = te.placeholder((4,), name="v")
    E = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="E")
    B = te.compute((4, 4), lambda i, j: E[i, j] + v[j], name="B")
    T = te.compute((4, 4), lambda i, j: B[j, i], name="T")
    k = te.reduce_axis((0, 4), "k")
    R = te.compute((4,), lambda i: te.sum(T[i, k], k), name="R")
    C = te.compute((4,), lambda i: R[i], name="C")
    s = te.create_schedule(C.op)
    getattr(te.schedule, auto_inline)(s)
    assert {stage.op.name for stage in s.stages if stage.attach_type == 2} == inlined
    assert [p.name for p in s.primitives] == ["compute_inline"] * len(inlined)


def test_relations_have_names():
    _, _A, _B, C = _chain()
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    s[C].fuse(outer, inner)
    split, fuse = s[C].relations
    assert isinstance(split, te.schedule.Split)
    assert isinstance(fuse, te.schedule.Fuse)
    assert isinstance(fuse, te.schedule.IterVarRelation)
    assert te.schedule.Buffer is tvm.tir.Buffer


def test_annotations_of_a_loop():
    _, _A, _B, C = _chain()
    s = te.create_schedule(C.op)
    (axis,) = C.op.axis
    s[C].pragma(axis, "first", 3)
    s[C].pragma(axis, "second")
    attr = s[C].iter_var_attrs[axis]
    assert [key.value for key in attr.pragma_keys] == ["first", "second"]
    assert attr.pragma_values[0] == 3
