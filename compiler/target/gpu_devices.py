"""Published peak rates of GPUs, for rooflines and wave quantisation.

Sources: NVIDIA's data sheets of the GeForce RTX 4060 Laptop GPU and RTX 4090 (Ada architecture whitepaper), of the A100
and the H100 (SXM); Apple's and Intel's product pages for the M3 and the Iris Xe, whose arithmetic peak is that of
their lanes at the highest clock.

Peaks of tensor cores are those of dense matrices: "NVIDIA Ada GPU Architecture" (whitepaper 2.1, appendix A) for the
RTX 4090, whose ratios to float32 are those of the laptop's GPU too; "NVIDIA A100 Tensor Core GPU Architecture"
(whitepaper 1.0, table 1); "NVIDIA H100 Tensor Core GPU Architecture" (whitepaper 1.04, table 2, SXM5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDevice:
    """A GPU."""

    name: str
    processors: int
    """The number of multiprocessors, cores or execution units; a block runs on one of them."""
    flops: float
    """Peak float32 operations per second; a fused multiply-add counts as two."""
    bandwidth: float
    """Memory bandwidth in bytes per second."""
    arch: str = ""
    """NVIDIA's architecture, e.g. ``sm_80``; empty for other vendors."""
    resident_threads: int = 2048
    """The maximum number of resident threads per processor."""
    matrix_flops: Mapping[str, float] = field(default_factory=dict)
    """Peak operations of tensor cores per second, by input and accumulator types, e.g. ``float16 to float32``."""

    @property
    def ridge(self) -> float:
        """The arithmetic intensity, in operations per byte, above which kernels are compute-bound."""
        return self.flops / self.bandwidth

    def by_tensor_cores(self, types: str) -> GpuDevice | None:
        """Return the device with the published peak of its tensor cores for types, e.g. ``float16 to float32``."""
        peak = self.matrix_flops.get(types)
        return None if peak is None else replace(self, flops=peak)

    def attainable(self, intensity: float) -> float:
        """Return the attainable operations per second according to the roofline model."""
        return min(self.flops, intensity * self.bandwidth)

    def waves(self, blocks: int, resident: int) -> Waves:
        """Return the number of waves in which the blocks of a launch run, given the resident blocks per processor."""
        return Waves(blocks / (self.processors * max(1, resident)))


@dataclass(frozen=True, slots=True)
class Waves:
    """The waves of blocks of a launch; the count is 1 if all are resident at once and fill the device."""

    count: float

    @property
    def efficiency(self) -> float:
        """The utilisation of the processors, some of which may be idle in the last wave."""
        return self.count / ceil(self.count) if self.count else 0.0


def _tensor_cores(half: float, half_sums: float, tf32: float, int8: float, int4: float = 0.0) -> dict[str, float]:
    """Return the peaks of tensor cores, in operations per second, without those that are zero."""
    peaks = {
        "float16 to float32": half,
        "float16 to float16": half_sums,
        "bfloat16 to float32": half,
        "tf32 to float32": tf32,
        "int8 to int32": int8,
        "uint8 to int32": int8,
        "int4 to int32": int4,
        "uint4 to int32": int4,
    }
    return {types: peak for types, peak in peaks.items() if peak}


# fmt: off
GPU_DEVICES: dict[str, GpuDevice] = {
    "rtx-4060-laptop": GpuDevice(
        name="RTX 4060 Laptop", processors=24, flops=14.6e12, bandwidth=256e9, arch="sm_89", resident_threads=1536,
        matrix_flops=_tensor_cores(29.2e12, 58.4e12, 14.6e12, 116.8e12, 233.6e12),
    ),
    "rtx-4090": GpuDevice(
        name="RTX 4090", processors=128, flops=82.6e12, bandwidth=1008e9, arch="sm_89", resident_threads=1536,
        matrix_flops=_tensor_cores(165.2e12, 330.3e12, 82.6e12, 660.6e12, 1321.2e12),
    ),
    "a100": GpuDevice(
        name="A100 80 GB", processors=108, flops=19.5e12, bandwidth=2039e9, arch="sm_80",
        matrix_flops=_tensor_cores(312e12, 312e12, 156e12, 624e12, 1248e12),
    ),
    "h100": GpuDevice(
        name="H100 SXM", processors=132, flops=66.9e12, bandwidth=3350e9, arch="sm_90",
        matrix_flops=_tensor_cores(989.4e12, 989.4e12, 494.7e12, 1978.9e12),
    ),
    "m3": GpuDevice(name="Apple M3 (10 cores)", processors=10, flops=4.1e12, bandwidth=100e9, resident_threads=1024),
    "iris-xe": GpuDevice(
        name="Intel Iris Xe (96 units)", processors=96, flops=2.2e12, bandwidth=77e9, resident_threads=112,
    ),
}
# fmt: on
"""The devices by a short name."""
