"""Groups of stages: what is in them, and where they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.ir.error import ArgumentError, ScheduleError
from compiler.te.program import read_program, write_program


def _chain() -> tuple[te.Tensor, ...]:
    A = te.placeholder((6, 8), name="A")
    x = te.compute((6, 8), lambda i, j: A[i, j] + 1.0, name="x")
    y = te.compute((6, 8), lambda i, j: x[i, j] * 2.0, name="y")
    z = te.compute((6, 8), lambda i, j: y[i, j] - 3.0, name="z")
    return A, x, y, z


def _check(s: Any, A: te.Tensor, z: te.Tensor) -> str:
    lowered = tvm.lower(s, [A, z])
    a = np.random.default_rng(0).normal(size=(6, 8)).astype("float32")
    out = tvm.nd.array(np.zeros_like(a))
    tvm.build(s, [A, z])(tvm.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), (a + 1) * 2 - 3, rtol=1e-6)
    return str(lowered)


def test_a_group_is_placed_as_a_whole() -> None:
    A, x, y, z = _chain()
    s = te.create_schedule(z.op)
    g = s.create_group(outputs=y, inputs=A)
    assert s[x].group is s[y].group is g
    assert s[z].group is None
    assert g.num_child_stages == 2
    g.compute_at(s[z], z.op.axis[0])
    assert g.attach_stage is s[z]
    text = _check(s, A, z)
    assert text.index("for i in range(6)") < text.index("+ T.float32(1.0)")
    assert text.count("for i in range(6)") == 1
    g.compute_root()
    assert _check(s, A, z).count("T.grid(6, 8)") == 3


def test_a_stage_with_a_place_of_its_own_keeps_it() -> None:
    A, x, y, z = _chain()
    s = te.create_schedule(z.op)
    g = s.create_group(outputs=y, inputs=A)
    s[x].compute_at(s[y], y.op.axis[1])
    g.compute_at(s[z], z.op.axis[0])
    _check(s, A, z)


def test_groups_nest() -> None:
    _, x, y, z = _chain()
    s = te.create_schedule(z.op)
    inner = s.create_group(outputs=y, inputs=x)
    outer = s.create_group(outputs=y, inputs=x, include_inputs=True)
    assert s.groups == [inner, outer]
    assert (s[y].group, s[x].group, inner.group) == (inner, outer, outer)
    assert (inner.num_child_stages, outer.num_child_stages) == (1, 2)


def test_what_is_in_a_group_stays_in_it() -> None:
    _, x, y, z = _chain()
    s = te.create_schedule(z.op)
    g = s.create_group(outputs=y, inputs=x, include_inputs=True)
    with pytest.raises(ScheduleError, match="'x' is in 'group0', and must be computed at a stage of that"):
        s[x].compute_at(s[z], z.op.axis[0])
    with pytest.raises(ScheduleError, match="stage 'y' is in 'group0' itself"):
        g.compute_at(s[y], y.op.axis[0])
    with pytest.raises(ScheduleError, match="there is no stage between"):
        s.create_group(outputs=x, inputs=y)
    with pytest.raises(ScheduleError, match="would be outside"):
        s.create_group(outputs=z, inputs=x)
    with pytest.raises(ArgumentError, match="create_group: expected tensors, got 3"):
        s.create_group(outputs=z, inputs=3)  # type: ignore[arg-type]


def test_a_group_is_placed_at_a_loop_of_a_stage_beside_it() -> None:
    A, x, y, z = _chain()
    s = te.create_schedule(z.op)
    outer = s.create_group(outputs=y, inputs=A, include_inputs=True)
    inner = s.create_group(outputs=x, inputs=A)
    for parent in (z, outer):
        with pytest.raises(ArgumentError, match="compute_at: parent must be a stage, such as"):
            inner.compute_at(parent, z.op.axis[0])
    with pytest.raises(ScheduleError, match="compute_at: axis 'i' of stage 'y' is not an axis of 'z'"):
        outer.compute_at(s[z], y.op.axis[0])
    with pytest.raises(ScheduleError, match="is in 'group0', and must be computed at a stage of that"):
        inner.compute_at(s[z], z.op.axis[0])
    inner.compute_at(s[y], y.op.axis[0])
    _check(s, A, z)


def test_the_steps_of_a_scan_are_a_group() -> None:
    X = te.placeholder((5, 4), name="X")
    state = te.placeholder((5, 4), name="state")
    init = te.compute((1, 4), lambda _, i: X[0, i], name="init")
    first = te.compute((5, 4), lambda t, i: state[t - 1, i] + X[t, i], name="first")
    second = te.compute((5, 4), lambda t, i: first[t, i] * 0.5, name="second")
    update = te.compute((5, 4), lambda t, i: second[t, i] + 1.0, name="update")
    result = te.scan(init, update, state, inputs=[X])
    s = te.create_schedule(result.op)
    steps = s[update].group
    assert steps is not None
    assert s[first].group is s[second].group is steps
    g = s.create_group(outputs=second, inputs=[state, X])
    assert g.group is steps
    g.compute_at(s[update], update.op.axis[1])
    x = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
    expected = [x[0]]
    for row in x[1:]:
        expected.append((expected[-1] + row) * np.float32(0.5) + 1)
    out = tvm.nd.array(np.zeros_like(x))
    tvm.build(s, [X, result])(tvm.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), np.stack(expected), rtol=1e-6)


def test_groups_are_replayed_and_written_as_data() -> None:
    A, _, y, z = _chain()
    s = te.create_schedule(z.op)
    g = s.create_group(outputs=y, inputs=A)
    g.compute_at(s[z], z.op.axis[0])
    text = str(tvm.lower(s, [A, z]))
    replayed, _ = s.replay(2)
    assert str(tvm.lower(replayed, [A, z])) == text
    assert [p.label for p in s.primitives] == ["create_group(outputs=y, inputs=A) -> group0", "compute_at(z, i)"]
    program = read_program(write_program(s, [A, z]))
    assert str(tvm.lower(program.schedule, program.args)) == text
