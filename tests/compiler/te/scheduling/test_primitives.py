"""Every primitive is recorded, announced, and can be replayed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from compiler import te
from compiler.ir.error import ScheduleError, TVMError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.structural import structural_equal
from compiler.te.lowering.to_tir import schedule_to_prim_func
from tests.compiler.te.programs import matmul


def _names(axes: Any) -> list[str]:
    return [a.var.name for a in axes]


def _schedule_with_everything() -> tuple[te.Schedule, list[te.Tensor]]:
    a, b, c = matmul()
    d = te.compute(c.shape, lambda i, j: c[i, j] * 2, name="D")
    e = te.compute(c.shape, lambda i, j: d[i, j] + 1, name="E")
    s = te.create_schedule(e.op)
    s[d].compute_inline()
    cached = s.cache_write(e, "local")
    packed = s.cache_read(b, "global", [c])
    x, y, xi, yi = s[e].tile(*s[e].op.axis, 8, 16)
    s[e].vectorize(yi)
    s[e].pragma(xi, "auto_unroll_max_step", 16)
    s[cached].compute_at(s[e], y)
    s[c].compute_at(s[e], y)
    ko, ki = s[c].split(s[c].op.reduce_axis[0], nparts=4)
    s[c].reorder(ko, *s[c].op.axis, ki)
    partial = s.rfactor(c, ki)
    s[partial].compute_at(s[e], y)
    s[packed].set_scope("shared")
    s[packed].storage_align(packed.op.axis[0], 8, 1)
    s[packed].double_buffer()
    s[e].parallel(s[e].fuse(x, y))
    s[cached].unroll(s[cached].op.axis[0])
    return s, [a, b, e]


def test_a_call_becomes_a_label_and_a_line() -> None:
    _, _, c = matmul()
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    io, ii = s[c].split(i, 32)
    jo, _ = s[c].split(j, nparts=4)
    s[c].reorder(jo, io, ii)
    s[c].vectorize(ii)
    assert [p.label for p in s.primitives] == [
        "split(i, factor=32) -> i.outer, i.inner",
        "split(j, nparts=4) -> j.outer, j.inner",
        "reorder(j.outer, i.outer, i.inner)",
        "vectorize(i.inner)",
    ]
    assert [p.name for p in s.primitives] == ["split", "split", "reorder", "vectorize"]
    assert [p.line for p in s.primitives] == [line, line + 1, line + 2, line + 3]
    assert {p.stage for p in s.primitives} == {"C"}


def test_a_primitive_made_of_others_is_one() -> None:
    _, _, c = matmul()
    s = te.create_schedule(c.op)
    s[c].tile(*c.op.axis, x_factor=8, y_factor=16)
    (only,) = s.primitives
    assert only.label == "tile(i, j, x_factor=8, y_factor=16) -> i.outer, j.outer, i.inner, j.inner"


def test_labels_name_tensors_and_stages() -> None:
    s, _ = _schedule_with_everything()
    labels = [p.label for p in s.primitives]
    assert labels[:4] == [
        "compute_inline()",
        "cache_write(E, 'local') -> E.local",
        "cache_read(B, 'global', [C]) -> B.global",
        "tile(i, j, x_factor=8, y_factor=16) -> i.outer, j.outer, i.inner, j.inner",
    ]
    assert "compute_at(E, j.outer)" in labels
    assert "rfactor(C, k.inner) -> C.rf" in labels


class _Listener(Instrument):
    def __init__(self) -> None:
        self.events: list[tuple[str, Any, Any]] = []

    def schedule_created(self, schedule: Any) -> None:
        self.events.append(("created", schedule, None))

    def primitive_applied(self, schedule: Any, primitive: Any) -> None:
        self.events.append(("applied", schedule, primitive))


def test_instruments_hear_of_schedules_and_primitives() -> None:
    _, _, c = matmul()
    listener = _Listener()
    with instrumented(listener):
        s = te.create_schedule(c.op)
        s[c].unroll(c.op.axis[0])
        with pytest.raises(TVMError):
            s[c].split(c.op.axis[0], -1)
    assert listener.events == [("created", s, None), ("applied", s, s.primitives[0])]


def test_each_primitive_shapes_the_loops() -> None:
    _, _, c = matmul()
    s = te.create_schedule(c.op)
    stage = s[c]
    i, j = c.op.axis
    (k,) = c.op.reduce_axis
    assert _names(stage.leaf_iter_vars) == ["i", "j", "k"]
    io, ii = stage.split(i, factor=8)
    assert _names(stage.leaf_iter_vars) == ["i.outer", "i.inner", "j", "k"]
    stage.reorder(k, ii)
    assert _names(stage.leaf_iter_vars) == ["i.outer", "k", "j", "i.inner"]
    stage.reorder(ii, j)
    assert _names(stage.leaf_iter_vars) == ["i.outer", "k", "i.inner", "j"]
    stage.fuse(j, ii)
    assert _names(stage.leaf_iter_vars) == ["i.outer", "k", "i.inner.j.fused"]
    single = stage.fuse()
    assert _names(stage.leaf_iter_vars) == ["singleton", "i.outer", "k", "i.inner.j.fused"]
    stage.fuse(single, io)
    assert _names(stage.leaf_iter_vars) == ["singleton.i.outer.fused", "k", "i.inner.j.fused"]


def test_caches_stand_next_to_what_they_cache() -> None:
    a, _, c = matmul()
    s = te.create_schedule(c.op)
    cached = s.cache_write(c, "local")
    again = s.cache_read(a, "local", [cached])
    third = s.cache_read(a, "local", [again])
    assert [stage.op.name for stage in s.stages] == ["A", "A.d.local", "A.local", "B", "C.local", "C"]
    assert s[third].op.input_tensors == (a,)
    assert s[again].op.input_tensors[0].op is s[third].op
    assert s[c].op.axis == c.op.axis
    assert s[c].op.reduce_axis == ()
    assert _names(s[cached].op.axis) == ["i.c", "j.c"]
    assert _names(s[cached].op.reduce_axis) == ["k"]


def test_a_cache_takes_the_layout_of_the_loops() -> None:
    _, _, c = matmul(30, 64)
    s = te.create_schedule(c.op)
    io, ii = s[c].split(c.op.axis[0], factor=8)
    s[c].reorder(c.op.axis[1], io, ii)
    cached = s.cache_write(c, "global")
    assert [int(d) for d in cached.shape] == [64, 4, 8]
    assert _names(s[c].leaf_iter_vars) == ["i", "j"]


def test_partial_results_get_a_dimension() -> None:
    _, _, c = matmul()
    s = te.create_schedule(c.op)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=4)
    partial = s.rfactor(c, ki, factor_axis=-1)
    assert [int(d) for d in partial.shape] == [64, 64, 4]
    assert _names(partial.op.axis) == ["i", "j", "k.inner"]
    assert _names(partial.op.reduce_axis) == [ko.var.name]
    assert _names(s[c].op.reduce_axis) == ["k.inner.v"]


def test_every_prefix_replays_to_the_same_loops() -> None:
    whole, args = _schedule_with_everything()
    for count in range(len(whole.primitives) + 1):
        first, first_map = whole.replay(count)
        second, second_map = first.replay(count)
        assert [p.label for p in second.primitives] == [p.label for p in whole.primitives[:count]]
        assert [p.line for p in second.primitives] == [p.line for p in whole.primitives[:count]]
        left = schedule_to_prim_func(first, [first_map(t) for t in args])
        right = schedule_to_prim_func(second, [second_map(first_map(t)) for t in args])
        assert structural_equal(left, right)
    assert structural_equal(left, schedule_to_prim_func(whole, args))


def test_a_replayed_schedule_leaves_the_original_alone() -> None:
    whole, _ = _schedule_with_everything()
    before = [_names(stage.leaf_iter_vars) for stage in whole.stages]
    copy, _ = whole.replay(len(whole.primitives))
    copy[whole.outputs[0]].unroll(copy[whole.outputs[0]].leaf_iter_vars[-1])
    assert [_names(stage.leaf_iter_vars) for stage in whole.stages] == before
    assert len(copy.primitives) == len(whole.primitives) + 1


def test_a_tensor_made_later_is_unknown_to_a_prefix() -> None:
    _, _, c = matmul()
    s = te.create_schedule(c.op)
    cached = s.cache_write(c, "local")
    _, map_tensor = s.replay(0)
    assert map_tensor(c) is c
    with pytest.raises(ScheduleError, match=r"'C.local' is made by a later primitive"):
        map_tensor(cached)


def test_normalizing_changes_a_copy_only() -> None:
    s, _ = _schedule_with_everything()
    before = [(stage.op, _names(stage.leaf_iter_vars)) for stage in s.stages]
    normal = s.normalize()
    assert [stage.op.name for stage in normal.stages if stage.op.name == "D"] == []
    assert [(stage.op, _names(stage.leaf_iter_vars)) for stage in s.stages] == before


def _primitives() -> list[Any]:
    from compiler.te.scheduling.stage import Stage

    return [m for cls in (te.Schedule, Stage) for m in vars(cls).values() if hasattr(m, "__wrapped__")]


def test_every_primitive_shows_before_and_after() -> None:
    methods = _primitives()
    assert {"split", "reverse", "compute_at", "cache_write"} <= {m.__name__ for m in methods}
    assert [m.__name__ for m in methods if "→" not in (m.__doc__ or "")] == []
