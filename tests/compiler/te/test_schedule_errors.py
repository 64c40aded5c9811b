"""Schedules that cannot be are refused in words that name the primitive, the axis, the stage and the expectation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compiler import build, te
from compiler.ir.error import ArgumentError, BuildError, LoweringError, ScheduleError, TVMError
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.tir import call_packed


class Setting:
    """A product C, D of it element by element, and their schedule."""

    def __init__(self) -> None:
        self.a = te.placeholder((20, 16), name="A")
        self.b = te.placeholder((16, 24), name="B")
        self.k = te.reduce_axis((0, 16), name="k")
        self.c = te.compute((20, 24), lambda i, j: te.sum(self.a[i, self.k] * self.b[self.k, j], axis=self.k), name="C")
        self.d = te.compute((20, 24), lambda i, j: self.c[i, j] * 2 + 1, name="D")
        self.s = te.create_schedule(self.d.op)
        self.i, self.j = self.c.op.axis
        self.sc, self.sd = self.s[self.c], self.s[self.d]

    def lower(self, *args: Any) -> Any:
        """Lower the schedule with the usual arguments, or with others."""
        return schedule_to_prim_func(self.s, args or [self.a, self.b, self.d])


def _fuse_after_reorder(x: Setting) -> None:
    x.sc.reorder(x.i, x.k, x.j)
    x.sc.fuse(x.i, x.j)


def _split_twice(x: Setting) -> None:
    x.sc.split(x.i, 2)
    x.sc.split(x.i, 2)


def _reorder_fused(x: Setting) -> None:
    x.sc.fuse(x.i, x.j)
    x.sc.reorder(x.k, x.j)


def _inside_an_inlined_stage(x: Setting) -> None:
    e = te.compute((20, 24), lambda i, j: x.d[i, j] + 1, name="E")
    s = te.create_schedule(e.op)
    s[x.c].compute_at(s[x.d], x.d.op.axis[0])
    s[x.d].compute_inline()
    schedule_to_prim_func(s, [x.a, x.b, e])


def _outside_of_a_consumer(x: Setting) -> None:
    e = te.compute((20, 24), lambda i, j: x.d[i, j] + x.c[i, j], name="E")
    s = te.create_schedule(e.op)
    s[x.c].compute_at(s[e], e.op.axis[0])
    schedule_to_prim_func(s, [x.a, x.b, e])


def _an_output_in_its_producer(x: Setting) -> None:
    x.sc.compute_at(x.sd, x.d.op.axis[0])
    x.sd.compute_at(x.sc, x.i)
    schedule_to_prim_func(x.s, [x.a, x.b, x.d])


def _an_output_in_itself(x: Setting) -> None:
    x.sd.compute_at(x.sd, x.d.op.axis[0])
    schedule_to_prim_func(x.s, [x.a, x.b, x.d])


def _vectorize_symbolic(x: Setting) -> None:
    n = te.var("n")
    y = te.placeholder((n,), name="Y")
    z = te.compute((n,), lambda i: y[i] + 1, name="Z")
    s = te.create_schedule(z.op)
    s[z].vectorize(z.op.axis[0])
    schedule_to_prim_func(s, [y, z])


def _two_caches(x: Setting) -> None:
    x.s.cache_write(x.d, "local")
    x.s.cache_write(x.d, "local")


def _stray_axis(x: Setting) -> None:
    e = te.compute((20,), lambda i: x.a[i, x.k], name="E")
    build(te.create_schedule(e.op), [x.a, e])


def _a_place_that_is_gone(x: Setting) -> None:
    outer, inner = x.sc.split(x.k, 4)
    cached = x.s.cache_read(x.a, "local", [x.c])
    x.s[cached].compute_at(x.sc, outer)
    x.s.rfactor(x.c, inner)
    x.lower()


def _another_number_of_threads(x: Setting) -> None:
    x.sd.bind(x.d.op.axis[0], te.thread_axis((0, 4), "threadIdx.x"))
    x.lower()


def _two_numbers_of_threads(x: Setting) -> None:
    thread = te.thread_axis("threadIdx.x")
    x.sd.bind(x.d.op.axis[1], thread)
    x.sc.compute_at(x.sd, x.d.op.axis[1])
    x.sc.bind(x.sc.split(x.k, 4)[1], thread)
    x.lower()


def _outputs(x: Setting, *chosen: int) -> None:
    first, second = te.compute((4,), lambda i: (x.a[i, 0], x.a[i, 1]), name="P")
    outputs = [first, second, x.c]
    s = te.create_schedule([first.op, x.c.op])
    s.cache_write([outputs[at] for at in chosen], "local")


def _double() -> Any:
    y = te.placeholder((4,), name="Y")
    z = te.compute((4,), lambda i: y[i] * 2, name="Z")
    return te.decl_tensor_intrin(z.op, lambda ins, outs: call_packed("double", ins[0], outs[0]))


def _cache_of_a_guarded_intrinsic(x: Setting) -> None:
    double = _double()
    e = te.compute((8, 4), lambda i: double(x.a[i, 0:4]), name="E")
    s = te.create_schedule(e.op)
    s[e].split(e.op.axis[0], 3)
    s.cache_write(e, "local")


def _an_inlined_stage_that_is_read_as_a_whole(x: Setting) -> None:
    e = te.extern((20, 24), [x.d], lambda ins, outs: call_packed("f", ins[0], outs[0]), name="E")
    s = te.create_schedule(e.op)
    s[x.d].compute_inline()
    schedule_to_prim_func(s, [x.a, x.b, e])


def _a_diagonal(x: Setting) -> None:
    thread = te.thread_axis("threadIdx.x")
    x.sd.bind(x.d.op.axis[0], thread)
    x.sd.bind(x.d.op.axis[1], thread)
    x.lower()


def _a_layout_that_a_function_accesses(x: Setting) -> None:
    e = te.extern((20, 24), [x.d], lambda ins, outs: call_packed("f", ins[0], outs[0]), name="E")
    s = te.create_schedule(e.op)
    s[x.d].transform_layout(lambda i, j: [j, i])
    schedule_to_prim_func(s, [x.a, x.b, e])


def _a_long_vector(x: Setting) -> None:
    z = te.compute((1 << 17,), lambda i: i, name="Z")
    te.create_schedule(z.op)[z].vectorize(z.op.axis[0])


CASES: list[tuple[Callable[[Setting], Any], type[Exception], str]] = [
    (
        lambda x: x.sc.split(x.i, factor=-4),
        ArgumentError,
        "split: factor must be a positive int, got -4 (axis 'i' of stage 'C')",
    ),
    (lambda x: x.sc.split(x.i, factor=0), ArgumentError, "factor must be a positive int, got 0"),
    (lambda x: x.sc.split(x.i, factor=2.5), ArgumentError, "factor must be a positive int, got 2.5"),
    (lambda x: x.sc.split(x.i, factor=True), ArgumentError, "factor must be a positive int, got True"),
    (lambda x: x.sc.split(x.i, nparts="x"), ArgumentError, "nparts must be a positive int, got 'x'"),
    (lambda x: x.sc.split(x.i, factor=1 << 40), ArgumentError, "factor must be a positive int, got 1099511627776"),
    (lambda x: x.sc.split(x.i), ArgumentError, "one of factor and nparts must be given, got neither"),
    (lambda x: x.sc.split(x.i, 2, 3), ArgumentError, "one of factor and nparts must be given, got both"),
    (
        _split_twice,
        ScheduleError,
        "split: axis 'i' of stage 'C' has already been split (the loops of 'C' are i.outer, i.inner, j, k)",
    ),
    (
        lambda x: x.sc.split(x.d.op.axis[0], 2),
        ScheduleError,
        "split: axis 'i' of stage 'D' is not an axis of 'C' (the loops of 'C' are i, j, k)",
    ),
    (lambda x: x.sc.split(x.i, 2, disable_predication=True), ArgumentError, "split: disable_predication must be False"),
    (lambda x: x.sc.split(te.thread_axis((0, 4), "threadIdx.x"), 2), ScheduleError, "'threadIdx.x' is not an axis"),
    (lambda x: x.sc.fuse(x.d.op.axis[0]), ScheduleError, "fuse: axis 'i' of stage 'D' is not an axis of 'C'"),
    (lambda x: x.sc.unroll(x.d.op.axis[0]), ScheduleError, "unroll: axis 'i' of stage 'D' is not an axis of 'C'"),
    (lambda x: x.sc.pragma(x.d.op.axis[0], "p"), ScheduleError, "pragma: axis 'i' of stage 'D' is not an axis of 'C'"),
    (
        lambda x: x.sc.bind(x.d.op.axis[0], te.thread_axis("threadIdx.x")),
        ScheduleError,
        "bind: axis 'i' of stage 'D' is not an axis of 'C'",
    ),
    (lambda x: x.sc.bind(x.i, x.j), ArgumentError, "bind: thread_ivar must be made by te.thread_axis, got"),
    (_a_diagonal, ScheduleError, "axes 'i' and 'j' of stage 'D' are both bound to threadIdx.x"),
    (_a_long_vector, ScheduleError, "vectorize: a vector has at most 32,768 lanes, and 'i' of stage 'Z' has 131,072"),
    (_an_inlined_stage_that_is_read_as_a_whole, ScheduleError, "'D' must be stored, since 'E' reads it as a whole"),
    (_a_layout_that_a_function_accesses, LoweringError, "of 'D' cannot be transformed: it an operation accesses"),
    (lambda x: x.sc.set_scope(3), ArgumentError, "set_scope: scope must be a string, got 3"),
    (lambda x: x.sd.rolling_buffer(), ScheduleError, "rolling_buffer: stage 'D' is an output"),
    (lambda x: x.sc.storage_align(x.i, "4", 2), ArgumentError, "storage_align: factor must be a positive int, got '4'"),
    (lambda x: x.sc.prefetch(x.a, x.d.op.axis[0], 1), ScheduleError, "axis 'i' of stage 'D' is not an axis of 'C'"),
    (lambda x: x.sc.prefetch("A", x.i, 1), ArgumentError, "prefetch: tensor must be a tensor, got 'A'"),
    (lambda x: x.sc.prefetch(x.d, x.i, 1), ScheduleError, "prefetch: stage 'C' does not read 'D'"),
    (lambda x: x.sc.prefetch(x.a, x.i, 1.5), ArgumentError, "prefetch: offset must be an integer, got"),
    (lambda x: x.sc.split("i", 2), ArgumentError, "split: expected an axis of stage 'C', got 'i'"),
    (lambda x: x.sc.split(x.i.var, 2), ArgumentError, "split: expected an axis of stage 'C', got i"),
    (lambda x: x.sc.tile(x.i, x.i, 2, 2), ScheduleError, "split: axis 'i' of stage 'C' has already been split"),
    (lambda x: x.sc.reorder(x.d.op.axis[0], x.i), ScheduleError, "axis 'i' of stage 'D' is not an axis of 'C'"),
    (lambda x: x.sc.reorder(x.i, x.j, x.i), ScheduleError, "reorder: each axis must be given once, got 'i' twice"),
    (_reorder_fused, ScheduleError, "reorder: axis 'j' of stage 'C' has already been fused"),
    (lambda x: x.sc.fuse(x.i, x.k), ScheduleError, "fuse: axes must be adjacent, got 'i' and 'k'"),
    (_fuse_after_reorder, ScheduleError, "fuse: axes must be adjacent, got 'i' and 'j' (the loops of 'C' are i, k, j)"),
    (lambda x: x.sc.reverse(x.d.op.axis[0]), ScheduleError, "reverse: axis 'i' of stage 'D' is not an axis of 'C'"),
    (
        lambda x: (x.sc.reverse(x.k), x.sc.reverse(x.k)),
        ScheduleError,
        "reverse: axis 'k' of stage 'C' has already been reversed (the loops of 'C' are i, j, k.reversed)",
    ),
    (lambda x: x.sc.vectorize(x.k), ScheduleError, "vectorize: axis 'k' of stage 'C' is a reduction axis"),
    (lambda x: x.sc.parallel(x.k), ScheduleError, "parallel: axis 'k' of stage 'C' is a reduction axis"),
    (_vectorize_symbolic, ScheduleError, "vectorize: axis 'i' of stage 'Z' must have a constant extent, got n"),
    (
        _another_number_of_threads,
        ScheduleError,
        "bind: axis 'i' of stage 'D' must have the extent 4 of thread axis 'threadIdx.x', got 20",
    ),
    (_two_numbers_of_threads, ScheduleError, "thread axis 'threadIdx.x' must have one extent, got 24 and 4"),
    (
        lambda x: x.sd.set_store_predicate(x.d.op.axis[0]),
        ArgumentError,
        "set_store_predicate: predicate must be of type bool, got i",
    ),
    (lambda x: x.sc.bind(x.i, "threadIdx.x"), ArgumentError, "bind: thread_ivar must be made by te.thread_axis"),
    (_an_output_in_its_producer, ScheduleError, "compute_at: stage 'D' is an output"),
    (_an_output_in_itself, ScheduleError, "compute_at: stage 'D' is an output"),
    (lambda x: x.sc.compute_at(x.sd, x.i), ScheduleError, "compute_at: axis 'i' of stage 'C' is not an axis of 'D'"),
    (lambda x: x.sc.compute_at(x.sc, x.i), ScheduleError, "stage 'C' must be computed inside a stage that reads it"),
    (lambda x: x.sc.compute_at(x.d, x.i), ArgumentError, "compute_at: parent must be a stage, such as s[C]"),
    (lambda x: x.sc.compute_at(x.sd, "i"), ArgumentError, "compute_at: scope must be an axis of stage 'D', got 'i'"),
    (
        lambda x: x.sc.compute_at(te.create_schedule(x.d.op)[x.d], x.d.op.axis[0]),
        ScheduleError,
        "compute_at: stage 'D' belongs to another schedule",
    ),
    (lambda x: x.s[x.a].compute_at(x.sc, x.i), ScheduleError, "compute_at: 'A' is a placeholder"),
    (
        _outside_of_a_consumer,
        ScheduleError,
        "compute_at: stage 'C' is computed at axis 'i' of stage 'E', outside of its consumer 'D'",
    ),
    (
        _a_place_that_is_gone,
        ScheduleError,
        "at axis 'k.outer' of stage 'C', which a later cache_write or rfactor replaced; place it after",
    ),
    (_inside_an_inlined_stage, ScheduleError, "stage 'C' is computed in stage 'D', which is inlined"),
    (lambda x: x.sc.compute_inline(), ScheduleError, "compute_inline: stage 'C' is a reduction"),
    (lambda x: x.sd.compute_inline(), ScheduleError, "compute_inline: stage 'D' is an output"),
    (lambda x: x.s[x.a].compute_inline(), ScheduleError, "compute_inline: 'A' is a placeholder"),
    (
        lambda x: x.s[te.placeholder((1,), name="Q")],
        ScheduleError,
        "schedule: 'Q' is not computed by this schedule, whose stages are A, B, C, D",
    ),
    (lambda x: x.s.cache_raed, AttributeError, "cache_read"),
    (lambda x: x.sc.vectorise, AttributeError, "vectorize"),
    (lambda x: x.sc.tensorize(x.d.op.axis[0], _double()), ScheduleError, "axis 'i' of stage 'D' is not an axis of 'C'"),
    (lambda x: x.s["C"], ArgumentError, "schedule: expected a tensor or an operation, as in s[C], got 'C'"),
    (
        lambda x: x.s.rfactor(x.c, x.i),
        ScheduleError,
        "rfactor: axis must be a reduction loop, got 'i' of stage 'C'; its reduction loops are k",
    ),
    (lambda x: x.s.rfactor("C", x.k), ArgumentError, "rfactor: tensor must be a tensor, got 'C'"),
    (lambda x: x.s.rfactor(x.a, x.k), ScheduleError, "rfactor: stage 'A' must be a reduction"),
    (lambda x: (x.sc.split(x.k, 4), x.s.rfactor(x.c, x.k)), ScheduleError, "axis 'k' of stage 'C' has already been"),
    (lambda x: x.s.rfactor(x.c, x.k, "0"), ArgumentError, "rfactor: factor_axis must be an int from -3 to 2, got '0'"),
    (lambda x: x.s.rfactor(x.c, x.k, -4), ArgumentError, "rfactor: factor_axis must be an int from -3 to 2, got -4"),
    (lambda x: x.s.rfactor(x.d, x.d.op.axis[0]), ScheduleError, "rfactor: stage 'D' must be a reduction"),
    (lambda x: x.s.rfactor(x.c, x.k, 7), ArgumentError, "rfactor: factor_axis must be an int from -3 to 2, got 7"),
    (lambda x: x.s.cache_read(x.a, "local", [x.d]), ScheduleError, "readers must read 'A', and 'D' does not"),
    (lambda x: x.s.cache_read(x.a, "local", []), ArgumentError, "cache_read: readers must not be empty"),
    (lambda x: x.s.cache_read(x.a, 3, [x.c]), ArgumentError, "cache_read: scope must be a string, got 3"),
    (lambda x: x.s.cache_read("A", "local", [x.c]), ArgumentError, "cache_read: tensor must be a tensor, got 'A'"),
    (lambda x: x.s.cache_write(x.a, "local"), ScheduleError, "cache_write: 'A' is a placeholder"),
    (lambda x: x.s.cache_write([], "local"), ArgumentError, "cache_write: tensors must not be empty"),
    (lambda x: x.s.cache_write([x.c, 3], "local"), ArgumentError, "cache_write: expected a tensor, got 3"),
    (lambda x: x.s.cache_write(x.c, 3), ArgumentError, "cache_write: scope must be a string, got 3"),
    (lambda x: _outputs(x, 0), ScheduleError, "cache_write: all 2 outputs of 'P' must be given, got 1"),
    (lambda x: _outputs(x, 0, 2), ScheduleError, "cache_write: all 2 outputs of 'P' must be given, got 2"),
    (_cache_of_a_guarded_intrinsic, ScheduleError, "the loops of 'E' go beyond its elements, and an intrinsic"),
    (_two_caches, ScheduleError, "cache_write: 'D' has a cache in scope 'local' already"),
    (lambda x: x.sc.storage_align(x.k, 1, 2), ScheduleError, "storage_align: axis must be one of s[C].op.axis"),
    (lambda x: x.sc.storage_align(x.i, 0, 2), ArgumentError, "storage_align: factor must be a positive int, got 0"),
    (lambda x: x.sc.pragma(x.k, 3), ArgumentError, "pragma: pragma_type must be a string, got 3"),
    (lambda x: x.sd.double_buffer(), ScheduleError, "double_buffer: stage 'D' is an output"),
    (lambda x: te.create_schedule(x.d), ArgumentError, "got tensor 'D'; pass D.op"),
    (lambda x: te.create_schedule("x"), ArgumentError, "ops must be operations, such as C.op, got 'x'"),
    (lambda x: x.lower(x.a, x.d), LoweringError, "lower: placeholder 'B' is read and must be among args"),
    (lambda x: x.lower(x.a, x.b, x.d, x.d), ArgumentError, "lower: each tensor must be given once in args"),
    (lambda x: x.lower(x.a, x.b, x.d, 3), ArgumentError, "lower: args must be tensors, buffers or variables, got 3"),
    (_stray_axis, BuildError, "variable 'k' is used where it has no value"),
]


@pytest.mark.parametrize(("apply", "error", "message"), CASES, ids=[message[:50] for _, _, message in CASES])
def test_the_message_says_what_is_wrong(apply: Callable[[Setting], Any], error: type[Exception], message: str) -> None:
    setting = Setting()
    with pytest.raises(error) as caught:
        apply(setting)
    assert message in str(caught.value)


def test_what_lowering_finds_names_the_line_that_asked() -> None:
    for apply in (_vectorize_symbolic, _outside_of_a_consumer):
        with pytest.raises(ScheduleError, match=r" \(line \d+\); "):
            apply(Setting())


def test_a_refused_primitive_leaves_no_trace() -> None:
    x = Setting()
    before = [list(s.leaf_iter_vars) for s in x.s.stages]
    for apply in (
        lambda: x.sc.tile(x.i, x.i, 2, 2),
        lambda: x.sc.tile(x.i, x.j, 2, -2),
        lambda: x.sc.fuse(x.i, x.j, x.i),
        lambda: x.s.rfactor(x.c, x.k, 9),
    ):
        with pytest.raises(TVMError):
            apply()
    assert [list(s.leaf_iter_vars) for s in x.s.stages] == before
    assert x.s.primitives == []
    assert not x.s.applying


@pytest.mark.parametrize("parts", [False, True])
def test_rows_that_are_as_long_as_data_says_are_not_fused(parts: bool) -> None:
    lengths, a = te.placeholder((4,), "int32", name="lengths"), te.placeholder((4, 9), "int32", name="A")

    def row(i: Any) -> Any:
        k = te.reduce_axis((0, lengths[i]), name="k")
        return te.sum(a[i, k], axis=k)

    c = te.compute((4,), row, name="C")
    s = te.create_schedule(c.op)
    i, k = c.op.axis[0], s[c].op.reduce_axis[0]
    if parts:
        _, i = s[c].split(i, 2)
    with pytest.raises(ScheduleError, match=r"fuse: axis 'k' of stage 'C' .*is as long as data says"):
        s[c].fuse(i, k)
    outer, inner = s[c].split(k, 2)
    s[c].fuse(outer, inner)
    schedule_to_prim_func(s, [lengths, a, c])
