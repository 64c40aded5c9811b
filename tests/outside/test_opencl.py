"""Random programs for GPUs, run by OpenCL on the CPU: they compute what NumPy does."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.driver.build import build
from compiler.ir.expr.primexpr import Var
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.topi.device import rows
from tests.compiler.driver.gpu_programs import random_program
from tests.compiler.driver.gpu_types import typed_program
from tests.compiler.topi.gpu.operators import CASES
from tests.compiler.topi.gpu.sorting import DTYPES, program
from tests.outside.opencl import context_and_queue, lacks_a_type, launch_through_opencl

PROGRAMS = 200
ONE_KERNEL = [name for name in CASES if name not in ("variance", "layer_norm")]


@pytest.fixture(scope="module", autouse=True)
def device():
    return context_and_queue()


@pytest.mark.parametrize(
    "first", [first if first == 20 else pytest.param(first, marks=pytest.mark.long) for first in range(0, PROGRAMS, 10)]
)
def test_random_programs_agree_with_numpy(first):
    for seed in range(first, first + 10):
        program = random_program(seed) if seed % 5 else typed_program(seed, kernels=1)
        built = build(program.schedule, program.args, "opencl")
        if lacks_a_type(built):
            continue
        arrays = [tvm.nd.array(array) for array in program.arrays(seed)]
        launch_through_opencl(built, arrays)
        built(*arrays)
        expected = program.reference(*(array.numpy() for array in arrays[:-1]))
        np.testing.assert_allclose(arrays[-1].numpy(), expected, rtol=1e-5, err_msg=f"program {seed}")


class HoistedMemory(StmtMutator):
    """Makes arguments of the memory that lies between the launches of a function."""

    def __init__(self, func):
        self.params, self.buffers, self.arrays = [*func.params], dict(func.buffer_map), []

    def visit_Allocate(self, n):
        if n.buffer_var.type_annotation.storage_scope not in ("", "global"):
            return n
        shape = [int(extent) for extent in n.extents]
        self.params.append(Var(f"{n.buffer_var.name}_handle", "handle"))
        self.buffers[self.params[-1]] = decl_buffer(shape, n.dtype, n.buffer_var.name, data=n.buffer_var)
        self.arrays.append(tvm.nd.empty(shape, n.dtype))
        return self.visit(n.body)


def built_with_memory(func):
    """Build a function that takes the memory between its launches as its last arguments; return these arrays too."""
    hoisted = HoistedMemory(func)
    body = hoisted.visit(func.body)
    made = PrimFunc(hoisted.params, body, buffer_map=hoisted.buffers, attrs=func.attrs)
    return build(made.with_attr("global_symbol", "main"), target="opencl"), hoisted.arrays


# Every fourth one always: those of the emulation are the same, and all run there.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (place % 4 > 0)) for place, name in enumerate(ONE_KERNEL)]
)
def test_operators_agree_with_numpy(name):
    """Schedules of ``topi.cuda``."""
    case = CASES[name]
    [kernel] = relay.build(case.function(), "opencl").get_lib().kernels.values()
    built, memory = built_with_memory(kernel.prim_func)
    arrays = [tvm.nd.array(array) for array in case.arrays()]
    result = tvm.nd.empty([int(extent) for extent in kernel.outputs[0].shape], kernel.outputs[0].dtype)
    launch_through_opencl(built, [*arrays, result, *memory])
    built(*arrays, result, *memory)
    expected = case.reference(*(array.numpy() for array in arrays))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_sorts_and_scans_of_several_launches_agree_with_numpy(monkeypatch):
    monkeypatch.setattr(rows, "_THREADS", 8)
    for seed in range(3):
        made = program("opencl", seed, dtypes=tuple(each for each in DTYPES if each != "float16"))
        built, memory = built_with_memory(tvm.lower(made.schedule, made.args)["main"])
        arrays = [*(tvm.nd.array(array) for array in made.arrays()), *memory]
        launch_through_opencl(built, arrays)
        built(*arrays)
        for result, expected in zip(arrays[len(made.inputs) :], made.expected, strict=False):
            np.testing.assert_array_equal(result.numpy(), expected, err_msg=f"program {seed}")
