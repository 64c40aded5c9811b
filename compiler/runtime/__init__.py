"""Arrays, devices and modules of machine code: ``tvm.runtime``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package
from compiler.runtime.device import Device, cpu, cuda, device, enabled, opencl

_HOMES = {
    "compiler.runtime.modules.library": ("load_module", "system_lib"),
    "compiler.runtime.modules.module": ("Module",),
    "compiler.runtime.arrays.ndarray": ("NDArray",),
    "compiler.runtime.arrays.params": ("load_param_dict", "save_param_dict"),
    "compiler.runtime.parallel.threads": ("num_threads",),
}
_MODULES = (
    "compiler.runtime.arrays.ndarray",
    "compiler.runtime.arrays.params",
    "compiler.runtime.modules.module",
    "compiler.runtime.vm",
)

__all__ = [
    "Device", "Module", "NDArray", "cpu", "cuda", "device", "enabled", "load_module", "load_param_dict", "ndarray",
    "num_threads", "opencl", "save_param_dict", "system_lib", "vm",
]  # fmt: skip

if TYPE_CHECKING:
    from compiler.runtime import vm
    from compiler.runtime.arrays import ndarray
    from compiler.runtime.arrays.ndarray import NDArray
    from compiler.runtime.arrays.params import load_param_dict, save_param_dict
    from compiler.runtime.modules.library import load_module, system_lib
    from compiler.runtime.modules.module import Module
    from compiler.runtime.parallel.threads import num_threads
else:
    __getattr__, __dir__ = lazy_package("tvm.runtime", _HOMES, _MODULES)
