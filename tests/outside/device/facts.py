"""What the machine is, and how kernels get onto it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

import compiler as tvm
from compiler import te
from compiler.runtime.cuda.driver import find_driver
from compiler.runtime.machine import available_cores
from compiler.target.cuda_tools import PROCESSORS, missing_tools
from compiler.target.cuda_tools.tools import find_tool, include_folders, toolkits
from compiler.target.gpu_devices import GPU_DEVICES
from tests.outside.device import gpu
from tests.outside.device.cases import Case, Record, Wrong

_TABLE = {
    "warps": ("MAX_THREADS_PER_MULTIPROCESSOR", 32),
    "blocks": ("MAX_BLOCKS_PER_MULTIPROCESSOR", 1),
    "shared_bytes": ("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", 1),
    "block_shared_bytes": ("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", 1),
    "reserved_bytes": ("RESERVED_SHARED_MEMORY_PER_BLOCK", 1),
    "registers": ("MAX_REGISTERS_PER_MULTIPROCESSOR", 1),
}
"""Fields of the table of processors, with the driver's attributes and how many of its units make one of the field's."""


def cases() -> Iterator[Case]:
    """Yield the facts."""
    yield "host", _host
    yield "tools", _tools
    yield "device", _device
    yield "table of processors", _processors
    yield "smallest kernel", _smallest


def _host() -> Record:
    told = Path("/proc/cpuinfo").read_text()
    names = [line.split(":")[1].strip() for line in told.splitlines() if line.startswith("model name")]
    installed = {}
    for name in ("cuda-bindings", "nvidia-cuda-nvrtc", "llvmlite", "numpy", "torch", "cupy-cuda13x", "onnxruntime"):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "none"
    return {
        "processor": (names or ["unknown"])[0],
        "cores": available_cores(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "packages": installed,
    }


def _tools() -> Record:
    found = {pattern: str(find_tool(pattern)) for pattern in ("lib*/libnvrtc.so.*",)}
    missing = missing_tools()
    return {
        "found": found,
        "missing": missing,
        "toolkits": [*map(str, toolkits())],
        "headers": [*map(str, include_folders())],
    }


def _device() -> Record:
    device = tvm.cuda(0)
    told = shutil.which("nvidia-smi") or "true"
    asked = "name,driver_version,memory.total,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,power.limit"
    smi = subprocess.run(
        [told, f"--query-gpu={asked}", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    driver = find_driver()
    names = (
        "CLOCK_RATE",
        "MEMORY_CLOCK_RATE",
        "GLOBAL_MEMORY_BUS_WIDTH",
        "MAX_SHARED_MEMORY_PER_BLOCK",
        "COMPUTE_MODE",
    )
    return {
        "device": device.device_name,
        "compute": device.compute_version,
        "target": str(tvm.target.Target.from_device(device)),
        "CUDA": device.api_version,
        "multiprocessors": device.multi_processor_count,
        "memory": device.total_global_memory,
        "second cache": device.l2_cache_size_bytes,
        "warp": device.warp_size,
        "attributes": {name: driver.attribute(0, name) for name in names},
        "nvidia-smi": smi.stdout.strip() or smi.stderr[:200],
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
    }


def _processors() -> Record:
    driver = find_driver()
    arch = driver.architecture(0)
    table = asdict(PROCESSORS[arch])
    told = {field: driver.attribute(0, name) // unit for field, (name, unit) in _TABLE.items()}
    apart = {field: (table[field], value) for field, value in told.items() if table[field] != value}
    if apart:
        raise Wrong(f"{arch}: table and driver differ: {apart}")
    listed = [device for device in GPU_DEVICES.values() if device.arch == arch]
    processors = driver.attribute(0, "MULTIPROCESSOR_COUNT")
    bandwidth = 2e3 * driver.attribute(0, "MEMORY_CLOCK_RATE") * driver.attribute(0, "GLOBAL_MEMORY_BUS_WIDTH") / 8
    flops = 2e3 * driver.attribute(0, "CLOCK_RATE") * 128 * processors
    return {
        "arch": arch,
        "table": told,
        "by the driver": {"processors": processors, "bandwidth": bandwidth, "float32 flops": flops},
        "listed": [(d.name, d.processors, d.bandwidth, d.flops) for d in listed],
    }


def _smallest() -> Record:
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    built = gpu.function(s, [a, b])
    data = np.arange(64, dtype="float32")
    gpu.same(gpu.called(built, [data, np.zeros(64, "float32")])[1], 2 * data)
    code = "" if gpu.EMULATED else built.imported_modules[0].machine_code(find_driver().architecture(0))[:4].hex()
    return {"code": code, "seconds": gpu.seconds(built, [data, data.copy()])}
