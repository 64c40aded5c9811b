"""Random programs for GPUs, run by OpenCL on the CPU: they compute what NumPy does."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.driver.build import build
from tests.compiler.driver.gpu_programs import random_program
from tests.compiler.topi.gpu.operators import CASES
from tests.outside.opencl import context_and_queue, launch_through_opencl

PROGRAMS = 200


@pytest.fixture(scope="module", autouse=True)
def device():
    return context_and_queue()


@pytest.mark.parametrize("first", range(0, PROGRAMS, 20))
def test_random_programs_agree_with_numpy(first):
    for seed in range(first, first + 20):
        program = random_program(seed)
        built = build(program.schedule, program.args, "opencl")
        arrays = [tvm.nd.array(array) for array in program.arrays(seed)]
        launch_through_opencl(built, arrays)
        built(*arrays)
        expected = program.reference(*(array.numpy() for array in arrays[:-1]))
        np.testing.assert_allclose(arrays[-1].numpy(), expected, rtol=1e-5, err_msg=f"program {seed}")


@pytest.mark.parametrize("name", CASES)
def test_operators_agree_with_numpy(name):
    """Schedules of ``topi.cuda``; groups of several launches keep what is in between in memory of the host."""
    case = CASES[name]
    lib = relay.build(case.function(), "opencl").get_lib()
    if sum(len(module.kernels.functions) for module in lib.imported_modules) > 1:
        pytest.skip("a group of several launches")
    (kernel,) = lib.kernels.values()
    arrays = [tvm.nd.array(array) for array in case.arrays()]
    result = tvm.nd.empty([int(extent) for extent in kernel.outputs[0].shape], kernel.outputs[0].dtype)
    launch_through_opencl(lib, [*arrays, result])
    lib[kernel.name](*arrays, result)
    expected = case.reference(*(array.numpy() for array in arrays))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-4)
