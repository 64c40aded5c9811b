"""Whatever a schedule does, a program computes what NumPy says, and touches no element outside of a buffer.

The usual few examples are the same in every run; ``STRATA_EXAMPLES=5000 python -m pytest tests/properties --timeout 0``
looks at that many random ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from compiler.driver.lower import lower
from compiler.driver.templates import TensorTemplate
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm
from compiler.te.definition.numpy_reference import evaluate
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.interpreter import interpret
from compiler.tir.statements.function import PrimFunc
from tests.properties.te_programs import Program, assert_same, programs, values
from tests.properties.te_schedules import OUTSIDE, schedules

EXAMPLES = os.environ.get("STRATA_EXAMPLES")

REFUSALS = ("constant", OUTSIDE)
"""Of an axis to vectorize or unroll that is longer in some iterations, and of a prefix that misses the last step."""

relaxed = settings(
    max_examples=int(EXAMPLES or "20"),
    derandomize=EXAMPLES is None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def run(
    schedule: Schedule,
    program: Program,
    outputs: list[Any],
    lowering: Callable[..., PrimFunc] = schedule_to_prim_func,
    shown: Sequence[Any] = (),
) -> None:
    """Interpret the loops of a schedule and compare what they compute with NumPy.

    Tensors in ``shown`` are arguments as well, although they may be computed in part only, or inlined.
    """
    inputs = values(program)
    results = [np.full([int(d) for d in t.shape], 99, t.dtype) for t in (*outputs, *shown)]
    try:
        func = lowering(schedule, [*program.inputs, *outputs, *shown])
    except TVMError as error:
        if any(refusal in str(error) for refusal in REFUSALS):
            reject()
        raise
    note("\n".join(f"{p.stage} {p.label}" for p in schedule.primitives))
    note(str(func))
    interpret(func, [*inputs.values(), *results])
    for result, expected in zip(results, evaluate(program.outputs, inputs), strict=False):
        assert_same(result, expected)


@given(st.data())
@relaxed
def test_scheduled_programs_compute_what_numpy_computes(data: st.DataObject) -> None:
    program = programs(data.draw)
    note("\n".join(str(t.op) for t in program.computed))
    assert all(isinstance(d, IntImm) for t in program.computed for d in t.shape)
    schedule = schedules(data.draw, program)
    shown = [t for t in program.computed if t not in program.outputs and data.draw(st.integers(0, 3)) == 0]
    run(schedule, program, program.outputs, shown=shown)


@given(st.data())
@relaxed
def test_templates_with_other_factors_compute_what_numpy_computes(data: st.DataObject) -> None:
    program = programs(data.draw)
    note("\n".join(str(t.op) for t in program.computed))
    schedule = schedules(data.draw, program)
    args = [*program.inputs, *program.outputs]
    rng = data.draw(st.randoms(use_true_random=False))
    try:
        filled = TensorTemplate(schedule, args).filled(lambda name, options: rng.choice(options))
    except TVMError:  # a primitive that needs another extent
        reject()
    run(schedule, program, program.outputs, lambda *_: filled.loops()["main"])


@given(st.data())
@relaxed
def test_lowered_programs_compute_what_numpy_computes(data: st.DataObject) -> None:
    program = programs(data.draw)
    note("\n".join(str(t.op) for t in program.computed))
    schedule = schedules(data.draw, program)
    run(schedule, program, program.outputs, lambda *args: lower(*args)["main"])


@given(st.data())
@relaxed
def test_every_prefix_of_a_schedule_computes_the_same(data: st.DataObject) -> None:
    program = programs(data.draw, stages=2)
    schedule = schedules(data.draw, program, steps=4)
    count = data.draw(st.integers(0, len(schedule.primitives)))
    prefix, map_tensor = schedule.replay(count)
    assert [p.label for p in prefix.primitives] == [p.label for p in schedule.primitives[:count]]
    run(prefix, program, [map_tensor(t) for t in program.outputs])
