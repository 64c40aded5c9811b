"""Machine code of randomly scheduled programs computes what NumPy computes."""

from __future__ import annotations

import os
from contextlib import nullcontext

import numpy as np
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from compiler.driver.build import build
from compiler.ir.error import TVMError
from compiler.ir.instrument import Instrument, instrumented
from compiler.runtime.ndarray import array
from compiler.te.numpy_reference import evaluate
from tests.properties.te_programs import programs
from tests.properties.te_schedules import schedules

EXAMPLES = int(os.environ.get("STRATA_EXAMPLES", "40"))


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
    rng = np.random.default_rng(0)
    inputs = {t: rng.integers(-9, 9, [int(d) for d in t.shape]).astype(t.dtype) for t in program.inputs}
    outputs = list(program.outputs)
    results = [array(np.full([int(d) for d in t.shape], 99, t.dtype)) for t in outputs]
    try:
        # Instrumented, so that the code carries locations, which must neither change it nor break it.
        with instrumented(Instrument()) if data.draw(st.booleans()) else nullcontext():
            function = build(schedule, [*program.inputs, *outputs], target="llvm")
    except TVMError as error:
        if "constant" in str(error):
            reject()  # an axis to vectorize or unroll turned out longer in some iterations than in others
        raise
    function(*(array(a) for a in inputs.values()), *results)
    for result, expected in zip(results, evaluate(outputs, inputs), strict=True):
        np.testing.assert_array_equal(result.numpy(), expected)
