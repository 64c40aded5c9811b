"""The launcher for CUDA devices: the order and the arguments of the driver's calls.  No GPU runs anything here."""

import ctypes
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.ir.error import ArgumentError, TVMError, UnavailableError
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.cuda.driver import find_driver, why_no_driver
from compiler.runtime.cuda.execution import CudaExecution, CudaProgram
from compiler.runtime.device import cuda
from compiler.runtime.modules.launches import DeviceMemory, Launch, Launches
from compiler.target.target import Target
from tests.compiler.runtime.recorded_driver import EmulatingApi, RecordingApi, install


@pytest.fixture
def api(monkeypatch):
    return install(monkeypatch, RecordingApi())


PLAN = Launches(
    [DeviceMemory("A", "float32", 8, 0), DeviceMemory("B", "float32", 8, 1), DeviceMemory("T", "float16", 100)],
    [
        Launch("first", (0, 2), (("int32", 7),), (2, 1, 1), (4, 1, 1), 0),
        Launch("second", (2, 1), (("float32", 0.5), ("int64", 3)), (1, 2, 3), (4, 5, 6), 64),
    ],
)


def execution(written=(1,)):
    return CudaExecution(PLAN, CudaProgram(b"code", find_driver()), written)


def test_memory_is_lent_kernels_are_launched_in_order_and_results_come_back(api):
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    execution()(a, b)
    first = api.names.index("cuMemAlloc")
    assert api.names[first:] == [
        *["cuMemAlloc"] * 3, *["cuMemcpyHtoD"] * 2, *["cuLaunchKernel"] * 2, "cuCtxSynchronize", "cuMemcpyDtoH",
        *["cuMemFree"] * 3,
    ]  # fmt: skip
    pointers = list(api.memory)
    assert [call[1] for call in api.calls if call[0] == "cuMemAlloc"] == [32, 32, 200]
    assert sorted(call[1] for call in api.calls if call[0] == "cuMemFree") == pointers
    one, two = [call[1:] for call in api.calls if call[0] == "cuLaunchKernel"]
    assert one == (
        b"first", 2, 1, 1, 4, 1, 1, 0, 0,
        ((pointers[0], pointers[2], 7), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)), 0,
    )  # fmt: skip
    assert two[1:7] == (1, 2, 3, 4, 5, 6)
    assert two[9] == ((pointers[2], pointers[1], 0.5, 3), (*[ctypes.c_void_p] * 2, ctypes.c_float, ctypes.c_int64))
    np.testing.assert_array_equal(a, np.arange(8))


def test_events_time_the_launches_and_not_the_copies(api):
    a, b = np.zeros(8, "float32"), np.zeros(8, "float32")
    seconds = execution().seconds(a, b, number=4, repeat=2)
    assert seconds == [5e-3 / 4] * 2
    begin, end = [position for position, name in enumerate(api.names) if name == "cuEventRecord"][:2]
    assert set(api.names[begin + 1 : end]) == {"cuLaunchKernel"}
    assert len(api.names[begin + 1 : end]) == 4 * 2
    assert api.names.count("cuEventDestroy") == api.names.count("cuEventCreate") == 4


def test_memory_is_given_back_after_a_failure(api):
    run = execution()
    api.failing["cuLaunchKernel"] = 2
    with pytest.raises(TVMError, match="cuLaunchKernel: out of memory"):
        run(np.zeros(8, "float32"), np.zeros(8, "float32"))
    assert api.names.count("cuMemFree") == 3


@pytest.mark.parametrize("wrong", [np.zeros(7, "float32"), np.zeros(8, "float64"), np.zeros(16, "float32")[::2]])
def test_arguments_that_do_not_fit_are_refused_before_anything_is_copied(api, wrong):
    with pytest.raises(ArgumentError, match="8 contiguous elements of float32"):
        execution()(np.zeros(8, "float32"), wrong)
    assert "cuMemAlloc" not in api.names


def test_a_device_says_what_it_is(api):
    dev = cuda(0)
    assert dev.exist
    assert not cuda(1).exist
    assert (dev.device_name, dev.compute_version, dev.warp_size, dev.multi_processor_count) == ("a GPU", "9.0", 32, 132)
    assert dev.max_threads_per_block == 1024
    assert (dev.max_thread_dimensions, dev.l2_cache_size_bytes) == ([1024, 1024, 64], 50 << 20)
    assert (dev.total_global_memory, dev.available_global_memory) == (80 << 30, 60 << 30)
    assert dev.api_version == 12040
    assert Target.from_device(dev).arch == "sm_90"


def doubled():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    return s, [A, B]


def test_a_built_function_is_launched_with_its_grid(api):
    module = build(*doubled(), target="cuda", name="double")
    a, b = array(np.ones(64, "float32")), array(np.zeros(64, "float32"))
    module(a, b)
    [launch] = [call for call in api.calls if call[0] == "cuLaunchKernel"]
    assert launch[1] == b"double_kernel"
    assert launch[2:8] == (2, 1, 1, 32, 1, 1)
    [code] = [call[1] for call in api.calls if call[0] == "cuModuleLoadData"]
    assert code.startswith(b"\x7fELF") or code.endswith(b"\0")  # NVRTC's machine code, else LLVM's PTX
    times = module.time_evaluator("double", cuda(0), number=2, repeat=3)(a, b)
    assert times.results == [2.5e-3] * 3


