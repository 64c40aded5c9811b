"""What is kept of schedules: their states after each primitive, and their text."""

from __future__ import annotations

import pickle

import compiler as tvm
from compiler import te


def product() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    a, b = te.placeholder((32, 24), name="A"), te.placeholder((24, 16), name="B")
    k = te.reduce_axis((0, 24), "k")
    return a, b, te.compute((32, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def test_states_are_kept_where_the_context_asks() -> None:
    _, _, c = product()
    with tvm.transform.PassContext(config={"te.keep_schedule_record": True}):
        s = te.create_schedule(c.op)
        s[c].tile(c.op.axis[0], c.op.axis[1], 8, 4)
        s[c].parallel(s[c].leaf_iter_vars[0])
    assert s.primitive_record == ["vanilla", "split", "split", "reorder", "parallel"]
    assert [len(state[c].leaf_iter_vars) for state in s.schedule_record] == [3, 4, 5, 5, 5]
    assert not any(state.schedule_record for state in s.schedule_record)
    s[c].vectorize(s[c].leaf_iter_vars[-2])
    assert len(s.schedule_record) == 5
    assert te.create_schedule(c.op).schedule_record == []


def test_saved_schedules_lower_to_the_same_loops() -> None:
    a, b, c = product()
    s = te.create_schedule(c.op)
    cache = s.cache_write(c, "local")
    outer, _, inner, _ = s[c].tile(c.op.axis[0], c.op.axis[1], x_factor=8, y_factor=4)
    s[cache].compute_at(s[c], inner)
    s[c].parallel(outer)
    copied = s.cache_read(a, "global", [cache])
    s[copied].compute_at(s[cache], s[cache].op.reduce_axis[0])
    expected = str(tvm.lower(s, [a, b, c]))
    for loaded in (tvm.ir.load_json(tvm.ir.save_json(s)), pickle.loads(pickle.dumps(s))):
        assert isinstance(loaded, te.schedule.Schedule)
        output = loaded.outputs[0].output(0)
        inputs = {t.name: t for t in output.op.input_tensors}
        assert str(tvm.lower(loaded, [inputs["A"], inputs["B"], output])) == expected
        assert [p.label for p in loaded.primitives] == [p.label for p in s.primitives]
