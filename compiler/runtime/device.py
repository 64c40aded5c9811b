"""Devices as TVM names them; only the CPU has a runtime here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from compiler.ir.error import ArgumentError, show

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

    device_type: int
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether this machine has the device and this package a runtime for it."""
        return self.device_type == Device.kDLCPU and self.device_id == 0

    @property
    def multi_processor_count(self) -> int:
        """Number of cores that this process may use."""
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def sync(self) -> None:
        """Wait for all work on the device; the CPU's is always done."""

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
            raise ArgumentError(f"{operation}: device {self} has no runtime here; only cpu(0) has")
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
    """Return a CUDA device; it can be named, but nothing here runs on it.

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
