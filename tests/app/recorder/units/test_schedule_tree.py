"""What the schedule pane says of stages that intrinsics compute, that are fetched early, and that are in groups."""

from typing import Any

from app.recorder.units.block_tree import block_stages
from app.recorder.units.schedule_tree import extents_of, schedule_stages, split_loops
from compiler import te, tir
from compiler.ir.module import IRModule
from compiler.tir.script.functions import from_source


def _vadd(n: int) -> Any:
    x, y = (te.placeholder((n,), name=name) for name in "xy")
    z = te.compute((n,), lambda i: x[i] + y[i], name="z")
    return te.decl_tensor_intrin(
        z.op, lambda ins, outs: tir.call_packed("vadd", *ins, *outs), "vadd", default_buffer_params={"offset_factor": 1}
    )


def _stages(s: Any) -> Any:
    return {stage.name: stage for stage in schedule_stages(s)}


def test_an_intrinsic_is_said_at_its_loop() -> None:
    A, B = (te.placeholder((64,), name=name) for name in "AB")
    C = te.compute((64,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=16)
    s[C].tensorize(inner, _vadd(16))
    s[C].prefetch(A, outer, 2)
    s[C].prefetch(B, outer, 1, shared=True)
    annotations = ["prefetch A+2, prefetch share of B+1", "tensorize vadd"]
    assert [loop.annotation for loop in _stages(s)["C"].loops] == annotations


def test_a_definition_by_an_intrinsic_is_a_stage() -> None:
    A, B = (te.placeholder((4, 16), name=name) for name in "AB")
    vadd = _vadd(16)
    C = te.compute((4, 16), lambda i: vadd(A[i, 0:16], B[i, 0:16]), name="C")
    stage = _stages(te.create_schedule(C.op))["C"]
    assert [loop.name for loop in stage.loops] == ["i"]
    assert stage.body == "C[i, ax0] = vadd(A[i, 0:16], B[i, 0:16])"


def test_a_stage_is_where_its_group_is() -> None:
    A = te.placeholder((8,), name="A")
    x = te.compute((8,), lambda i: A[i] + 1.0, name="x")
    y = te.compute((8,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(y.op)
    s.create_group(outputs=x, inputs=A).compute_at(s[y], y.op.axis[0])
    assert _stages(s)["x"].placement == "at y, i"


def test_the_loops_that_are_split_have_the_extents_before() -> None:
    A = te.placeholder((48, 30), name="A")
    B = te.compute((48, 30), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], factor=7)
    s[B].split(outer, nparts=2)
    s[B].tile(s[B].leaf_iter_vars[1], B.op.axis[1], 2, 4)
    assert [split.extent for split in split_loops(s, extents_of(s))] == [48, 7, 4, 30]


def test_a_loop_that_threads_share_is_one_of_threads_and_no_other_is() -> None:
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], factor=16)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    assert [loop.kind for loop in _stages(s)["B"].loops] == ["thread", "spatial"]


def test_what_a_block_adds_to_another_buffer_is_no_sum_in_its_own() -> None:
    head = 'def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n    for i in range(8):\n'
    block = '        with T.block("b"):\n            v = T.axis.spatial(8, i)\n            '
    for value, body in (("A[v] + T.float32(1)", "B[v] = A[v] + "), ("B[v] + A[v]", "B[v] += A[v]")):
        mod = IRModule({"main": from_source(f"@T.prim_func\n{head}{block}B[v] = {value}\n")})
        assert block_stages(mod)[0].body.startswith(body)


def test_only_loops_of_threads_are_of_that_kind() -> None:
    A = te.placeholder((8, 8, 8), name="A")
    r = te.reduce_axis((0, 8), name="r")
    B = te.compute((8, 8), lambda i, j: te.sum(A[i, j, r], axis=r), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    s[B].unroll(B.op.axis[1])
    s[B].unroll(B.op.reduce_axis[0])
    assert [loop.kind for loop in _stages(s)["B"].loops] == ["thread", "spatial", "reduce"]
