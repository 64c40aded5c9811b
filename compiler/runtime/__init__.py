"""Arrays, devices and modules of machine code: ``tvm.runtime``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.runtime import ndarray, vm
from compiler.runtime.device import Device, cpu, cuda, device, enabled, opencl
from compiler.runtime.library import load_module, system_lib
from compiler.runtime.module import Module
from compiler.runtime.ndarray import NDArray
from compiler.runtime.params import load_param_dict, save_param_dict
from compiler.runtime.threads import num_threads

__all__ = [
    "Device",
    "Module",
    "NDArray",
    "cpu",
    "cuda",
    "device",
    "enabled",
    "load_module",
    "load_param_dict",
    "ndarray",
    "num_threads",
    "opencl",
    "save_param_dict",
    "system_lib",
    "vm",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.runtime", __all__)
