"""Arrays, devices and modules of machine code: ``tvm.runtime``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package
from compiler.runtime.device import Device, cpu, cuda, device, enabled, opencl

_HOMES = {
    "compiler.runtime.library": ("load_module", "system_lib"),
    "compiler.runtime.module": ("Module",),
    "compiler.runtime.ndarray": ("NDArray",),
    "compiler.runtime.params": ("load_param_dict", "save_param_dict"),
    "compiler.runtime.threads": ("num_threads",),
}
_MODULES = tuple(f"compiler.runtime.{name}" for name in ("module", "ndarray", "params", "vm"))

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

if TYPE_CHECKING:
    from compiler.runtime import ndarray, vm
    from compiler.runtime.library import load_module, system_lib
    from compiler.runtime.module import Module
    from compiler.runtime.ndarray import NDArray
    from compiler.runtime.params import load_param_dict, save_param_dict
    from compiler.runtime.threads import num_threads
else:
    __getattr__, __dir__ = lazy_package("tvm.runtime", _HOMES, _MODULES)
