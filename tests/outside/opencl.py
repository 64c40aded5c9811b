"""Runs kernels for ``opencl`` on the CPU, through PoCL or Intel's runtime: whichever knows this machine's processor."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

_INTEL = Path(sys.prefix, "lib", "libintelocl.so")
_TRIAL = "__kernel void trial(__global float* x) { x[get_global_id(0)] *= 2; }"


@cache
def context_and_queue():
    """Return a context and a command queue of a device that compiles; skip the test where there is none."""
    if shutil.which("ld") is None:
        pytest.skip("PoCL links kernels with ld, and ends the process where there is none")
    if _INTEL.exists():
        os.environ.setdefault("OCL_ICD_VENDORS", str(_INTEL.resolve()))
        for needed in ("libimf.so", "libsvml.so", "libirng.so", "libintlc.so.5"):
            ctypes.CDLL(str(_INTEL.with_name(needed)), mode=ctypes.RTLD_GLOBAL)
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    cl = pytest.importorskip("pyopencl", reason="needs pyopencl and an OpenCL for CPUs (the extra 'opencl')")
    warnings.filterwarnings("ignore", category=cl.CompilerWarning)
    refusals = []
    for device in _devices(cl):
        context = cl.Context([device])
        try:
            cl.Program(context, _TRIAL).build()
        except cl.RuntimeError as error:
            refusals.append(f"{device}: {str(error)[:200]}")
            continue
        return context, cl.CommandQueue(context)
    pytest.skip(f"no OpenCL device compiles here (the extra 'opencl' brings two): {refusals}")


def _devices(cl):
    try:
        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error:
        return []


def lacks_a_type(built):
    """Return whether kernels compute with half precision, and the device does not."""
    context, _ = context_and_queue()
    (kernels,) = built.imported_modules
    needed = "cl_khr_fp16"
    return needed in kernels.get_source() and needed not in context.devices[0].extensions


def launch_through_opencl(built, arrays):
    """Let the kernels that a module imports run by OpenCL when the module is called with some arrays."""
    context, commands = context_and_queue()
    import pyopencl as cl

    (kernels,) = built.imported_modules
    program = cl.Program(context, kernels.get_source()).build()
    memory = {array.view().ctypes.data: array.view() for array in arrays}

    def launch(name, arguments, extents):
        blocks, threads = ([extents.get(f"{of}.{along}", 1) for along in "xyz"] for of in ("blockIdx", "threadIdx"))
        held, copies = [], []
        func = kernels.kernels[name]
        for argument, param in zip(arguments, func.params, strict=True):
            if isinstance(argument, ctypes.c_void_p):
                view = memory[argument.value]
                flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
                held.append(cl.Buffer(context, flags, hostbuf=view))
                copies.append((view, held[-1]))
            else:
                held.append(np.dtype(param.dtype).type(argument))
        everything = [block * each for block, each in zip(blocks, threads, strict=True)]
        getattr(program, name)(commands, everything, threads, *held)
        for view, buffer in copies:
            cl.enqueue_copy(commands, view, buffer)
        commands.finish()

    kernels.launcher = launch
