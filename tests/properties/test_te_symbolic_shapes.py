"""Programs whose sizes are variables: one function, scheduled once, is right for every length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from compiler import te
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.te.scheduling.stage import AttachType
from compiler.tir.interpreter import interpret
from tests.properties.te_programs import Draw, pick
from tests.properties.te_schedules import transform_loops
from tests.properties.test_te_schedules import relaxed

Array = np.ndarray[Any, Any]


def _programs() -> tuple[list[te.Tensor], list[te.Tensor]]:
    """Return two matrices of n by m, and what is computed of them: one tensor each of several kinds."""
    n, m = te.var("n"), te.var("m")
    a, b = te.placeholder((n, m), "int32", name="A"), te.placeholder((m, n), "int32", name="B")
    k, r = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, 3), name="r")
    doubled = te.compute((n, m), lambda i, j: a[i, j] * 2, name="doubled")
    turned = te.compute((m, n), lambda i, j: doubled[j, i] + b[i, j], name="turned")
    product = te.compute((n, n), lambda i, j: te.sum(doubled[i, k] * b[k, j], axis=k), name="product")
    window = te.compute(
        (n, m), lambda i, j: te.sum(te.if_then_else(j + r < m, doubled[i, j + r], 0), axis=r), name="window"
    )
    return [a, b], [turned, product, window]


def _expected(which: int, a: Array, b: Array) -> Array:
    doubled = a * 2
    if which == 0:
        return doubled.T + b
    if which == 1:
        return (doubled @ b).astype("int32")
    padded = np.pad(doubled, ((0, 0), (0, 2)))
    return padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]


def _schedule(draw: Draw, output: te.Tensor) -> te.Schedule:
    schedule = te.create_schedule(output.op)
    last, first = schedule[output], schedule[output.op.input_tensors[0]]
    if first.op.name != "doubled":
        first = schedule[next(t for t in output.op.input_tensors if t.name == "doubled")]
    for _ in range(draw(st.integers(0, 5))):
        transform_loops(draw, pick(draw, [first, last]))
    place = draw(st.integers(0, 3))
    if place == 1:
        first.compute_inline()
    elif place > 1:
        first.compute_at(last, pick(draw, last.leaf_iter_vars))
    assert first.attach_type is not AttachType.ROOT or place == 0
    return schedule


@pytest.mark.sample(2)
@pytest.mark.parametrize("lowering", [schedule_to_prim_func, lambda *args: lower(*args)["main"]], ids=["te", "lowered"])
@given(st.data())
@relaxed
def test_every_length_is_right(lowering: Any, data: st.DataObject) -> None:
    inputs, outputs = _programs()
    which = data.draw(st.integers(0, 2))
    schedule = _schedule(data.draw, outputs[which])
    note("\n".join(f"{p.stage} {p.label}" for p in schedule.primitives))
    try:
        func = lowering(schedule, [*inputs, outputs[which]])
    except TVMError as error:
        assert "constant" in str(error)  # noqa: PT017 - a loop of symbolic extent is neither vectorized nor unrolled
        return
    note(str(func))
    rng = np.random.default_rng(0)
    for n, m in data.draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3)):
        a, b = (rng.integers(-9, 9, shape).astype("int32") for shape in ((n, m), (m, n)))
        expected = _expected(which, a, b)
        result = np.full(expected.shape, 99, "int32")
        interpret(func, [a, b, result])
        np.testing.assert_array_equal(result, expected)
