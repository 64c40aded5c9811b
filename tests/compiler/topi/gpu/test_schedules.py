"""Schedules for GPUs: what kernels compute on the CPU, thread by thread, and how they are made."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te, topi
from compiler.classic.relay.emulate import emulate_graph
from compiler.driver.emulate import emulate
from compiler.runtime.graph.graph_module import GraphModule
from compiler.target import Target
from compiler.target.cuda_tools import compile_cuda, missing_tools
from compiler.tir.warp_access import explain_kernels
from compiler.topi.schedules.gpu import schedule_group
from tests.compiler.topi.gpu.operators import CASES

KINDS = ("cuda", "webgpu", "opencl", "metal")


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_kernels_compute_what_numpy_does(name: str) -> None:
    case, kind = CASES[name], KINDS[list(CASES).index(name) % len(KINDS)]
    arrays = case.arrays()
    executor = GraphModule(emulate_graph(case.function(), kind)["default"](tvm.cpu(0)))
    executor.run(**{f"x{i}": array for i, array in enumerate(arrays)})
    expected = case.reference(*arrays)
    np.testing.assert_allclose(executor.get_output(0).numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_each_language_has_a_program(kind: str) -> None:
    for name in ("dense, tails", "conv2d", "softmax", "sum of rows"):
        (kernels,) = relay.build(CASES[name].function(), kind).get_lib().imported_modules
        assert kernels.type_key == kind
        assert "tvmgen_default_fused" in kernels.get_source()


def test_tiles_are_in_shared_memory_and_sums_in_registers() -> None:
    source = relay.build(CASES["dense, several blocks"].function(), "cuda").get_lib().imported_modules[0].get_source()
    assert source.count("__shared__") == 2
    assert source.count("__global__") == 1, "the relu is part of the kernel"
    assert "__syncthreads()" in source


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("conv2d", 8),
        ("conv2d, groups of many channels", 8),
        ("conv1d", 8),
        ("conv3d", 8),
        ("depthwise, several rows of blocks", 2),
        ("depthwise, channels last", 2),
    ],
)
def test_neighbouring_threads_access_neighbouring_memory(name: str, most: float) -> None:
    """Warps touch few sectors more than they must, and a kernel moves its arguments a few times at most."""
    (device,) = relay.build(CASES[name].function(), "cuda").get_lib().imported_modules
    for kernel in explain_kernels(device.kernels):
        assert kernel.moved <= most * kernel.least
        for access in kernel.accesses:
            if access.scope == "global" and access.sectors is not None:
                assert access.sectors <= 2 * access.least_sectors, access.buffer


def test_windows_with_holes_are_fetched_once() -> None:
    """Of a transposed convolution, whose blocks have the tiles in shared memory that those of a convolution have."""
    x, w = relay.var("x", shape=(1, 8, 24, 24)), relay.var("w", shape=(8, 8, 3, 3))
    transposed = relay.nn.conv2d_transpose(x, w, strides=2, padding=1)
    (device,) = relay.build(relay.Function([x, w], transposed), "cuda").get_lib().imported_modules
    (kernel,) = explain_kernels(device.kernels)
    assert {access.scope for access in kernel.accesses} == {"global", "shared"}, "sums are in registers"
    assert kernel.moved <= 5 * kernel.least


@pytest.mark.skipif(bool(missing_tools()), reason=missing_tools() or "none")
def test_sums_stay_in_registers() -> None:
    """Of a convolution of groups of channels with 4 x 4 elements a thread, and of one of single channels."""
    x, shapes = relay.var("x", shape=(1, 64, 28, 28)), ((256, 16, 3, 3), (64, 1, 3, 3))
    weights = [relay.var(f"w{i}", shape=shape) for i, shape in enumerate(shapes)]
    parts = [relay.nn.conv2d(x, w, padding=1, groups=64 // w.type_annotation.shape[1]) for w in weights]
    function = relay.Function([x, *weights], relay.Tuple(parts))
    report = compile_cuda(relay.build(function, "cuda").get_lib().imported_modules[0].get_source())
    assert len(report.kernels) == 2
    for kernel in report.kernels:
        used = kernel.resources
        assert (used.stack_bytes, used.spill_store_bytes, used.spill_load_bytes) == (0, 0, 0)


def test_one_row_is_summed_across_threads() -> None:
    source = relay.build(CASES["dense, one row"].function(), "cuda").get_lib().imported_modules[0].get_source()
    assert "__shfl_down_sync" in source


def test_large_windows_fit_into_the_shared_memory_of_a_target() -> None:
    """The window of 11 x 11 takes more of it than a WebGPU device has with four channels a thread."""
    function = CASES["conv2d, large window"].function()
    (small, large) = (
        relay.build(function, kind).get_lib().imported_modules[0].get_source() for kind in ("webgpu", "cuda")
    )
    assert "var<workgroup>" in small
    assert "__shared__" in large


def test_more_elements_than_threads_are_launched() -> None:
    """Threads take turns where blocks along an axis are not enough."""
    x = te.placeholder((1 << 12, 1 << 13), dtype="int8", name="x")
    y = topi.add(x, tvm.tir.const(1, "int8"))
    with Target("cuda") as target:
        schedule = schedule_group([y], target)
    func = emulate(schedule, [x, y], target)
    given, result = (
        np.arange(1 << 25, dtype="uint32").astype("int8").reshape(1 << 12, 1 << 13),
        np.zeros((1 << 12, 1 << 13), "int8"),
    )
    func(given, result)
    np.testing.assert_array_equal(result, given + np.int8(1))


def test_extents_that_are_known_at_run_time() -> None:
    n = te.var("n")
    x = te.placeholder((n, 64), name="x")
    y = topi.sum(topi.exp(x), 1)
    with Target("cuda") as target:
        schedule = schedule_group([y], target)
    given, result = np.random.default_rng(0).random((37, 64), "float32"), np.zeros(37, "float32")
    emulate(schedule, [x, y], target)(given, result)
    np.testing.assert_allclose(result, np.exp(given).sum(1), rtol=1e-5)
