"""Random schedules of programs with blocks compute what NumPy computes."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.classic.tir.schedule_testing import verify_trace_roundtrip
from compiler.driver.build import build
from compiler.driver.templates import BlockTemplate
from compiler.ir.error import BuildError, LoweringError, TVMError
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.tir.interpreter import interpret
from compiler.tir.schedule import Schedule, ScheduleDebugMask
from compiler.tir.script import from_source
from compiler.tir.statements.stmt import BufferStore, For, Stmt
from compiler.tir.statements.stmt_functor import pre_order_visit
from tests.compiler.tir.schedule.programs import PROGRAMS
from tests.properties.block_programs import BlockProgram
from tests.properties.block_steps import RandomSteps, scheduled
from tests.properties.races import RaceError, run_in_any_order
from tests.properties.test_machine_code import REFUSAL

STEPS = 8
SEEDS = range(8)
EXAMPLES = int(os.environ.get("STRATA_EXAMPLES", "40"))
COMPILED = 8
"""Of so many random programs one is compiled as well."""
ELEMENTS = 100_000
"""The elements that a program may write: each access is seen one by one, and copies within copies are millions."""
CALLS = 3
NOT_BUILT = ("Nested parallel loop", "would be written out as", REFUSAL)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_steps_keep_the_result(name: str, seed: int) -> None:
    program = PROGRAMS[name]
    sch: Any = Schedule(program.func, debug_mask=ScheduleDebugMask.VERIFY_SREF_TREE, seed=seed)
    steps = RandomSteps(sch, random.Random(f"{name} {seed}"))
    applied = [steps.step() for _ in range(STEPS)]
    try:
        program.check(sch, compiled=seed % 4 == 0)
    except AssertionError as error:
        raise AssertionError(f"{applied}\n{sch.trace}\n{sch.mod}") from error
    verify_trace_roundtrip(sch, program.func, text_format="json", debug_mask="none")
    with suppress(TVMError):  # of a step that needs the extents of before
        rng = random.Random(seed)
        filled = BlockTemplate(program.func, sch.trace).filled(lambda name, options: rng.choice(options))
        program.check(SimpleNamespace(mod=filled.loops()), compiled=False)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_steps_keep_the_result_of_a_random_program(seed: int) -> None:
    check_random_program(seed)


def check_random_program(seed: int) -> list[str]:
    """Check what a random program computes after random steps; return the names of the steps, empty where refused.

    A schedule that writes too many elements is not run.
    """
    program = BlockProgram(seed)
    compiled = seed % COMPILED == 0
    sch, applied = scheduled(program.func, seed, threads=not compiled)
    if written(sch.mod["main"].body) > ELEMENTS:
        return applied
    expected = results(program)
    actual = program.arrays()
    text = f"{applied}\n{program.text()}\n{sch.mod}"
    try:
        run_in_any_order(sch.mod["main"], actual, seed)
    except RaceError as error:
        raise AssertionError(f"{error}\n{text}") from error
    found = [actual, *(by_machine(program, sch.mod) if compiled else [])]
    for result, value in ((a, e) for arrays in found for a, e in zip(arrays, expected, strict=True)):
        np.testing.assert_array_equal(result, value, text)
    return applied


def written(body: Stmt) -> int:
    """Return how many elements a program writes, where its loops are of constant length, branches not regarded."""
    if isinstance(body, For):
        return int(body.extent) * written(body.body) if isinstance(body.extent, IntImm) else written(body.body)
    if isinstance(body, BufferStore):
        return 1
    count = 0

    def visit(node: Any) -> bool:
        nonlocal count
        if node is body or not isinstance(node, For | BufferStore):
            return True
        count += written(node)
        return False

    pre_order_visit(body, visit)
    return count


def results(program: BlockProgram) -> list[NDArray[Any]]:
    """Return what a program computes as it is."""
    arrays = program.arrays()
    interpret(program.func, arrays)
    return arrays


def by_machine(program: BlockProgram, mod: IRModule) -> Iterator[list[NDArray[Any]]]:
    """Yield what machine code computes on two threads, several times: races show in some of them.

    Nothing where threads are asked for by loops within each other, or a loop that is to be written out is not known to
    be of one length.
    """
    threads = num_threads()
    set_num_threads(2)
    try:
        try:
            kernel = build(mod, target="llvm")
        except (BuildError, LoweringError) as error:
            if not any(reason in str(error) for reason in NOT_BUILT):
                raise
            return
        for _ in range(CALLS):
            arrays = [array(values) for values in program.arrays()]
            kernel(*arrays)
            yield [values.numpy() for values in arrays]
    finally:
        set_num_threads(threads)


def test_what_a_program_writes_is_counted() -> None:
    assert written(from_source(RACE.format(loop="range(4)")).body) == 4 * 3 * 2


@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_iterations_that_run_together_do_not_access_the_same_element(kind: str) -> None:
    func = from_source(RACE.format(loop=f"T.{kind}(4)"))
    with pytest.raises(RaceError, match=f"of the {kind} loop i access element 0 of C"):
        run_in_any_order(func, [np.ones((4, 3), "float32"), np.zeros(1, "float32")])
    result = np.zeros(1, "float32")
    run_in_any_order(from_source(RACE.format(loop="range(4)")), [np.ones((4, 3), "float32"), result])
    assert result[0] == 12


def test_iterations_that_run_together_may_write_the_same_value() -> None:
    """A copy of an element that several iterations need is computed by each of them."""
    func = from_source(RACE.format(loop="T.parallel(1)").replace("for k in range(3)", "for k in T.parallel(1)"))
    run_in_any_order(func, [np.ones((4, 3), "float32"), np.zeros(1, "float32")])
    copies = from_source(COPIES)
    result = np.zeros(4, "float32")
    run_in_any_order(copies, [np.arange(5, dtype="float32"), result])
    np.testing.assert_array_equal(result, [1, 3, 5, 7])


RACE = """@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), C: T.Buffer((1,), "float32")):
    for i in {loop}:
        for k in range(3):
            with T.block("C"):
                vi, vk = T.axis.remap("RR", [i, k])
                with T.init():
                    C[0] = T.float32(0)
                C[0] = C[0] + A[vi, vk]
"""
COPIES = """@T.prim_func
def main(A: T.Buffer((5,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((5,), "float32")
    for i in T.parallel(4):
        for j in range(2):
            with T.block("B"):
                vi = T.axis.spatial(5, i + j)
                B[vi] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] + B[vi + 1]
"""
