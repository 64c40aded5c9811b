"""Random schedules of programs with blocks compute what NumPy computes."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.driver.build import build
from compiler.runtime.ndarray import array
from compiler.tir.function import PrimFunc
from compiler.tir.interpreter import UninitializedRead, interpret
from compiler.tir.schedule import Schedule, ScheduleDebugMask
from compiler.tir.schedule.testing import verify_trace_roundtrip
from tests.compiler.tir.schedule.programs import PROGRAMS
from tests.properties.block_programs import BlockProgram
from tests.properties.block_steps import RandomSteps

STEPS = 8
SEEDS = range(8)
EXAMPLES = int(os.environ.get("STRATA_EXAMPLES", "40"))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_steps_keep_the_result(name: str, seed: int) -> None:
    program = PROGRAMS[name]
    sch: Any = Schedule(program.func, debug_mask=ScheduleDebugMask.VERIFY_SREF_TREE, seed=seed)
    steps = RandomSteps(sch, random.Random(f"{name} {seed}"))
    applied = [steps.step() for _ in range(STEPS)]
    assert sch.trace is not None
    try:
        program.check(sch, compiled=seed % 4 == 0)
    except AssertionError as error:
        raise AssertionError(f"{applied}\n{sch.trace}\n{sch.mod}") from error
    verify_trace_roundtrip(sch, program.func, text_format="json", debug_mask="none")


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_steps_keep_the_result_of_a_random_program(seed: int) -> None:
    program = BlockProgram(seed)
    sch: Any = Schedule(program.func, debug_mask=ScheduleDebugMask.VERIFY_SREF_TREE, seed=seed)
    steps = RandomSteps(sch, random.Random(seed))
    applied = [steps.step() for _ in range(3 * STEPS)]
    expected = results(program, program.func)
    for result, value in zip(results(program, sch.mod["main"]), expected, strict=True):
        np.testing.assert_array_equal(result, value, f"{applied}\n{program.text()}\n{sch.mod}")


def results(program: BlockProgram, func: PrimFunc) -> list[NDArray[Any]]:
    """Return what a function computes, interpreted; as machine code where copies hold elements that nobody needs."""
    arrays = program.arrays()
    try:
        interpret(func, arrays)
    except UninitializedRead:
        compiled = [array(values) for values in program.arrays()]
        build(func, target="llvm")(*compiled)
        return [values.numpy() for values in compiled]
    return arrays
