"""Programs for Metal, compiled as C++ and run on the CPU: they compute what NumPy does."""

import numpy as np

import compiler as tvm
from compiler import relay
from tests.compiler.driver.gpu_programs import random_program
from tests.compiler.topi.gpu.operators import CASES
from tests.outside.metal import run_as_cpp

SEEDS = range(6)
OPERATORS = ("dense, one row", "softmax", "conv2d, 1x1", "sort")
"""Reductions by shuffles, several launches, vectors, and a sort."""


def _kernel(name):
    (kernel,) = relay.build(CASES[name].function(), "metal").get_lib().kernels.values()
    return kernel


def test_programs_agree_with_numpy(tmp_path):
    programs, kernels = [random_program(seed) for seed in SEEDS], [_kernel(name) for name in OPERATORS]
    of_programs = [tvm.build(program.schedule, program.args, "metal") for program in programs]
    of_kernels = [tvm.build(k.prim_func.with_attr("global_symbol", "main"), target="metal") for k in kernels]
    run_as_cpp([*of_programs, *of_kernels], tmp_path)
    for seed, program, module in zip(SEEDS, programs, of_programs, strict=True):
        arrays = [tvm.nd.array(array) for array in program.arrays(seed)]
        module(*arrays)
        expected = program.reference(*(array.numpy() for array in arrays[:-1]))
        np.testing.assert_allclose(arrays[-1].numpy(), expected, rtol=1e-5, err_msg=f"program {seed}")
    for name, kernel, module in zip(OPERATORS, kernels, of_kernels, strict=True):
        arrays, (output,) = CASES[name].arrays(), kernel.outputs
        result = tvm.nd.empty([int(extent) for extent in output.shape], output.dtype)
        module(*map(tvm.nd.array, arrays), result)
        np.testing.assert_allclose(result.numpy(), CASES[name].reference(*arrays), rtol=1e-4, atol=1e-4, err_msg=name)