def scaled(n, *further):
    A = te.placeholder((n,), name="A")
    factor = further[0] if further else 2.0
    B = te.compute((n,), lambda i: A[i] * factor, name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    return s, [A, *further, B]


def test_only_what_kernels_write_is_copied_back(api):
    build(*scaled(64), target="cuda")(np.ones(64, "float32"), np.zeros(64, "float32"))
    assert (api.names.count("cuMemcpyHtoD"), api.names.count("cuMemcpyDtoH")) == (2, 1)


def test_the_launches_of_a_call_follow_from_its_sizes(api):
    module = build(*scaled(te.var("n")), target="cuda")
    for n in (70, 64, 70, 0):
        module(np.ones(n, "float32"), np.zeros(n, "float32"))
    assert [launch[1:7] for launch in api.launches] == [(blocks, 1, 1, 32, 1, 1) for blocks in (3, 2, 3)]
    assert [launch[9][0][2:] for launch in api.launches] == [(70,), (64,), (70,)]
    assert [call[1] for call in api.calls if call[0] == "cuMemAlloc"] == [280] * 2 + [256] * 2 + [280] * 2 + [1] * 2
    assert api.names.count("cuModuleLoadData") == 1


def test_kernels_are_given_the_numbers_of_a_call(api):
    build(*scaled(64, te.var("x", "float32")), target="cuda")(np.ones(64, "float32"), 1.5, np.zeros(64, "float32"))
    [launch] = api.launches
    assert launch[9][0][2:] == (1.5,)
    assert launch[9][1][2:] == (ctypes.c_float,)


def test_results_without_dimensions_come_back(monkeypatch):
    A = te.placeholder((64,), name="A")
    k = te.reduce_axis((0, 64), name="k")
    B = te.compute((), lambda: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    install(monkeypatch, EmulatingApi(build(s, [A, B], "cuda").imported_modules[0].kernels))
    result = array(np.zeros((), "float32"))
    build(s, [A, B], "cuda")(array(np.arange(64, dtype="float32")), result)
    assert result.numpy() == 64 * 63 / 2


def test_bits_are_copied_of_types_that_machine_code_lacks(monkeypatch):
    A = te.placeholder((64,), "bfloat16", name="A")
    B = te.compute((64,), lambda i: A[i] + A[i], name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    install(monkeypatch, EmulatingApi(build(s, [A, B], "cuda").imported_modules[0].kernels))
    numbers = np.arange(64).astype(ml_dtypes.bfloat16)
    result = np.zeros(64, ml_dtypes.bfloat16)
    build(s, [A, B], "cuda")(numbers, result)
    np.testing.assert_array_equal(result.astype("float32"), 2 * np.arange(64))


@pytest.mark.parametrize("elements", [1 << 8, 1 << 14])
def test_dynamic_shared_memory_is_part_of_the_launch(api, elements):
    """Beyond 48 KiB a kernel has to ask for it before."""
    api.CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="dynamic")
    A = te.placeholder((2, elements), name="A")
    B = te.compute((2, elements), lambda i, j: A[i, elements - 1 - j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    shared = s.cache_read(A, "shared.dyn", [B])
    tx = te.thread_axis((0, 64), "threadIdx.x")
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(s[B].split(B.op.axis[1], 64)[1], tx)
    s[shared].compute_at(s[B], B.op.axis[0])
    s[shared].bind(s[shared].split(s[shared].op.axis[1], 64)[1], tx)
    target = "cuda -max_shared_memory_per_block=131072"
    build(s, [A, B], target)(*(array(np.zeros((2, elements), "float32")) for _ in range(2)))
    bytes_ = elements * 4
    [launch] = [call for call in api.calls if call[0] == "cuLaunchKernel"]
    assert launch[2:9] == (2, 1, 1, 64, 1, 1, bytes_)
    asked = [call[2:] for call in api.calls if call[0] == "cuFuncSetAttribute"]
    assert asked == ([("dynamic", bytes_)] if bytes_ > 48 << 10 else [])


@pytest.mark.skipif(not why_no_driver(), reason="this machine has a GPU")
def test_a_device_that_is_absent_explains_itself():
    assert not cuda(0).exist
    assert cuda(0).compute_version is None
    assert cuda(0).device_name is None
    assert cuda(0).max_thread_dimensions is None
    assert (cuda(0).total_global_memory, cuda(0).available_global_memory, cuda(0).api_version) == (None, None, None)
    reason = "cuda-bindings|NVIDIA's driver"
    with pytest.raises(UnavailableError, match=reason):
        find_driver()
    with pytest.raises(ArgumentError, match=reason):
        cuda(0).require("nd.array")
    arrays = [array(np.zeros(64, "float32")) for _ in range(2)]
    with pytest.raises(UnavailableError, match=reason):
        build(*doubled(), target="cuda")(*arrays)
