"""Where ``cuda.bindings.driver`` would be: a recording of its functions' calls, with memory."""

import ctypes
from types import SimpleNamespace

import numpy as np

from compiler.driver.build import build
from compiler.ir.expr.primexpr import Var
from compiler.runtime.cuda import driver as cuda_driver
from compiler.runtime.cuda.driver import CudaDriver
from compiler.tir.analysis.thread_axes import thread_axes
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.threads.emulate_threads import EmulateThreads

ATTRIBUTES = {
    "MULTIPROCESSOR_COUNT": 132,
    "WARP_SIZE": 32,
    "MAX_THREADS_PER_BLOCK": 1024,
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "L2_CACHE_SIZE": 50 << 20,
}


class RecordingApi:
    """Stands where ``cuda.bindings.driver`` does: notes each call, and has memory, but computes nothing."""

    CUdevice_attribute = SimpleNamespace(**{f"CU_DEVICE_ATTRIBUTE_{name}": name for name in ATTRIBUTES})

    def __init__(self, **failing):
        self.calls = []
        self.attributes = dict(ATTRIBUTES)
        self.failing = failing
        self.memory = {}
        self.results = {
            "cuDeviceGetCount": lambda: 1,
            "cuDeviceGet": lambda number: number,
            "cuDeviceGetName": lambda *_: b"a GPU\0\0  \0 ",
            "cuDeviceGetAttribute": lambda which, _: self.attributes[which],
            "cuDeviceTotalMem": lambda _: 80 << 30,
            "cuMemGetInfo": lambda: (60 << 30, 80 << 30),
            "cuDriverGetVersion": lambda: 12040,
            "cuGetErrorString": lambda _: b"out of memory",
            "cuDevicePrimaryCtxRetain": lambda _: "context",
            "cuModuleLoadData": lambda _: "program",
            "cuModuleGetFunction": lambda _, name: name,
            "cuMemAlloc": self.allocate,
            "cuMemcpyHtoD": lambda to, start, size: ctypes.memmove(self.memory[to], start, size),
            "cuMemcpyDtoH": lambda to, start, size: ctypes.memmove(to, self.memory[start], size),
            "cuEventCreate": lambda _: object(),
            "cuEventElapsedTime": lambda *_: 5.0,
        }

    def allocate(self, size):
        pointer = 4096 * (1 + len(self.memory))
        self.memory[pointer] = ctypes.create_string_buffer(size)
        return pointer

    def __getattr__(self, name):
        def call(*args):
            self.calls.append((name, *args))
            if name in self.failing:
                return (self.failing[name],)
            result = self.results.get(name, lambda *_: None)(*args)
            return (0, *result) if isinstance(result, tuple) else (0, result)

        return call

    @property
    def names(self):
        return [name for name, *_ in self.calls]

    @property
    def launches(self):
        return [call[1:] for call in self.calls if call[0] == "cuLaunchKernel"]


def install(monkeypatch, api):
    """Let the runtime find a driver, and with it a device."""
    driver = CudaDriver(api)
    monkeypatch.setattr(cuda_driver, "_search", lambda: driver)
    return api


class EmulatingApi(RecordingApi):
    """Runs each kernel that is launched: its loop IR, emulated on the CPU, on the memory that the driver lent.

    Parameters
    ----------
    kernels : IRModule
        What the program was compiled from.
    """

    def __init__(self, kernels):
        super().__init__()
        self.results["cuLaunchKernel"] = self.run
        self._functions = {var.name_hint: _emulated(kernel) for var, kernel in kernels.functions.items()}

    def run(self, kernel, *rest):
        (*grid,), (values, _) = rest[:6], rest[8]
        function, dtypes, extents = self._functions[kernel.decode()]
        assert grid == extents
        arrays = [np.frombuffer(self.memory[value], dtype) for value, dtype in zip(values, dtypes, strict=False)]
        function(*arrays, *values[len(dtypes) :])


def _emulated(kernel):
    """Return a kernel for this machine's CPU, the data types of what its pointers lead to, and its grid."""
    launched = {axis.tag: axis.extent.value for axis in thread_axes(kernel.body).values()}
    extents = [launched.get(f"{of}.{along}", 1) for of in ("blockIdx", "threadIdx") for along in "xyz"]
    pointers = [param for param in kernel.params if param.dtype == "handle"]
    dtypes = [str(pointer.type_annotation.element_type.dtype) for pointer in pointers]
    buffers = [
        decl_buffer((Var(f"size_{pointer.name}", "int32"),), dtype, pointer.name, pointer)
        for pointer, dtype in zip(pointers, dtypes, strict=True)
    ]
    emulated = EmulateThreads().rewrite(kernel)
    function = PrimFunc([*buffers, *kernel.params[len(pointers) :]], emulated.body)
    return build(function, target="llvm"), dtypes, extents
