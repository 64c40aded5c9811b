"""Random programs for GPUs, run by WebGPU in a browser: they compute what NumPy does."""

import re

import numpy as np

import compiler as tvm
from compiler import te, tir
from compiler.driver.build import build
from compiler.ir.error import BuildError
from tests.compiler.driver.gpu_programs import random_program
from tests.compiler.driver.gpu_types import typed_program
from tests.outside.webgpu import recorded_launches, run_in_chromium

PROGRAMS = 40


def built_programs(count):
    """Return the first random programs that WGSL can say: it has no dynamic shared memory."""
    programs, refusals, seed = [], [], 0
    while len(programs) < count:
        program = random_program(seed) if seed % 5 else typed_program(seed, ("float32", "int32"), kernels=1)
        try:
            programs.append((seed, program, build(program.schedule, program.args, "webgpu")))
        except BuildError as error:
            refusals.append(str(error))
        seed += 1
    assert all(re.search(r"no memory of scope 'shared\.dyn'", text) for text in refusals), refusals
    return programs


def test_random_programs_agree_with_numpy():
    launches, expected = [], []
    for seed, program, built in built_programs(PROGRAMS):
        arrays = [tvm.nd.array(array) for array in program.arrays(seed)]
        launches += recorded_launches(built, arrays)
        expected.append((seed, arrays[-1], program.reference(*(array.numpy() for array in arrays[:-1]))))
    run_in_chromium(launches)
    for seed, result, reference in expected:
        np.testing.assert_allclose(result.numpy(), reference, rtol=1e-5, err_msg=f"program {seed}")


def test_functions_and_types_agree_with_llvm():
    values = np.linspace(0.25, 3, 64).astype("float32")
    cases = [
        (tir.exp, 1e-5), (tir.log, 1e-5), (tir.tanh, 1e-5), (tir.sigmoid, 1e-5), (tir.sqrt, 1e-5), (tir.rsqrt, 1e-5),
        (tir.erf, 1e-4), (tir.round, 0), (tir.nearbyint, 0), (tir.floor, 0), (tir.ceil, 0), (tir.log10, 1e-4),
        (tir.isnan, 0), (lambda x: tir.Select(x > 1.0, x, tir.const(float("inf"), "float32")), 0),
        (lambda x: (x * 10.0).astype("int32"), 0), (lambda x: tir.popcount((x * 100.0).astype("int32")), 0),
        (lambda x: tir.floordiv((x * 10.0).astype("int32") - 15, (x * 3.0).astype("int32") - 4), 0),
        (lambda x: tir.floormod((x * 10.0).astype("int32") - 15, (x * 3.0).astype("int32") - 4), 0),
        (lambda x: ((x * 10.0).astype("int32") << 2) ^ ((x * 10.0).astype("int32") >> 1), 0),
        (lambda x: tir.if_then_else(tir.any(x < 0.5, tir.all(x > 1.0, x < 2.0)), x * 2.0, -x), 0),
    ]  # fmt: skip
    launches, pairs = [], []
    for number, (function, tolerance) in enumerate(cases):
        A = te.placeholder((64,), name="A")
        B = te.compute((64,), _elementwise(function, A), name="B")
        results = []
        for target in ("llvm", "webgpu"):
            s = te.create_schedule(B.op)
            built = build(s if target == "llvm" else on_threads(s, B, 16), [A, B], target)
            arrays = [tvm.nd.array(values), tvm.nd.array(np.zeros(64, B.dtype))]
            results.append(arrays[1])
            if target == "llvm":
                built(*arrays)
            else:
                launches += recorded_launches(built, arrays)
        pairs.append((number, *results, tolerance))
    run_in_chromium(launches)
    for number, llvm, wgsl, tolerance in pairs:
        np.testing.assert_allclose(wgsl.numpy(), llvm.numpy(), rtol=tolerance, err_msg=f"case {number}")


def _elementwise(function, tensor):
    """Return what computes an element; truth values are numbers in memory."""

    def element(i):
        value = function(tensor[i])
        return value.astype("int32") if value.dtype == "bool" else value

    return element


def on_threads(s, tensor, threads):
    """Return a schedule in which the first axis of a stage is bound to blocks of so many threads."""
    block, thread = s[tensor].split(tensor.op.axis[0], factor=threads)
    s[tensor].bind(block, te.thread_axis("blockIdx.x"))
    s[tensor].bind(thread, te.thread_axis("threadIdx.x"))
    return s


def test_sizes_that_are_only_known_when_called_are_passed():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    built = build(on_threads(te.create_schedule(B.op), B, 32), [A, B], "webgpu")
    arrays = [tvm.nd.array(np.arange(100, dtype="float32")), tvm.nd.array(np.zeros(100, "float32"))]
    run_in_chromium(recorded_launches(built, arrays))
    np.testing.assert_array_equal(arrays[1].numpy(), np.arange(1, 101))
