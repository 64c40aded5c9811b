"""Performance limits of a launch on known GPUs: roofline and waves of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from app.kernel_reports import KernelLaunch
from app.panes.numbers import count, duration, number
from app.panes.roofline import BOTTOM, HEIGHT, LEFT, MARGIN, MIN_WIDTH, RIGHT, TOP, Point, Roofline, Scale
from compiler.target.gpu_devices import GpuDevice, Waves

_GIGA, _TERA = 1e9, 1e12
WIDTH = MIN_WIDTH + 100
LEAST, MOST = 1e-100, 1e100
"""What intensities and rates are between: quotients of other numbers may be 0, which has no logarithm, or infinite."""


@dataclass(frozen=True)
class DeviceRow:
    """The performance limits of a launch on a device."""

    key: str
    device: GpuDevice
    launch: KernelLaunch

    @cached_property
    def _limit(self) -> GpuDevice:
        """Return the device with the peak of the units that do most of the arithmetic: tensor cores or CUDA cores."""
        return self.device.by_tensor_cores(self.launch.matrix_types) or self.device

    @property
    def _peak(self) -> str:
        """Return the name of the peak that limits the kernel."""
        return f"{self._rate(self._limit.flops)} of {self._arithmetic}"

    @property
    def _arithmetic(self) -> str:
        return "float32" if self._limit is self.device else f"tensor cores, {self.launch.matrix_types}"

    def _rate(self, operations: float) -> str:
        """Format a rate, in the unit of the multiplied type."""
        is_float = self._limit is self.device or "float" in self.launch.matrix_types
        return f"{number(operations / _TERA)} {'TFLOP' if is_float else 'TOP'}/s"

    @property
    def chart(self) -> Roofline | None:
        """The roofline of the device; None if the launch has no operations or accesses, or next to none."""
        launch = self.launch
        if not (launch.flops and launch.moved and launch.least):
            return None
        device, lanes = self._limit, self.device
        intensities = [launch.flops / launch.moved, launch.flops / launch.least, device.ridge, lanes.ridge]
        rates = [self._filled, lanes.flops, *(device.attainable(at) for at in intensities)]
        if not all(LEAST < value < MOST for value in (*intensities, *rates)):  # a count that no kernel has
            return None
        across = Scale(min(intensities) / MARGIN, max(intensities) * MARGIN, LEFT, WIDTH - RIGHT)
        up = Scale(min(rates) / _GIGA / MARGIN, device.flops / _GIGA * MARGIN, TOP + HEIGHT, TOP)
        begin = max(across.low, up.low * _GIGA / device.bandwidth)
        roof = [(at, device.attainable(at)) for at in (begin, device.ridge, across.high)]
        lower = [] if device is lanes else [(at, lanes.flops) for at in (lanes.ridge, across.high)]
        return Roofline(
            width=WIDTH,
            height=TOP + HEIGHT + BOTTOM,
            left=LEFT,
            right=WIDTH - RIGHT,
            top=TOP,
            base=TOP + HEIGHT,
            roof=[(across.place(at), up.place(rate / _GIGA)) for at, rate in roof],
            peak=self._peak,
            bandwidth=f"{number(self.device.bandwidth / _GIGA)} GB/s",
            points=self._points(across, up),
            columns=across.marks(),
            rows=up.marks(),
            lower=[(across.place(at), up.place(rate / _GIGA)) for at, rate in lower],
            lower_peak=f"{number(lanes.flops / _TERA)} TFLOP/s of float32",
        )

    @property
    def sentences(self) -> list[str]:
        """Description of roof, blocks, tail effect and occupancy."""
        return [self._roof, self._blocks, self._occupancy]

    def _points(self, across: Scale, up: Scale) -> list[Point]:
        launch, attainable = self.launch, self._limit.attainable
        asked, least = launch.flops / launch.moved, launch.flops / launch.least
        points = [
            ("least", least, attainable(least), "if each byte were moved once"),
            ("asked", asked, attainable(asked), "counting the bytes that its warps request, without caches"),
            ("filled", asked, self._filled, "and with idle slots in the last wave"),
        ]
        return [
            Point(across.place(x), up.place(y / _GIGA), label, f"at most {self._rate(y)} {why}")
            for label, x, y, why in points
        ]

    @property
    def _waves(self) -> Waves:
        return self.device.waves(self.launch.blocks, self._resident)

    @property
    def _resident(self) -> int:
        """Return the resident blocks per multiprocessor: as compiled if known, otherwise as limited by threads."""
        return self.launch.resident_blocks or max(1, self.device.resident_threads // max(1, self.launch.threads))

    @property
    def _filled(self) -> float:
        """Return the operations per second of the roofline, reduced by the tail effect of the last wave."""
        return self._limit.attainable(intensity(self.launch)) * self._waves.efficiency

    @property
    def _roof(self) -> str:
        least = self.launch.least or self.launch.moved
        if not self.launch.flops:
            shortest = duration(least / self.device.bandwidth)
            return f"At least {shortest}, to move its bytes at {number(self.device.bandwidth / _GIGA)} GB/s."
        attainable = self._limit.attainable(self.launch.flops / least) if least else self._limit.flops
        uncached = self._limit.attainable(intensity(self.launch)) if self.launch.moved else attainable
        limiter = "memory" if attainable < self._limit.flops else "arithmetic"
        bound = f"At most {number(attainable / _TERA)} of {self._rate(self._limit.flops)}, limited by {limiter}."
        if uncached < attainable:
            bound += f" Without caches {number(uncached / _TERA)}, limited by memory."
        types = self.launch.matrix_types
        if not types:
            return bound
        if self._limit is self.device:
            return f"{bound} No peak of tensor cores is published for {types}: this is float32's."
        return (
            f"{bound} The peak is that of its tensor cores, {types}; float32's is {number(self.device.flops / _TERA)}."
        )

    @property
    def _blocks(self) -> str:
        processors, waves = self.device.processors, self._waves
        idle = max(0, processors - self.launch.blocks)
        filled = f"{number(waves.count)} {'wave' if waves.count == 1 else 'waves'}"
        return (
            f"{count(self.launch.blocks, 'block')} on {processors} processors: {filled}, "
            f"{waves.efficiency:.0%} of their slots used" + (f", {count(idle, 'processor')} idle." if idle else ".")
        )

    @property
    def _occupancy(self) -> str:
        threads = min(self._resident * self.launch.threads, self.device.resident_threads)
        known = "as it was compiled" if self.launch.resident_blocks else "if registers and shared memory allow it"
        share = threads / self.device.resident_threads
        return f"Occupancy {share:.0%}: {count(self._resident, 'block')} per processor at once, {known}."


def intensity(launch: KernelLaunch) -> float:
    """Return the arithmetic intensity of a launch, in operations per byte of global memory."""
    return launch.flops / launch.moved if launch.moved else 0.0
