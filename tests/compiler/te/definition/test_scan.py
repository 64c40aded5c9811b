"""Scans: results against NumPy, what a step carries out, and which parts of the state it needs."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.ir.error import ArgumentError, ScheduleError
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.tir.interpreter import interpret

pytestmark = pytest.mark.filterwarnings("error::compiler.te.definition.access.BoundsWarning")


def _sums(m, n, extra=False):
    """Return a running sum along the first dimension, with a stage in the middle of a step."""
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    step = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="step")
    update = te.compute((m, n), lambda t, i: step[t, i] * 0.5, name="update")
    result = te.scan(init, update, state, inputs=[X], name="sums")
    out = te.compute((m, n), lambda t, i: result[t, i] + 1.0, name="out") if extra else result
    return X, state, init, step, update, result, out


def _expected(x):
    rows = [x[0]]
    for row in x[1:]:
        rows.append((rows[-1] + row) * np.float32(0.5))
    return np.stack(rows)


def _check(s, args, x, expected):
    lowered = tvm.lower(s, args)["main"]
    result = np.zeros_like(expected)
    interpret(lowered, [x, result])
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    built = tvm.nd.array(np.zeros_like(expected))
    tvm.build(s, args)(tvm.nd.array(x), built)
    np.testing.assert_allclose(built.numpy(), expected, rtol=1e-6)


def _data(m, n):
    return np.random.default_rng(0).standard_normal((m, n)).astype("float32")


SCHEDULES = {
    "plain": lambda s, init, step, update, result: None,
    "inlined": lambda s, init, step, update, result: s[step].compute_inline(),
    "step in update": lambda s, init, step, update, result: s[step].compute_at(s[update], update.op.axis[1]),
    "split": lambda s, init, step, update, result: s[update].vectorize(s[update].split(update.op.axis[1], 4)[1]),
    "split step and init": lambda s, init, step, update, result: (
        s[step].split(step.op.axis[1], 3),
        s[init].split(init.op.axis[1], 5),
    ),
    "cache": lambda s, init, step, update, result: s.cache_write(update, "local"),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("m", "n"), [(6, 8), ("m", "n")])
@pytest.mark.parametrize("extra", [False, True], ids=["output", "intermediate"])
def test_schedules_of_a_running_sum(schedule, m, n, extra):
    shape = [te.var(v) if isinstance(v, str) else v for v in (m, n)]
    X, _, init, step, update, result, out = _sums(*shape, extra=extra)
    s = te.create_schedule(out.op)
    SCHEDULES[schedule](s, init, step, update, result)
    x = _data(6, 8)
    _check(s, [X, out], x, _expected(x) + np.float32(extra))


def test_two_states():
    X = te.placeholder((5, 4), name="X")
    a, b = te.placeholder((5, 4), name="a"), te.placeholder((5, 4), name="b")
    a0 = te.compute((1, 4), lambda _, i: X[0, i], name="a0")
    b0 = te.compute((1, 4), lambda _, i: X[0, i] * 2.0, name="b0")
    a1 = te.compute((5, 4), lambda t, i: b[t - 1, i] + X[t, i], name="a1")
    b1 = te.compute((5, 4), lambda t, i: a[t - 1, 3 - i] * 0.5, name="b1")
    first, second = te.scan([a0, b0], [a1, b1], [a, b], name="scan")
    assert (first.value_index, second.value_index) == (0, 1)
    out = te.compute((5, 4), lambda t, i: first[t, i] + second[t, i], name="out")
    x = _data(5, 4)
    rows = [(x[0], x[0] * 2)]
    for row in x[1:]:
        rows.append((rows[-1][1] + row, rows[-1][0][::-1] * np.float32(0.5)))
    _check(te.create_schedule(out.op), [X, out], x, np.stack([p + q for p, q in rows]))


def test_state_read_several_steps_back():
    F = te.placeholder((9,), name="F")
    init = te.compute((2,), lambda i: F[i], name="init")
    state = te.placeholder((9,), name="state")
    update = te.compute((9,), lambda t: state[t - 1] + state[t - 2], name="update")
    fib = te.scan(init, update, state)
    x = np.ones(9, "float32")
    _check(te.create_schedule(fib.op), [F, fib], x, np.array([1, 1, 2, 3, 5, 8, 13, 21, 34], "float32"))


def test_bounds_and_places():
    _, state, _, step, update, result, _ = _sums(te.var("m"), te.var("n"))
    s = te.create_schedule(result.op)
    bounds = te.schedule.InferBound(s)
    assert bounds[result.op.scan_axis].min == 1
    assert te.schedule.CreateAttachPath(s)[step.op] == (result.op.scan_axis,)
    assert set(te.schedule.ScanGetBody(result.op)) == {result.op, step.op, update.op}
    assert state.op not in te.schedule.ScanGetBody(result.op)
    normalized = s.normalize()
    statement = te.schedule.ScheduleOps(normalized, te.schedule.InferBound(normalized))
    assert "T.ProducerRealize(update" not in str(statement)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda X, S: lambda t, i, j: X[t, j, i] + S[t - 1, i, j], (1, 1)),
        (lambda X, S: lambda t, i, j: X[t, j, i] + S[t - 1, j, i], (0, 0)),
        (lambda X, S: lambda t, i, j: X[t, j, i] + S[t - 1, i, 0], (1, 0)),
        (lambda X, S: lambda t, i, j: X[t, j, i] + S[t - 1, i, 3 - j], (1, 0)),
    ],
)
def test_fixed_axes(step, expected):
    X = te.placeholder((3, 4, 4), name="X")
    S = te.placeholder((3, 4, 4), name="S")
    init = te.compute((1, 4, 4), lambda _, i, j: X[0, i, j])
    update = te.compute((3, 4, 4), step(X, S))
    op = te.scan(init, update, S).op
    fixed = te.schedule.ScanFixPointAnalysis(op)
    assert tuple(fixed[axis].value for axis in op.spatial_axis_) == expected


def test_part_of_a_scan():
    """A part of the result is computed from that part of the state, where each step needs no other."""
    X, _, _, _, _, result, _ = _sums(6, 8)
    out = te.compute((3, 2), lambda t, i: result[t, i + 4], name="out")
    s = te.create_schedule(out.op)
    bounds = te.schedule.InferBound(s.normalize())
    (axis,) = result.op.spatial_axis_
    assert (bounds[axis].min, bounds[axis].extent) == (4, 2)
    assert bounds[result.op.scan_axis].extent == 2
    x = _data(6, 8)
    _check(s, [X, out], x, _expected(x)[:3, 4:6])


@pytest.mark.parametrize("primitive", ["reorder", "vectorize", "parallel", "bind"])
def test_the_steps_of_a_scan_stay_in_order(primitive: str) -> None:
    result = _sums(9, 8)[5]
    s = te.create_schedule(result.op)
    outer, inner = s[result].split(result.op.scan_axis, 2)
    others = {"reorder": [outer], "bind": [te.thread_axis("threadIdx.x")]}.get(primitive, [])
    with pytest.raises(ScheduleError, match=f"{primitive}: .*steps of a scan, which must be carried out in order"):
        getattr(s[result], primitive)(inner, *others)


def test_arguments_of_scan():
    X, state, init, _, update, _, _ = _sums(6, 8)
    with pytest.raises(ArgumentError, match="the same number of tensors"):
        te.scan(init, [update, update], state)
    with pytest.raises(ArgumentError, match="the same number of tensors"):
        te.scan([], [], [])
    with pytest.raises(ArgumentError, match="scan: expected tensors, got 3"):
        te.scan([3], update, state)
    for first, step in ((X, update), (init, X)):
        with pytest.raises(ArgumentError, match="init and update must be computed, got a placeholder"):
            te.scan(first, step, state)
    with pytest.raises(ArgumentError, match="must have the same data type, got int32, float32 and float32"):
        te.scan(te.compute((1, 8), lambda _, i: i), update, state)
    with pytest.raises(ArgumentError, match="must have the same dimensions, got 1, 2 and 2"):
        te.scan(te.compute((8,), lambda i: X[0, i]), update, state)
    with pytest.raises(ArgumentError, match="must be placeholders"):
        te.scan(init, update, update)
    with pytest.raises(ArgumentError, match="dimension 1"):
        te.scan(te.compute((1, 7), lambda _, i: X[0, i]), update, state)


def test_fixed_axes_of_symbolic_extents() -> None:
    steps, m, n = te.var("steps"), te.var("m"), te.var("n")
    x = te.placeholder((steps, m, n), name="X")
    s = te.placeholder((steps, m, n), name="S")
    init = te.compute((1, m, n), lambda _, i, j: x[0, i, j])
    plain = te.compute((steps, m, n), lambda t, i, j: x[t, i, j] + s[t - 1, i, j])
    both = te.compute((steps, n, m), lambda t, j, i: s[t - 1, j, j], name="both")
    crossed = te.compute((steps, m, n), lambda t, i, j: both[t, j, i] + s[t - 1, i, j])
    for update, expected in ((plain, (1, 1)), (crossed, (0, 0))):
        op = te.scan(init, update, s).op
        fixed = te.schedule.ScanFixPointAnalysis(op)
        assert tuple(fixed[axis].value for axis in op.spatial_axis_) == expected


@pytest.mark.parametrize("far", [1, 2])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("by", [{}, {"factor": 2}, {"nparts": 3}])
def test_a_scan_in_a_loop_of_its_reader_stays_in_its_memory(far: int, place: int, by: dict[str, int]) -> None:
    x = te.placeholder((5, 4), "int32", name="X")
    s = te.placeholder((5, 4), "int32", name="S")
    init = te.compute((far, 4), lambda t, i: x[t, i], name="init")
    update = te.compute((5, 4), lambda t, i: s[t - far, i] + x[t, i], name="update")
    sums = te.scan(init, update, s, name="sums")
    y = te.compute((5, 4), lambda i, j: sums[i, j] * 2, name="Y")
    schedule = te.create_schedule(y.op)
    schedule[sums].compute_at(schedule[y], y.op.axis[place])
    if by:
        schedule[sums].split(sums.op.scan_axis, **by)
    values = np.arange(20, dtype="int32").reshape(5, 4)
    expected = values.copy()
    for t in range(far, 5):
        expected[t] += expected[t - far]
    result = np.zeros((5, 4), "int32")
    interpret(schedule_to_prim_func(schedule, [x, y]), [values, result])
    np.testing.assert_array_equal(result, 2 * expected)
