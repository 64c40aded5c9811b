"""Runs functions on a CUDA device: memory, copies and launches in host order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from typing import Any, SupportsInt

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError, UnavailableError, expected
from compiler.runtime.arrays.ndarray import NDArray, numpy_dtype
from compiler.runtime.cuda.driver import CudaDriver, find_driver
from compiler.runtime.device import cuda
from compiler.runtime.modules.device_module import DeviceModule
from compiler.runtime.modules.function import Function
from compiler.runtime.modules.launches import Launches, NoLaunches
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import NativeCode
from compiler.runtime.modules.returned import Returned
from compiler.runtime.modules.signature import Signature
from compiler.runtime.numpy_types import NumPyArray

__all__ = ["CudaExecution", "CudaFunction", "launch_on_cuda"]


class CudaExecution:
    """A function on a CUDA device; call it with NumPy arrays, which are copied there and back.

    ``code`` is the kernels as a CUBIN, or as PTX that ends with a zero byte.
    """

    def __init__(self, plan: Launches, code: bytes, driver: CudaDriver, device: int = 0) -> None:
        self._plan = plan
        self._driver = driver
        self._device = device
        driver.enter(device)
        program = driver.load(code)
        self._kernels = {name: driver.kernel(program, name) for name in {launch.kernel for launch in plan.launches}}

    def __call__(self, *arrays: NumPyArray) -> None:
        """Run the function."""
        with self._on_device(arrays) as pointers:
            self._launch(pointers)
            self._driver.synchronize()

    def seconds(self, *arrays: NumPyArray, number: int = 10, repeat: int = 3) -> list[float]:
        """Return how long a call takes on the device, without copies, by its own events."""
        with self._on_device(arrays) as pointers:

            def calls() -> None:
                for _ in range(number):
                    self._launch(pointers)

            self._launch(pointers)
            return [self._driver.seconds(calls) / number for _ in range(repeat)]

    @contextmanager
    def _on_device(self, arrays: Sequence[NumPyArray]) -> Iterator[list[Any]]:
        """Lend memory of the device that holds the arguments; what is in it at the end is copied back."""
        self._check(arrays)
        driver, memories = self._driver, self._plan.memory
        driver.enter(self._device)
        with ExitStack() as stack:
            pointers = []
            for memory in memories:
                pointers.append(driver.allocate(memory.elements * dt.storage_bytes(memory.dtype)))
                stack.callback(driver.free, pointers[-1])
            lent = [(pointers[at], arrays[m.parameter]) for at, m in enumerate(memories) if m.parameter is not None]
            for pointer, array in lent:
                driver.upload(pointer, array)
            yield pointers
            for pointer, array in lent:
                driver.download(array, pointer)

    def _check(self, arrays: Sequence[NumPyArray]) -> None:
        parameters = [memory for memory in self._plan.memory if memory.parameter is not None]
        if len(arrays) != len(parameters):
            expected("cuda", "arrays", f"{len(parameters)} of them", len(arrays))
        for memory, array in zip(parameters, arrays, strict=True):
            fits = array.dtype == numpy_dtype(memory.dtype) and array.size == memory.elements
            if not fits or not array.flags.c_contiguous:
                told = f"{memory.elements} contiguous elements of {memory.dtype}"
                expected("cuda", memory.name, told, f"{array.size} of {array.dtype}")

    def _launch(self, pointers: Sequence[SupportsInt]) -> None:
        for launch in self._plan.launches:
            given = [pointers[position] for position in launch.memory]
            kernel = self._kernels[launch.kernel]
            shared = launch.dynamic_bytes
            self._driver.launch(kernel, launch.blocks, launch.threads, given, launch.numbers, shared)


class CudaFunction(Function):
    """A function of a host's module that runs on the first CUDA device; the host's own code is not called.

    ``execution`` returns the function on the device when this one is first called.
    """

    def __init__(self, module: Module, signature: Signature, execution: Callable[[], CudaExecution]) -> None:
        super().__init__(module, signature, _host_code)
        self._on_device = cache(execution)

    def prepare(self, args: tuple[object, ...]) -> Callable[[], Returned]:
        """Check arguments and return what runs the function on them."""
        self._binder.bind(args)
        execution = self._on_device()

        def run() -> None:
            # What the arguments hold is known only now: an executor prepares all calls before the first one runs.
            arrays = _contiguous(args)
            execution(*arrays)
            for arg, array in zip(args, arrays, strict=True):
                _write_back(arg, array)

        return run

    def device_seconds(self, args: tuple[object, ...], number: int, repeat: int) -> list[float]:
        """Return how long a call takes by the device's events."""
        self._binder.bind(args)
        return self._on_device().seconds(*_contiguous(args), number=number, repeat=repeat)


def _contiguous(args: tuple[object, ...]) -> list[NumPyArray]:
    return [np.ascontiguousarray(arg.view() if isinstance(arg, NDArray) else arg) for arg in args]


def _host_code() -> NativeCode:
    raise UnavailableError("cuda: the function runs on the device and cannot be called as host code")


def _write_back(arg: object, array: NumPyArray) -> None:
    if isinstance(arg, NDArray):
        arg.copyfrom(array)
    elif isinstance(arg, np.ndarray) and arg is not array:
        arg[...] = array


def launch_on_cuda(host: Module, kernels: DeviceModule) -> None:
    """Let the functions of a host's module that launch kernels run on the first CUDA device, if there is one."""
    if kernels.type_key != "cuda" or not cuda().exist:
        return
    for name, plan in kernels.launches().items():
        signature = host.get_function(name).signature
        host.replace_function(CudaFunction(host, signature, partial(_execution, plan, kernels)))


def _execution(plan: Launches | NoLaunches, kernels: DeviceModule) -> CudaExecution:
    if isinstance(plan, NoLaunches):
        raise LoweringError(plan.why)
    driver, device = find_driver(), cuda().device_id
    return CudaExecution(plan, kernels.machine_code(driver.architecture(device)), driver, device)
