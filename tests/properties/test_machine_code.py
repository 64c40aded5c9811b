"""Machine code of randomly scheduled programs computes what NumPy computes."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.instrument import Instrument, instrumented
from compiler.te.definition.numpy_reference import evaluate
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import ForKind
from tests.compiler.tir.transform.programs import program
from tests.properties.guarded import Guarded, with_allocations_as_arguments, without_contents
from tests.properties.te_programs import Draw, assert_same, programs, values
from tests.properties.te_schedules import schedules

REFUSAL = "constant"
"""Of an axis to vectorize or unroll that is longer in some iterations."""
NESTED = "Nested parallel loop"
"""Of a stage that is computed in a parallel loop and has one."""
EXAMPLES = int(os.environ.get("STRATA_EXAMPLES", "20"))


@given(st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_scheduled_programs_run_as_numpy_does(data: st.DataObject) -> None:
    program = programs(data.draw)
    schedule = schedules(data.draw, program)
    note("\n".join(f"{p.stage} {p.label}" for p in schedule.primitives))
    outputs = list(program.outputs)
    results = [without_contents([int(d) for d in t.shape], t.dtype) for t in outputs]
    inputs = values(program)
    try:
        # Instrumented, so that the code carries locations, which must neither change it nor break it.
        with instrumented(Instrument()) if data.draw(st.booleans()) else nullcontext():
            arguments = run(
                lower(schedule, [*program.inputs, *outputs])["main"], [*inputs.values(), *results], data.draw
            )
    except TVMError as error:
        if REFUSAL in str(error) or NESTED in str(error):
            reject()
        raise
    for result, expected in zip(arguments[len(inputs) :], evaluate(outputs, inputs), strict=False):
        assert_same(result.array, expected)
    assert all(argument.intact for argument in arguments)


def run(func: PrimFunc, arrays: list[Any], draw: Draw, target: str = "llvm") -> list[Guarded]:
    """Run the code of a function between guards, its own memory among them unless threads have copies of it."""
    if not features(func).kinds & {ForKind.PARALLEL}:
        func, allocated = with_allocations_as_arguments(func)
        arrays = [*arrays, *allocated]
    arguments = [Guarded(array, draw(st.booleans())) for array in arrays]
    build(func, target=target)(*[argument.array for argument in arguments])
    return arguments


@pytest.mark.parametrize("at_end", [False, True])
def test_guards_notice_what_is_written_outside_of_an_allocation(at_end: bool) -> None:
    func = program(
        """
        B = T.allocate([4], "int32")
        B_1 = T.Buffer((4,), "int32", data=B)
        for i in range(n):
            B_1[i] = A[0] + i
        A[1] = B_1[2]
        """,
        params="A: T.Buffer((2,), 'int32'), n: T.int32",
    )
    hoisted, (allocated,) = with_allocations_as_arguments(func)
    for size, intact in ((4, True), (5, False)):
        a, b = Guarded(np.array([7, 0], "int32"), at_end), Guarded(allocated, at_end)
        build(hoisted, target="llvm")(a.array, size, b.array)
        assert a.array.tolist() == [7, 9]
        assert (a.intact, b.intact) == (True, intact)
