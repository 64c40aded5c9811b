"""Runs functions on a CUDA device: memory, copies and launches in host order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache, partial
from typing import Any, SupportsInt

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError, UnavailableError, expected
from compiler.runtime.arrays.arguments import STORED
from compiler.runtime.arrays.dltensor import viewed_array
from compiler.runtime.arrays.ndarray import NDArray, numpy_dtype
from compiler.runtime.cuda.driver import CudaDriver, find_driver
from compiler.runtime.device import cuda
from compiler.runtime.modules.device_module import DeviceModule
from compiler.runtime.modules.function import Function
from compiler.runtime.modules.launches import Launches, NoLaunches, OpenLaunches
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import NativeCode
from compiler.runtime.modules.returned import Returned
from compiler.runtime.modules.signature import Signature
from compiler.runtime.numpy_types import NumPyArray

Sizes = tuple[tuple[int, ...] | float, ...]
"""The shape of each array of a call, and each number as it is."""
_MAX_PLANS = 32
"""How many launches of a function are kept, by the sizes of its calls."""


class CudaProgram:
    """Kernels on a CUDA device, loaded from a CUBIN, or from PTX that ends with a zero byte."""

    def __init__(self, code: bytes, driver: CudaDriver, device: int = 0) -> None:
        self.driver = driver
        self.device = device
        driver.enter(device)
        self._program = driver.load(code)
        self.kernel = cache(self._kernel)

    def _kernel(self, name: str) -> object:
        return self.driver.kernel(self._program, name)


class CudaExecution:
    """A function on a CUDA device; call it with NumPy arrays, which are copied there and back.

    ``written`` are the positions, in the plan's memory, of what its kernels write; only that is copied back.
    """

    def __init__(self, plan: Launches, program: CudaProgram, written: Collection[int]) -> None:
        self._plan = plan
        self._driver = program.driver
        self._device = program.device
        self._written = written
        self._kernels = {launch.kernel: program.kernel(launch.kernel) for launch in plan.launches}

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
            lent = [(at, arrays[m.parameter]) for at, m in enumerate(memories) if m.parameter is not None]
            for at, array in lent:
                driver.upload(pointers[at], array)
            yield pointers
            for at, array in lent:
                if at in self._written:
                    driver.download(array, pointers[at])

    def _check(self, arrays: Sequence[NumPyArray]) -> None:
        parameters = [memory for memory in self._plan.memory if memory.parameter is not None]
        if len(arrays) != len(parameters):
            expected("cuda", "arrays", f"{len(parameters)} of them", len(arrays))
        for memory, array in zip(parameters, arrays, strict=True):
            fits = array.dtype == numpy_dtype(STORED.get(memory.dtype, memory.dtype)) and array.size == memory.elements
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

    ``execution`` returns the function on the device for a call's sizes and numbers.
    """

    def __init__(self, module: Module, signature: Signature, execution: Callable[[Sizes], CudaExecution]) -> None:
        super().__init__(module, signature.name, lambda: signature, _host_code)
        self._on_device = lru_cache(_MAX_PLANS)(execution)

    def prepare(self, args: tuple[object, ...]) -> Callable[[], Returned]:
        self._binder.bind(args)
        execution = self._on_device(_sizes(args))

        def run() -> None:
            # What the arguments hold is known only now: an executor prepares all calls before the first one runs.
            arrays = _arrays(args)
            contiguous = [np.asarray(array, order="C") for array in arrays]
            execution(*contiguous)
            for array, copy in zip(arrays, contiguous, strict=True):
                if array is not copy:
                    array[...] = copy

        return run

    def device_seconds(self, args: tuple[object, ...], number: int, repeat: int) -> list[float]:
        """Return how long a call takes by the device's events."""
        self._binder.bind(args)
        return self._on_device(_sizes(args)).seconds(*_arrays(args), number=number, repeat=repeat)


def _arrays(args: tuple[object, ...]) -> list[NumPyArray]:
    """Return the arrays among the arguments; kernels take the bits of types that machine code lacks."""
    arrays = [array for array in map(_memory, args) if array is not None]
    return [array.view(STORED.get(str(array.dtype), array.dtype)) for array in arrays]


def _memory(arg: object) -> NumPyArray | None:
    """Return the elements of an array, not a copy; None of a number."""
    if isinstance(arg, np.ndarray):
        return arg
    array = arg if isinstance(arg, NDArray) else viewed_array(arg)
    return None if array is None else array.view()


def _sizes(args: tuple[object, ...]) -> Sizes:
    """Return the shapes of arrays, and numbers as they are."""
    arrays = map(_memory, args)
    return tuple(arg if array is None else array.shape for arg, array in zip(args, arrays, strict=True))  # type: ignore[misc]


def _host_code() -> NativeCode:
    raise UnavailableError("cuda: the function runs on the device and cannot be called as host code")


def launch_on_cuda(host: Module, kernels: DeviceModule) -> None:
    """Let the functions of a host's module that launch kernels run on the first CUDA device, if there is one."""
    if kernels.type_key != "cuda" or not cuda().exist:
        return
    program = cache(partial(_program, kernels))
    for name, plan in kernels.launches().items():
        signature = host.get_function(name).signature
        host.replace_function(CudaFunction(host, signature, partial(_execution, plan, program, kernels)))


def _execution(
    plan: Launches | NoLaunches, program: Callable[[], CudaProgram], kernels: DeviceModule, sizes: Sizes
) -> CudaExecution:
    if isinstance(plan, OpenLaunches):
        plan = plan.of(sizes)
    if isinstance(plan, NoLaunches):
        raise LoweringError(plan.why)
    return CudaExecution(plan, program(), _written(plan, kernels))


def _program(kernels: DeviceModule) -> CudaProgram:
    driver, device = find_driver(), cuda().device_id
    return CudaProgram(kernels.machine_code(driver.architecture(device)), driver, device)


def _written(plan: Launches, kernels: DeviceModule) -> frozenset[int]:
    """Return the positions in a plan's memory of what its kernels write."""
    written = set()
    for launch in plan.launches:
        parameters = kernels.get_function(launch.kernel).signature.parameters
        pointers = [parameter for parameter in parameters if parameter.shape is not None]
        written |= {at for at, pointer in zip(launch.memory, pointers, strict=True) if pointer.written}
    return frozenset(written)
