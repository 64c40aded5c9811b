"""GPUs with their published peaks, and what they say of a kernel: roofline, waves of blocks.

Sources: NVIDIA's data sheets of the GeForce RTX 4060 Laptop GPU and RTX 4090 (Ada architecture whitepaper), of the A100
and the H100 (SXM); Apple's and Intel's product pages for the M3 and the Iris Xe, whose arithmetic peak is that of
their lanes at the highest clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

__all__ = ["GPU_DEVICES", "GpuDevice", "Waves"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDevice:
    """A GPU.

    Attributes
    ----------
    name : str
    processors : int
        Multiprocessors, cores or execution units: a block stays on one.
    flops : float
        Operations of float32 a second, a fused multiplication and addition counted as two.
    bandwidth : float
        Bytes a second of its memory.
    arch : str
        Of NVIDIA's: the architecture that code is compiled for; empty for others.
    resident_threads : int
        Threads that a processor holds at once.
    """

    name: str
    processors: int
    flops: float
    bandwidth: float
    arch: str = ""
    resident_threads: int = 2048

    @property
    def ridge(self) -> float:
        """The operations per byte from which on arithmetic limits, and not memory."""
        return self.flops / self.bandwidth

    def attainable(self, intensity: float) -> float:
        """Return the operations a second that the roofline allows.

        Parameters
        ----------
        intensity : float
            Operations per byte that is moved.

        Returns
        -------
        float
        """
        return min(self.flops, intensity * self.bandwidth)

    def waves(self, blocks: int, resident: int) -> Waves:
        """Return how the blocks of a launch fill the device.

        Parameters
        ----------
        blocks : int
            Of the launch.
        resident : int
            Blocks that one processor holds at once; at least 1.

        Returns
        -------
        Waves
        """
        return Waves(blocks / (self.processors * max(1, resident)))


@dataclass(frozen=True, slots=True)
class Waves:
    """How often the device is filled with blocks.

    Attributes
    ----------
    count : float
        1 where all blocks just fit at once.
    """

    count: float

    @property
    def efficiency(self) -> float:
        """The share of the processors' time that blocks use: the last wave may leave processors idle."""
        return self.count / ceil(self.count) if self.count else 0.0


GPU_DEVICES: dict[str, GpuDevice] = {
    "rtx-4060-laptop": GpuDevice(
        name="RTX 4060 Laptop", processors=24, flops=14.6e12, bandwidth=256e9, arch="sm_89", resident_threads=1536
    ),
    "rtx-4090": GpuDevice(
        name="RTX 4090", processors=128, flops=82.6e12, bandwidth=1008e9, arch="sm_89", resident_threads=1536
    ),
    "a100": GpuDevice(name="A100 80 GB", processors=108, flops=19.5e12, bandwidth=2039e9, arch="sm_80"),
    "h100": GpuDevice(name="H100 SXM", processors=132, flops=66.9e12, bandwidth=3350e9, arch="sm_90"),
    "m3": GpuDevice(name="Apple M3 (10 cores)", processors=10, flops=4.1e12, bandwidth=100e9, resident_threads=1024),
    "iris-xe": GpuDevice(
        name="Intel Iris Xe (96 units)", processors=96, flops=2.2e12, bandwidth=77e9, resident_threads=112
    ),
}
"""By a short name."""
