"""``tvm.support``: build information."""

from __future__ import annotations

import platform
import sys

import numpy as np

from compiler.runtime.llvm import binding
from compiler.runtime.modules.native_code import host_cpu, host_triple
from compiler.runtime.modules.packed_func import register_func
from compiler.runtime.parallel.threads import openmp


def libinfo() -> dict[str, str]:
    """Return ``ON``, ``OFF`` or a version for each option that TVM is built with, as they are here."""
    return {
        "LLVM_VERSION": ".".join(map(str, binding.llvm_version_info)),
        "USE_LLVM": "ON",
        "USE_OPENMP": "ON" if openmp() is not None else "OFF",
        "USE_CUDA": "OFF",
        "USE_OPENCL": "OFF",
        "USE_VULKAN": "OFF",
        "USE_METAL": "OFF",
        "USE_ROCM": "OFF",
        "USE_RPC": "OFF",
        "USE_MICRO": "OFF",
        "USE_BYODT_POSIT": "OFF",
        "USE_GRAPH_EXECUTOR": "ON",
        "USE_AOT_EXECUTOR": "ON",
        "USE_PROFILER": "ON",
        "USE_THREADS": "ON",
    }


register_func("support.GetLibInfo", libinfo)


def describe() -> None:
    """Print the system and the versions of what the package is made of."""
    print(f"Python {sys.version.split()[0]}, {platform.platform()}")
    print(f"NumPy {np.__version__}, llvmlite for {host_triple()}, CPU {host_cpu()}")
    for name, value in libinfo().items():
        print(f"{name}: {value}")
