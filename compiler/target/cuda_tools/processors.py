"""Resources of the multiprocessors of NVIDIA GPUs, by architecture.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Throughput of Native
Arithmetic Instructions".
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """The resources of a multiprocessor.

    Attributes
    ----------
    warps, blocks : int
        The maximum numbers of resident warps and blocks.
    block_shared_bytes : int
        The maximum shared memory per block, if the kernel opts in to more than 48 KiB.
    reserved_bytes : int
        Shared memory per block that the system reserves.
    shared_unit : int
        The allocation granularity of shared memory, in bytes.
    registers : int
        The number of 32-bit registers.
    float32, float64 : int
        Additions, multiplications or multiply-adds that it begins in a cycle; 0 if not known.
    last_release : int, optional
        The last CUDA release that supports it; None if the newest does.
    """

    warps: int
    blocks: int
    shared_bytes: int
    block_shared_bytes: int
    reserved_bytes: int = 1024
    shared_unit: int = 128
    registers: int = 65536
    float32: int = 0
    float64: int = 0
    gpus: str = ""
    last_release: int | None = None


_KIB = 1024

# fmt: off
PROCESSORS: dict[str, Processor] = {
    "sm_70": Processor(
        warps=64, blocks=32, shared_bytes=96 * _KIB, block_shared_bytes=96 * _KIB, reserved_bytes=0, shared_unit=256,
        float32=64, float64=32, gpus="V100", last_release=12,
    ),
    "sm_75": Processor(
        warps=32, blocks=16, shared_bytes=64 * _KIB, block_shared_bytes=64 * _KIB, reserved_bytes=0, shared_unit=256,
        float32=64, float64=2, gpus="RTX 2080, T4",
    ),
    "sm_80": Processor(
        warps=64, blocks=32, shared_bytes=164 * _KIB, block_shared_bytes=163 * _KIB, float32=64, float64=32,
        gpus="A100, A30",
    ),
    "sm_86": Processor(
        warps=48, blocks=16, shared_bytes=100 * _KIB, block_shared_bytes=99 * _KIB, float32=128, float64=2,
        gpus="RTX 3090, A10",
    ),
    "sm_87": Processor(warps=48, blocks=16, shared_bytes=164 * _KIB, block_shared_bytes=163 * _KIB, gpus="Jetson Orin"),
    "sm_89": Processor(
        warps=48, blocks=24, shared_bytes=100 * _KIB, block_shared_bytes=99 * _KIB, float32=128, float64=2,
        gpus="RTX 4090, L4",
    ),
    "sm_90": Processor(
        warps=64, blocks=32, shared_bytes=228 * _KIB, block_shared_bytes=227 * _KIB, float32=128, float64=64,
        gpus="H100, H200",
    ),
    "sm_100": Processor(warps=64, blocks=32, shared_bytes=228 * _KIB, block_shared_bytes=227 * _KIB, gpus="B200"),
    "sm_103": Processor(warps=64, blocks=32, shared_bytes=228 * _KIB, block_shared_bytes=227 * _KIB, gpus="B300"),
    "sm_120": Processor(warps=48, blocks=24, shared_bytes=100 * _KIB, block_shared_bytes=99 * _KIB, gpus="RTX 5090"),
    "sm_121": Processor(warps=48, blocks=24, shared_bytes=100 * _KIB, block_shared_bytes=99 * _KIB, gpus="DGX Spark"),
}
# fmt: on
"""The multiprocessors by architecture."""
