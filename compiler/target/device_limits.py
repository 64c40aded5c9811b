"""Default device limits of target kinds."""

from __future__ import annotations

from compiler.target.target import Target

_CUDA = {
    "max_shared_memory_per_block": 48 << 10,
    "max_dynamic_shared_memory_per_block": 227 << 10,  # of sm_90; more than 48 KiB require an opt-in at launch
    "max_thread_z": 64,
    "max_vector_bytes": 16,
}
_LIMITS: dict[str, dict[str, int]] = {
    "cuda": _CUDA,
    "nvptx": _CUDA,
    "rocm": {"max_shared_memory_per_block": 64 << 10, "max_vector_bytes": 16},
    "opencl": {"max_shared_memory_per_block": 32 << 10, "max_vector_bytes": 128},
    "metal": {"max_shared_memory_per_block": 32 << 10, "max_vector_bytes": 16},
    "vulkan": {"max_shared_memory_per_block": 16 << 10, "max_vector_bytes": 16},
    "webgpu": {"max_shared_memory_per_block": 16 << 10, "max_thread_z": 64, "max_vector_bytes": 16},
}
"""The limits that the specification guarantees for every device, by target kind."""


def device_limits(target: Target) -> dict[str, int]:
    """Return the limits of kernels for a target, under the names of ``verify_gpu_code``."""
    threads = int(target.attrs.get("max_threads_per_block", target.max_num_threads))
    limits = {**_LIMITS.get(target.kind, {}), "max_threads_per_block": threads}
    limits |= {
        axis: min(limits.get(axis, threads), threads) for axis in ("max_thread_x", "max_thread_y", "max_thread_z")
    }
    if target.max_shared_memory_per_block:
        limits["max_shared_memory_per_block"] = target.max_shared_memory_per_block
    if "max_shared_memory_per_block" in limits:
        limits.setdefault("max_dynamic_shared_memory_per_block", limits["max_shared_memory_per_block"])
    return limits
