"""NVIDIA's driver, through the package ``cuda-bindings``: devices, memory, kernels, events."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, SupportsInt

import numpy as np

from compiler.ir.error import TVMError, UnavailableError
from compiler.runtime.numpy_types import NumPyArray

Number = tuple[str, int | float]
"""A number that a kernel is given: data type and value."""
_UNASKED_SHARED_BYTES = 48 << 10
"""Dynamic shared memory beyond which a kernel has to ask for it, on every architecture."""


class CudaDriver:
    """Calls the driver, and raises where it reports an error."""

    def __init__(self, api: ModuleType) -> None:
        self._api = api
        self._call("cuInit", 0)

    def _call(self, name: str, *args: object) -> Any:
        """Return the first result of a function of the driver."""
        results = self._results(name, *args)
        return results[0] if results else None

    def _results(self, name: str, *args: object) -> list[Any]:
        """Return what a function of the driver gives beside its status."""
        results: list[object]
        status, *results = getattr(self._api, name)(*args)
        if int(status):
            _, reason = self._api.cuGetErrorString(status)
            text = reason.decode(errors="replace") if isinstance(reason, bytes) else f"status {int(status)}"
            raise TVMError(f"{name}: {text}")
        return results

    @property
    def device_count(self) -> int:
        """How many devices there are."""
        return int(self._call("cuDeviceGetCount"))

    def attribute(self, device: int, name: str) -> int:
        """Return an attribute of a device."""
        which = getattr(self._api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._call("cuDeviceGetAttribute", which, self._call("cuDeviceGet", device)))

    def name(self, device: int) -> str:
        """Return what a device is called."""
        name: bytes = self._call("cuDeviceGetName", 256, self._call("cuDeviceGet", device))
        return name.partition(b"\0")[0].decode(errors="replace")  # what follows is whatever the memory held

    @property
    def version(self) -> int:
        """The version of CUDA that the driver has: 1000 times the major and 10 times the minor number."""
        return int(self._call("cuDriverGetVersion"))

    def total_memory(self, device: int) -> int:
        """Return how many bytes of memory a device has."""
        return int(self._call("cuDeviceTotalMem", self._call("cuDeviceGet", device)))

    def free_memory(self, device: int) -> int:
        """Return how many bytes of a device's memory are free."""
        self.enter(device)
        free, _ = self._results("cuMemGetInfo")
        return int(free)

    def architecture(self, device: int) -> str:
        """Return the architecture of a device."""
        major, minor = (self.attribute(device, f"COMPUTE_CAPABILITY_{which}") for which in ("MAJOR", "MINOR"))
        return f"sm_{major}{minor}"

    def enter(self, device: int) -> None:
        """Let what follows happen on a device."""
        context = self._call("cuDevicePrimaryCtxRetain", self._call("cuDeviceGet", device))
        self._call("cuCtxSetCurrent", context)

    def load(self, code: bytes) -> object:
        """Load a program: machine code (a CUBIN), or PTX that ends with a zero byte."""
        return self._call("cuModuleLoadData", code)

    def kernel(self, program: object, name: str) -> object:
        """Return a kernel of a program."""
        return self._call("cuModuleGetFunction", program, name.encode())

    def allocate(self, size: int) -> SupportsInt:
        """Return new memory of the device."""
        pointer: SupportsInt = self._call("cuMemAlloc", max(size, 1))
        return pointer

    def free(self, pointer: SupportsInt) -> None:
        """Give memory back."""
        self._call("cuMemFree", pointer)

    def upload(self, pointer: SupportsInt, array: NumPyArray) -> None:
        """Copy an array to the device."""
        self._call("cuMemcpyHtoD", pointer, array.ctypes.data, array.nbytes)

    def download(self, array: NumPyArray, pointer: SupportsInt) -> None:
        """Copy an array from the device."""
        self._call("cuMemcpyDtoH", array.ctypes.data, pointer, array.nbytes)

    def launch(
        self,
        kernel: object,
        blocks: Sequence[int],
        threads: Sequence[int],
        pointers: Sequence[SupportsInt],
        numbers: Sequence[Number] = (),
        shared_bytes: int = 0,
    ) -> None:
        """Launch a kernel; it runs after those launched before."""
        if shared_bytes > _UNASKED_SHARED_BYTES:
            limit = self._api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuFuncSetAttribute", kernel, limit, shared_bytes)
        values = (*(int(pointer) for pointer in pointers), *(value for _, value in numbers))
        types = (*(ctypes.c_void_p for _ in pointers), *(_c_type(dtype) for dtype, _ in numbers))
        self._call("cuLaunchKernel", kernel, *blocks, *threads, shared_bytes, 0, (values, types), 0)

    def synchronize(self) -> None:
        """Wait until all that was launched has ended."""
        self._call("cuCtxSynchronize")

    def seconds(self, work: Callable[[], None]) -> float:
        """Return how long the device takes for something, by its own clock."""
        events: list[object] = []
        try:
            for _ in range(2):
                events.append(self._call("cuEventCreate", 0))
            self._call("cuEventRecord", events[0], 0)
            work()
            self._call("cuEventRecord", events[1], 0)
            self._call("cuEventSynchronize", events[1])
            return float(self._call("cuEventElapsedTime", *events)) / 1e3
        finally:
            for event in events:
                self._call("cuEventDestroy", event)


def _c_type(dtype: str) -> object:
    return np.ctypeslib.as_ctypes_type(np.dtype(dtype))


@cache
def _search() -> CudaDriver | str:
    """Return the driver, or why there is none."""
    try:
        api = import_module("cuda.bindings.driver")
    except ImportError:
        return "the package cuda-bindings is not installed; pip install 'strata-explorer[cuda]' installs it"
    try:
        driver = CudaDriver(api)
    except (TVMError, RuntimeError, OSError) as error:  # the package raises RuntimeError where there is no library
        return f"NVIDIA's driver does not work here: {str(error).splitlines()[0]}"
    return driver if driver.device_count else "NVIDIA's driver finds no device"


def why_no_driver() -> str:
    """Return why nothing runs on a CUDA device here; empty if something can."""
    driver = _search()
    return driver if isinstance(driver, str) else ""


def find_driver() -> CudaDriver:
    """Return the driver."""
    driver = _search()
    if isinstance(driver, str):
        raise UnavailableError(f"cuda: {driver}")
    return driver
