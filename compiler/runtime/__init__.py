"""Arrays, devices and modules of machine code: ``tvm.runtime``."""

from compiler.runtime import ndarray
from compiler.runtime.device import Device, cpu, cuda, device, opencl
from compiler.runtime.module import Module
from compiler.runtime.ndarray import NDArray
from compiler.runtime.threads import num_threads

__all__ = ["Device", "Module", "NDArray", "cpu", "cuda", "device", "ndarray", "num_threads", "opencl"]
