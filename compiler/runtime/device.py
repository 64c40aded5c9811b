"""Devices: the CPU, and CUDA devices where NVIDIA's driver finds any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from compiler.ir.error import ArgumentError, DeviceError, show
from compiler.runtime.cuda.driver import find_driver, why_no_driver
from compiler.runtime.machine import available_cores

if TYPE_CHECKING:
    from compiler.runtime.arrays.ndarray import NDArray
    from compiler.runtime.graph.model_module import ModelExecutor
    from compiler.runtime.modules.module import Module

__all__ = [
    "Device", "DeviceKind", "cl", "cpu", "cuda", "device", "enabled", "ext_dev", "hexagon", "metal", "mtl", "opencl",
    "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """A kind of device, by DLPack's number; a number above 16 is TVM's."""

    number: int
    name: str
    title: str
    also: tuple[str, ...] = ()


DEVICE_KINDS = (
    DeviceKind(1, "cpu", "the CPU", ("llvm", "stackvm", "c", "test", "hybrid", "composite")),
    DeviceKind(2, "cuda", "a CUDA device", ("gpu", "nvptx")),
    DeviceKind(4, "opencl", "an OpenCL device", ("cl", "sdaccel")),
    DeviceKind(7, "vulkan", "a Vulkan device"),
    DeviceKind(8, "metal", "a Metal device", ("mtl",)),
    DeviceKind(9, "vpi", "a simulator that checks a Verilog design"),
    DeviceKind(10, "rocm", "a ROCm device"),
    DeviceKind(12, "ext_dev", "an extension device"),
    DeviceKind(15, "webgpu", "a WebGPU device"),
    DeviceKind(16, "hexagon", "a Hexagon device"),
    DeviceKind(32, "aocl", "an FPGA of Intel's", ("aocl_sw_emu",)),
)
DEVICE_TYPES = {name: kind.number for kind in DEVICE_KINDS for name in (kind.name, *kind.also)}
_KINDS = {kind.number: kind for kind in DEVICE_KINDS}


@dataclass(frozen=True, slots=True)
class Device:
    """A place where memory lies and code runs; ``device_type`` is DLPack's number: 1 is the CPU."""

    kDLCPU: ClassVar[int] = 1
    kDLCUDA: ClassVar[int] = 2
    kDLCUDAHost: ClassVar[int] = 3
    kDLOpenCL: ClassVar[int] = 4
    kDLVulkan: ClassVar[int] = 7
    kDLMetal: ClassVar[int] = 8
    kDLVPI: ClassVar[int] = 9
    kDLROCM: ClassVar[int] = 10
    kDLROCMHost: ClassVar[int] = 11
    kDLExtDev: ClassVar[int] = 12
    kDLCUDAManaged: ClassVar[int] = 13
    kDLOneAPI: ClassVar[int] = 14
    kDLWebGPU: ClassVar[int] = 15
    kDLHexagon: ClassVar[int] = 16
    kDLAOCL: ClassVar[int] = 32
    kDLSDAccel: ClassVar[int] = 33
    kOpenGL: ClassVar[int] = 34
    kDLMicroDev: ClassVar[int] = 35
    MASK2STR: ClassVar[dict[int, str]] = {number: kind.name for number, kind in _KINDS.items()}
    STR2MASK: ClassVar[dict[str, int]] = DEVICE_TYPES

    device_type: int
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether this machine has the device and this package a runtime for it."""
        if self.device_type == Device.kDLCUDA:
            return not why_no_driver() and 0 <= self.device_id < find_driver().device_count
        return self.device_type == Device.kDLCPU and self.device_id == 0

    @property
    def multi_processor_count(self) -> int:
        """Number of cores that this process may use; of a CUDA device, of its multiprocessors."""
        if self._is_cuda:
            return find_driver().attribute(self.device_id, "MULTIPROCESSOR_COUNT")
        return available_cores()

    @property
    def max_threads_per_block(self) -> int | None:
        """Threads that a block may have; None if no CUDA device is here."""
        return self._attribute("MAX_THREADS_PER_BLOCK")

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Bytes of shared memory that a block may have; None if no CUDA device is here."""
        return self._attribute("MAX_SHARED_MEMORY_PER_BLOCK")

    @property
    def warp_size(self) -> int | None:
        """Threads of a warp; None if no CUDA device is here."""
        return self._attribute("WARP_SIZE")

    @property
    def max_clock_rate(self) -> int | None:
        """Clock frequency in kHz; None if no CUDA device is here."""
        return self._attribute("CLOCK_RATE")

    @property
    def compute_version(self) -> str | None:
        """Compute capability, e.g. ``9.0``; None if no CUDA device is here."""
        major, minor = (self._attribute(f"COMPUTE_CAPABILITY_{which}") for which in ("MAJOR", "MINOR"))
        return None if major is None else f"{major}.{minor}"

    @property
    def max_thread_dimensions(self) -> list[int] | None:
        """Threads that a block may have in x, y and z; None if no CUDA device is here."""
        extents = [self._attribute(f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ"]
        return None if None in extents else [extent for extent in extents if extent is not None]

    @property
    def l2_cache_size_bytes(self) -> int | None:
        """Bytes of the second cache; None if no CUDA device is here."""
        return self._attribute("L2_CACHE_SIZE")

    @property
    def total_global_memory(self) -> int | None:
        """Bytes of memory; None if no CUDA device is here."""
        return find_driver().total_memory(self.device_id) if self._is_cuda else None

    @property
    def available_global_memory(self) -> int | None:
        """Bytes of memory that are free; None if no CUDA device is here."""
        return find_driver().free_memory(self.device_id) if self._is_cuda else None

    @property
    def api_version(self) -> int | None:
        """The version of CUDA that the driver has, e.g. 12040; None if no CUDA device is here."""
        return find_driver().version if self._is_cuda else None

    @property
    def texture_spatial_limit(self) -> int | None:
        """The largest extent of a texture in the plane; None if no CUDA device is here."""
        return self._attribute("MAXIMUM_TEXTURE2D_WIDTH")

    @property
    def device_name(self) -> str | None:
        """What the driver calls it; None if no CUDA device is here."""
        return find_driver().name(self.device_id) if self._is_cuda else None

    @property
    def _is_cuda(self) -> bool:
        return self.device_type == Device.kDLCUDA and self.exist

    def _attribute(self, name: str) -> int | None:
        return find_driver().attribute(self.device_id, name) if self._is_cuda else None

    @property
    def kind(self) -> str:
        """The name of the kind of device."""
        return _KINDS[self.device_type].name if self.device_type in _KINDS else str(self.device_type)

    def sync(self, stream: None = None) -> None:
        """Wait for all work on the device; here each call ends with it, and there is only the usual stream."""
        self.require("Device.sync")

    def require(self, operation: str) -> Device:
        """Return the device if memory on it can be used, as an operation, named in the error, needs it.

        Raises DeviceError if there is no runtime for it.
        """
        if not self.exist:
            why = f": {why_no_driver()}" if self.device_type == Device.kDLCUDA and why_no_driver() else ""
            raise DeviceError(f"{operation}: device {self} has no runtime on this machine; only cpu(0) has{why}")
        return self

    def remote_array(self, shape: tuple[int, ...], dtype: str) -> NDArray | None:
        """Return a new array on a device of another machine; None on this one."""
        return None

    def remote_executor(self, graph: str, kernels: Module) -> ModelExecutor | None:
        """Return what runs a graph on a device of another machine; None on this one."""
        return None

    def __str__(self) -> str:
        return f"{self.kind}({self.device_id})"

    __repr__ = __str__


FACTS = frozenset(n for n, v in vars(Device).items() if isinstance(v, property) and n[0] != "_" and n != "kind")
"""What a device says of itself; one of another machine is asked for it."""


def device(dev_type: str | int, dev_id: int = 0) -> Device:
    """Return a device by the kind of device.

    ``dev_type`` is a name, e.g. ``cpu`` or ``llvm -mcpu=native``, or DLPack's number; ``cuda:1`` says which one of that
    kind. Raises ArgumentError if there is no such kind of device.
    """
    if isinstance(dev_type, str) and ":" in dev_type.split(" ")[0]:
        dev_type, _, which = dev_type.partition(":")
        if not which.isdecimal():
            raise ArgumentError(f"device: expected a number behind {dev_type}:, got {show(which)}")
        dev_id = int(which)
    number = DEVICE_TYPES.get(dev_type.split()[0] if dev_type else "") if isinstance(dev_type, str) else dev_type
    if number not in _KINDS:
        raise ArgumentError(f"device: type must be one of {', '.join(DEVICE_TYPES)}, got {show(dev_type)}")
    return Device(number, dev_id)


def enabled(target: str) -> bool:
    """Return whether functions built for a kind of target, e.g. ``llvm`` or ``cuda``, can run here."""
    return device(target).exist


class _Maker(Protocol):
    def __call__(self, dev_id: int = 0) -> Device: ...


def _maker(name: str) -> _Maker:
    """Return the function that makes devices of the kind that a name stands for."""
    kind = _KINDS[DEVICE_TYPES[name]]

    def make(dev_id: int = 0) -> Device:
        return Device(kind.number, dev_id)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = _DOC.format(kind.title)
    return make


_DOC = """Return {}; ``exist`` says whether it is here.

Parameters
----------
dev_id : int
    Which one of them.
"""

cpu, cuda, opencl, vulkan, metal, vpi, rocm, ext_dev, webgpu, hexagon, cl, mtl = map(
    _maker, ("cpu", "cuda", "opencl", "vulkan", "metal", "vpi", "rocm", "ext_dev", "webgpu", "hexagon", "cl", "mtl")
)
