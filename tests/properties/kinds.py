"""The kinds of random programs, each with how one of them is made, compiled for a processor, run and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler import cpu
from compiler.classic.contrib import graph_executor
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.transform import PassContext
from compiler.relay import build as relay_build
from compiler.te.definition.numpy_reference import evaluate as evaluate_tensors
from tests.properties.block_programs import BlockProgram
from tests.properties.block_steps import scheduled
from tests.properties.graphs import evaluate, flat, random_inputs, random_module
from tests.properties.guarded import without_contents
from tests.properties.pass_times import PassTimes
from tests.properties.te_programs import assert_same, programs, values
from tests.properties.te_schedules import schedules
from tests.properties.test_machine_code import run
from tests.properties.test_tir_schedules import NOT_BUILT, results

Check = Callable[[int, str, PassTimes], None]
"""Makes the program of a seed, runs it on a processor, and raises what is wrong with it."""

CODE = "code generation"
_CHOICES = 1 << 15
"""Bytes that choices are drawn from; no program needs as many."""


class Refused(Exception):
    """The compiler says that it does not compile this program."""


@contextmanager
def refusing() -> Iterator[None]:
    """Tell errors that random schedules may well meet from those that they may not."""
    try:
        yield
    except TVMError as error:
        if any(reason in str(error) for reason in NOT_BUILT):
            raise Refused(str(error)) from None
        raise


def check_tensor_expressions(seed: int, mcpu: str, times: PassTimes) -> None:
    """Compare a scheduled program of tensor expressions with NumPy."""
    refused: list[Refused] = []

    @given(st.data())
    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    def case(data: st.DataObject) -> None:
        try:
            _tensor_expressions(data.draw, f"llvm -mcpu={mcpu}", times)
        except Refused as error:
            refused.append(error)

    if case.hypothesis.fuzz_one_input(Random(seed).randbytes(_CHOICES)) is None:
        raise AssertionError("the choices do not make a program")
    if refused:
        raise refused[0]


def _tensor_expressions(draw: Any, target: str, times: PassTimes) -> None:
    with times.section("choosing a schedule"):
        program = programs(draw)
        schedule = schedules(draw, program)
    outputs, inputs = list(program.outputs), values(program)
    found = [without_contents([int(d) for d in t.shape], t.dtype) for t in outputs]
    with refusing(), PassContext(instruments=[times]), times.section("schedule to loops"):
        func = lower(schedule, [*program.inputs, *outputs])["main"]
    with refusing(), PassContext(instruments=[times]), times.section(CODE):
        arguments = run(func, [*inputs.values(), *found], draw, target)
    for result, expected in zip(arguments[len(inputs) :], evaluate_tensors(outputs, inputs), strict=False):
        assert_same(result.array, expected)
    assert all(argument.intact for argument in arguments), "an element outside of a buffer was written"


def check_blocks(seed: int, mcpu: str, times: PassTimes) -> None:
    """Compare a scheduled function of blocks with what the interpreter makes of the function as it was."""
    with times.section("choosing a schedule"):
        program = BlockProgram(seed)
        sch, applied = scheduled(program.func, seed)
    arrays = program.arrays()
    with refusing(), PassContext(instruments=[times]), times.section(CODE):
        kernel = build(sch.mod["main"], target=f"llvm -mcpu={mcpu}")
    kernel(*arrays)
    for found, want in zip(arrays, results(program), strict=True):
        np.testing.assert_array_equal(found, want, f"{applied}\n{program.text()}\n{sch.mod}")


def check_graphs(seed: int, mcpu: str, times: PassTimes) -> None:
    """Compare a graph, optimised at a level from 0 to 4, with NumPy."""
    random = Random(seed)
    mod = random_module(random, random.randrange(1, 12), "float32")
    inputs = random_inputs(mod)
    with PassContext(opt_level=seed % 5, instruments=[times]), times.section(CODE):
        lib: Any = relay_build(mod, f"llvm -mcpu={mcpu}")
    module = graph_executor.GraphModule(lib["default"](cpu(0)))
    module.run(**{p.name_hint: a for p, a in zip(mod["main"].params, inputs, strict=True)})
    for at, want in enumerate(flat(evaluate(mod["main"], inputs))):
        near = 1e-3 * max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(module.get_output(at).numpy(), want, rtol=1e-3, atol=near)


KINDS: dict[str, Check] = {"te": check_tensor_expressions, "tir": check_blocks, "relay": check_graphs}
