"""What the explorer says of kernels without a GPU - registers, occupancy, limits - beside what the GPU says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from compiler import te
from compiler.runtime.cuda.driver import find_driver
from compiler.target.cuda_tools import compile_cuda, missing_tools, report, translate
from compiler.target.gpu_devices import GPU_DEVICES
from compiler.tir.warp_access import explain_kernels
from tests.compiler.driver.gpu_programs import random_program
from tests.outside.device import gpu
from tests.outside.device.cases import Case, Record, Wrong
from tests.outside.device.gallery import arguments, data, loaded
from tests.outside.device.products import scaled, timed

EXAMPLES = {
    "vectors": ("gpu-threads", "n = 1 << 16", "n = 1 << 26"),
    "matmul, naive": ("gpu-matmul-naive", "n = 512", "n = 1024"),
    "matmul, tiled": ("gpu-matmul-tiled", "n = 512", "n = 1024"),
    "matmul, shared": ("gpu-matmul-shared", "n = 512", "n = 1024"),
    "matmul, registers": ("gpu-matmul-registers", "n = 512", "n = 1024"),
    "matmul, vectorised": ("gpu-matmul-vectorised", "n = 512", "n = 1024"),
    "tensor cores": ("gpu-tensor-cores", "n, tile, half, step, m = 256", "n, tile, half, step, m = 4096"),
    "reduction": ("gpu-reduction", "n, m = 1024", "n, m = 65536"),
    "softmax": ("gpu-softmax", "n, m = 256", "n, m = 65536"),
    "conv2d": ("gpu-conv2d", "size, channels = 66", "size, channels = 2050"),
    "transpose, padding 0": ("gpu-transpose", "n, tile, padding = 512, 32, 0", "n, tile, padding = 8192, 32, 0"),
    "transpose, padding 1": ("gpu-transpose", "n, tile, padding = 512, 32, 0", "n, tile, padding = 8192, 32, 1"),
    "dynamic shared memory": ("gpu-matmul-shared", '"shared"', '"shared.dyn"'),
}
PROGRAMS = 40
"""Random programs whose occupancy is compared."""


def cases() -> Iterator[Case]:
    """Yield what the memory does, the examples, and random programs."""
    yield "copy on the device", _copy
    for name in EXAMPLES:
        yield name, partial(_example, name)
    yield "64 KiB of dynamic shared memory", _dynamic
    yield f"occupancy of {PROGRAMS} random programs", _programs


def _copy() -> Record:
    if gpu.EMULATED:
        return {}
    import torch

    size = 1 << 30
    a, b = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    return {"GB/s read and written": 2 * size / timed(torch, lambda: b.copy_(a)) / 1e9}


def _held(built: Any) -> list[Record]:
    """Return what is predicted of each kernel, and what the driver says."""
    source, driver = built.imported_modules[0].get_source(), find_driver()
    arch = driver.architecture(0)
    made = translate(source, arch)
    [plan] = built.imported_modules[0].launches().values()
    dynamic = {launch.kernel: launch.dynamic_bytes for launch in plan.launches}
    compiled = report(source, arch, made.ptx, made.log, dynamic=dynamic)
    predicted = {kernel.name: kernel for kernel in compiled.kernels}
    program = driver.load(made.cubin)
    rows = []
    for launch in plan.launches:
        kernel = driver.kernel(program, launch.kernel)
        threads = launch.threads[0] * launch.threads[1] * launch.threads[2]
        attribute = driver._api.CUfunction_attribute
        limit = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver._call("cuFuncSetAttribute", kernel, limit, launch.dynamic_bytes)
        blocks = driver._call("cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel, threads, launch.dynamic_bytes)
        registers = driver._call("cuFuncGetAttribute", attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, kernel)
        told = predicted[launch.kernel]
        rows.append({
            "blocks predicted": told.occupancy.blocks if told.occupancy else None, "blocks": int(blocks),
            "registers predicted": told.resources.registers, "registers": int(registers), "threads": threads,
            "dynamic bytes": launch.dynamic_bytes, "spilled": told.resources.spill_store_bytes,
        })  # fmt: skip
    return rows


def _apart(rows: list[Record]) -> list[Record]:
    return [r for r in rows if (r["blocks predicted"], r["registers predicted"]) != (r["blocks"], r["registers"])]


def _programs() -> Record:
    if gpu.EMULATED:
        return {}
    apart, count = [], 0
    for seed in range(PROGRAMS):
        made = random_program(seed)
        rows = _held(gpu.function(made.schedule, made.args))
        count += len(rows)
        apart += [{"program": seed, **row} for row in _apart(rows)]
    if apart:
        raise Wrong(f"{len(apart)} of {count} kernels: {apart[:4]}")
    return {"kernels": count}


def _dynamic() -> Record:
    """More than a block has unless the kernel asks for it."""
    elements, threads = 1 << 14, 64
    a = te.placeholder((2, elements), name="A")
    b = te.compute((2, elements), lambda i, j: a[i, elements - 1 - j] * 2.0, name="B")
    s = te.create_schedule(b.op)
    shared = s.cache_read(a, "shared.dyn", [b])
    tx = te.thread_axis((0, threads), "threadIdx.x")
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(s[b].split(b.op.axis[1], threads)[1], tx)
    s[shared].compute_at(s[b], b.op.axis[0])
    s[shared].bind(s[shared].split(s[shared].op.axis[1], threads)[1], tx)
    built = gpu.function(s, [a, b], "cuda -max_shared_memory_per_block=131072")
    data = np.random.default_rng(0).standard_normal((2, elements)).astype("float32")
    gpu.same(gpu.called(built, [data, data.copy()])[1], 2 * data[:, ::-1])
    if gpu.EMULATED:
        return {}
    [row] = _held(built)
    return {**row, "status": "wrong" if _apart([row]) else "ok"}


def _example(name: str) -> Record:
    script = scaled(*EXAMPLES[name])
    names = loaded(script)
    if gpu.EMULATED:
        return {}
    tensors = arguments(script, names)
    built = gpu.function(names["s"], tensors)
    rows = _held(built)
    [kernel] = explain_kernels(built.imported_modules[0].kernels)
    taken = gpu.seconds(built, data(tensors))
    driver = find_driver()
    arch = driver.architecture(0)
    bandwidth = 2e3 * driver.attribute(0, "MEMORY_CLOCK_RATE") * driver.attribute(0, "GLOBAL_MEMORY_BUS_WIDTH") / 8
    listed = next(each for each in GPU_DEVICES.values() if each.arch == arch)
    device = replace(listed, bandwidth=bandwidth, processors=driver.attribute(0, "MULTIPROCESSOR_COUNT"))
    types = max(kernel.matrix_flops, key=lambda each: kernel.matrix_flops[each], default="")
    limit = device.by_tensor_cores(types) or device
    at_most, uncached = (limit.attainable(kernel.flops / each) for each in (kernel.least, kernel.moved))
    shortest = kernel.flops / at_most if kernel.flops else kernel.least / bandwidth
    wrong = [f"occupancy or registers: {_apart(rows)}"] if _apart(rows) else []
    if taken < shortest:
        wrong.append("quicker than the bound")
    return {
        "status": "wrong" if wrong else "ok",
        "why": "; ".join(wrong),
        "microseconds": taken * 1e6,
        "at least": shortest * 1e6,
        "blocks predicted": rows[0]["blocks predicted"],
        "blocks": rows[0]["blocks"],
        "registers": rows[0]["registers"],
        "TFLOP/s at most": at_most / 1e12,
        "without caches": uncached / 1e12,
        "TFLOP/s": kernel.flops / taken / 1e12,
        "GB/s requested": kernel.moved / taken / 1e9,
        "GB/s at least": kernel.least / taken / 1e9,
        "tensor core instructions": _instructions(built, arch),
    }


def _instructions(built: Any, arch: str) -> int:
    """Return how many tensor core instructions the machine code has."""
    if missing_tools():
        return -1
    code = compile_cuda(built.imported_modules[0].get_source(), arch)
    return sum("MMA." in line.text for line in code.sass)
