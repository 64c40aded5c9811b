"""Devices as TVM names them: the CPU, and CUDA devices where NVIDIA's driver finds some."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from compiler.ir.error import ArgumentError, show
from compiler.runtime.cuda_driver import find_driver, why_no_driver

__all__ = ["Device", "cpu", "cuda", "device", "enabled", "metal", "opencl", "rocm", "vulkan"]

# The numbers are DLPack's.
DEVICE_TYPES = {"cpu": 1, "llvm": 1, "cuda": 2, "gpu": 2, "opencl": 4, "cl": 4, "vulkan": 7, "metal": 8, "rocm": 10}
_NAMES = {1: "cpu", 2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm"}


@dataclass(frozen=True, slots=True)
class Device:
    """A place where memory lies and code runs.

    Parameters
    ----------
    device_type : int
        DLPack's number of the kind of device: 1 is the CPU.
    device_id : int
        Which one of that kind.
    """

    kDLCPU: ClassVar[int] = 1
    kDLCUDA: ClassVar[int] = 2

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
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    @property
    def max_threads_per_block(self) -> int | None:
        """Threads that a block may have; None where no CUDA device is here."""
        return self._attribute("MAX_THREADS_PER_BLOCK")

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Bytes of shared memory that a block may have; None where no CUDA device is here."""
        return self._attribute("MAX_SHARED_MEMORY_PER_BLOCK")

    @property
    def warp_size(self) -> int | None:
        """Threads of a warp; None where no CUDA device is here."""
        return self._attribute("WARP_SIZE")

    @property
    def max_clock_rate(self) -> int | None:
        """Clock frequency in kHz; None where no CUDA device is here."""
        return self._attribute("CLOCK_RATE")

    @property
    def compute_version(self) -> str | None:
        """Compute capability, e.g. ``9.0``; None where no CUDA device is here."""
        major, minor = (self._attribute(f"COMPUTE_CAPABILITY_{which}") for which in ("MAJOR", "MINOR"))
        return None if major is None else f"{major}.{minor}"

    @property
    def device_name(self) -> str | None:
        """What the driver calls it; None where no CUDA device is here."""
        return find_driver().name(self.device_id) if self._is_cuda else None

    @property
    def _is_cuda(self) -> bool:
        return self.device_type == Device.kDLCUDA and self.exist

    def _attribute(self, name: str) -> int | None:
        return find_driver().attribute(self.device_id, name) if self._is_cuda else None

    def sync(self) -> None:
        """Wait for all work on the device; here each call ends with it."""

    def require(self, operation: str) -> Device:
        """Return the device if memory on it can be used.

        Parameters
        ----------
        operation : str
            What needs the memory, for the error.

        Returns
        -------
        Device
            This device.

        Raises
        ------
        ArgumentError
            If there is no runtime for it.
        """
        if not self.exist:
            why = f": {why_no_driver()}" if self.device_type == Device.kDLCUDA and why_no_driver() else ""
            raise ArgumentError(f"{operation}: device {self} has no runtime here; only cpu(0) has{why}")
        return self

    def __str__(self) -> str:
        return f"{_NAMES.get(self.device_type, self.device_type)}({self.device_id})"

    __repr__ = __str__


def metal(dev_id: int = 0) -> Device:
    """Return a Metal device; it can be named, but nothing here runs on it.

    Parameters
    ----------
    dev_id : int
        Which one.

    Returns
    -------
    Device
    """
    return Device(8, dev_id)


def rocm(dev_id: int = 0) -> Device:
    """Return a ROCm device; it can be named, but nothing here runs on it.

    Parameters
    ----------
    dev_id : int
        Which one.

    Returns
    -------
    Device
    """
    return Device(10, dev_id)


def vulkan(dev_id: int = 0) -> Device:
    """Return a Vulkan device; it can be named, but nothing here runs on it.

    Parameters
    ----------
    dev_id : int
        Which one.

    Returns
    -------
    Device
    """
    return Device(7, dev_id)


def device(dev_type: str | int, dev_id: int = 0) -> Device:
    """Return a device by the kind of device.

    Parameters
    ----------
    dev_type : str or int
        A name, e.g. ``cpu`` or ``llvm -mcpu=native``, or DLPack's number.
    dev_id : int
        Which one of that kind.

    Returns
    -------
    Device

    Raises
    ------
    ArgumentError
        If there is no such kind of device.
    """
    number = DEVICE_TYPES.get(dev_type.split()[0] if dev_type else "") if isinstance(dev_type, str) else dev_type
    if number not in _NAMES:
        raise ArgumentError(f"device: type must be one of {', '.join(DEVICE_TYPES)}, got {show(dev_type)}")
    return Device(number, dev_id)


def enabled(target: str) -> bool:
    """Return whether functions built for a kind of target can run here.

    Parameters
    ----------
    target : str
        E.g. ``llvm`` or ``cuda``.

    Returns
    -------
    bool

    Raises
    ------
    ArgumentError
        If there is no such kind.
    """
    return device(target).exist


def cpu(dev_id: int = 0) -> Device:
    """Return the CPU.

    Parameters
    ----------
    dev_id : int
        Which one.

    Returns
    -------
    Device
    """
    return Device(1, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """Return a CUDA device; whether it is here, ``exist`` says.

    Parameters
    ----------
    dev_id : int
        Which one.

    Returns
    -------
    Device
    """
    return Device(2, dev_id)


def opencl(dev_id: int = 0) -> Device:
    """Return an OpenCL device; it can be named, but nothing here runs on it.

    Parameters
    ----------
    dev_id : int
        Which one.

    Returns
    -------
    Device
    """
    return Device(4, dev_id)
