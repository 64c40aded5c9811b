"""Functions on a CUDA device: memory, copies and launches, in the order of their hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, SupportsInt

import numpy as np

from compiler.driver.device_pipeline import split_for_device
from compiler.driver.launch_plan import LaunchPlan, launch_plan
from compiler.ir import dtype as dt
from compiler.ir.error import UnavailableError, expected
from compiler.ir.module import IRModule
from compiler.runtime.cuda_driver import CudaDriver, find_driver
from compiler.runtime.device import Device, cuda
from compiler.runtime.module import Function, Module
from compiler.runtime.native_code import NativeCode
from compiler.runtime.ndarray import NDArray
from compiler.runtime.returned import Returned
from compiler.runtime.signature import Signature
from compiler.target.codegen.llvm.kernels import kernel_code
from compiler.target.cuda_tools import translate
from compiler.target.cuda_tools.tools import knows, missing_tools
from compiler.target.target import Target

__all__ = ["CudaExecution", "CudaFunction", "cuda_execution", "run_on_cuda"]

Array = np.ndarray[Any, np.dtype[Any]]


class CudaExecution:
    """A function on a CUDA device; call it with NumPy arrays, which are copied there and back.

    Parameters
    ----------
    plan : LaunchPlan
        Its memory and its launches.
    code : bytes
        The kernels: a CUBIN, or PTX that ends with a zero byte.
    driver : CudaDriver
    device : int
        Which one.
    """

    def __init__(self, plan: LaunchPlan, code: bytes, driver: CudaDriver, device: int = 0) -> None:
        self._plan = plan
        self._driver = driver
        self._device = device
        driver.enter(device)
        program = driver.load(code)
        self._kernels = {name: driver.kernel(program, name) for name in {launch.kernel for launch in plan.launches}}

    def __call__(self, *arrays: Array) -> None:
        """Run the function.

        Parameters
        ----------
        *arrays : numpy.ndarray
            Its arguments; those that it writes are overwritten.
        """
        with self._on_device(arrays) as pointers:
            self._launch(pointers)
            self._driver.synchronize()

    def seconds(self, *arrays: Array, number: int = 10, repeat: int = 3) -> list[float]:
        """Return how long a call takes on the device, without copies, by its own events.

        Parameters
        ----------
        *arrays : numpy.ndarray
        number : int
            Calls that one measurement averages over.
        repeat : int
            Measurements; one call before them warms up.

        Returns
        -------
        list of float
        """
        with self._on_device(arrays) as pointers:

            def calls() -> None:
                for _ in range(number):
                    self._launch(pointers)

            self._launch(pointers)
            return [self._driver.seconds(calls) / number for _ in range(repeat)]

    @contextmanager
    def _on_device(self, arrays: Sequence[Array]) -> Iterator[list[Any]]:
        """Lend memory of the device that holds the arguments; what is in it at the end is copied back."""
        self._check(arrays)
        driver, memories = self._driver, self._plan.memory
        driver.enter(self._device)
        with ExitStack() as stack:
            pointers = []
            for memory in memories:
                pointers.append(driver.allocate(memory.elements * dt.bits(memory.dtype) // 8))
                stack.callback(driver.free, pointers[-1])
            lent = [(pointers[at], arrays[m.parameter]) for at, m in enumerate(memories) if m.parameter is not None]
            for pointer, array in lent:
                driver.upload(pointer, array)
            yield pointers
            for pointer, array in lent:
                driver.download(array, pointer)

    def _check(self, arrays: Sequence[Array]) -> None:
        parameters = [memory for memory in self._plan.memory if memory.parameter is not None]
        if len(arrays) != len(parameters):
            expected("cuda", "arrays", f"{len(parameters)} of them", len(arrays))
        for memory, array in zip(parameters, arrays, strict=True):
            fits = array.dtype == np.dtype(memory.dtype) and array.size == memory.elements
            if not fits or not array.flags.c_contiguous:
                told = f"{memory.elements} contiguous elements of {memory.dtype}"
                expected("cuda", memory.name, told, f"{array.size} of {array.dtype}")

    def _launch(self, pointers: Sequence[SupportsInt]) -> None:
        for launch in self._plan.launches:
            given = [pointers[position] for position in launch.memory]
            kernel = self._kernels[launch.kernel]
            shared = launch.dynamic_bytes
            self._driver.launch(kernel, launch.blocks, launch.threads, given, launch.numbers, shared)


def cuda_execution(module: IRModule, device: Device | None = None) -> CudaExecution:
    """Return a function that runs on a CUDA device.

    Parameters
    ----------
    module : IRModule
        What ``lower`` returns, of one function: loops bound to thread axes.
    device : Device, optional
        ``cuda(0)`` when left out.

    Returns
    -------
    CudaExecution

    Raises
    ------
    UnavailableError
        If there is no device; the message says why.
    LoweringError
        As for :func:`~compiler.driver.launch_plan.launch_plan`.
    BuildError
        If a compiler refuses the kernels.
    """
    number = (device or cuda()).device_id
    driver = find_driver()
    arch = driver.architecture(number)
    plan = launch_plan(module, Target(f"cuda -arch={arch}"))
    return CudaExecution(plan, _code(module, plan, arch), driver, number)


def _code(module: IRModule, plan: LaunchPlan, arch: str) -> bytes:
    """Return machine code by NVRTC, or where it is not installed PTX by LLVM, which the driver compiles."""
    if not missing_tools() and knows(arch):
        return translate(plan.source, arch).cubin
    kernels = split_for_device(module, Target("cuda"), packed=False).device
    return kernel_code(kernels, Target(f"nvptx -arch={arch}")).assembly.encode() + b"\0"


class CudaFunction(Function):
    """A function of a host's module that runs on the first CUDA device; the host's own code is not called.

    Parameters
    ----------
    module : Module
    signature : Signature
        The host's.
    lowered : IRModule
        What it was built from.
    """

    def __init__(self, module: Module, signature: Signature, lowered: IRModule) -> None:
        super().__init__(module, signature, _host_code)
        self._lowered = lowered
        self._execution: CudaExecution | None = None

    def prepare(self, args: tuple[object, ...]) -> Callable[[], Returned]:
        """Check arguments and return what runs the function on them.

        Parameters
        ----------
        args : tuple of object

        Returns
        -------
        callable
        """
        arrays = self._arrays(args)
        execution = self._on_device()

        def run() -> None:
            execution(*arrays)
            for arg, array in zip(args, arrays, strict=True):
                _write_back(arg, array)

        return run

    def device_seconds(self, args: tuple[object, ...], number: int, repeat: int) -> list[float]:
        """Return how long a call takes by the device's events.

        Parameters
        ----------
        args : tuple of object
        number, repeat : int
            As for :meth:`CudaExecution.seconds`.

        Returns
        -------
        list of float
        """
        return self._on_device().seconds(*self._arrays(args), number=number, repeat=repeat)

    def _arrays(self, args: tuple[object, ...]) -> list[Array]:
        self._binder.bind(args)
        return [np.ascontiguousarray(arg.numpy() if isinstance(arg, NDArray) else arg) for arg in args]

    def _on_device(self) -> CudaExecution:
        if self._execution is None:
            self._execution = cuda_execution(self._lowered)
        return self._execution


def _host_code() -> NativeCode:
    raise UnavailableError("cuda: the function runs on the device; the host's own code launches nothing")


def _write_back(arg: object, array: Array) -> None:
    if isinstance(arg, NDArray):
        arg.copyfrom(array)
    elif isinstance(arg, np.ndarray) and arg is not array:
        arg[...] = array


def run_on_cuda(host: Module, lowered: IRModule) -> None:
    """Let the functions of a host's module run on the first CUDA device.

    Parameters
    ----------
    host : Module
    lowered : IRModule
        What it was built from, of one function.
    """
    host.replace_function(CudaFunction(host, host.entry_func.signature, lowered))
