"""What a GPU could make of a launch: its roofline with the kernel on it, and how blocks fill its processors."""

from __future__ import annotations

from dataclasses import dataclass

from app.kernel_reports import KernelLaunch
from app.panes.numbers import count, number
from app.panes.roofline import BOTTOM, HEIGHT, LEFT, MARGIN, MIN_WIDTH, RIGHT, TOP, Point, Roofline, Scale
from compiler.target.gpu_devices import GpuDevice, Waves

_GIGA, _TERA = 1e9, 1e12
WIDTH = MIN_WIDTH + 100


@dataclass(frozen=True)
class DeviceRow:
    """What a device could make of a launch."""

    key: str
    device: GpuDevice
    launch: KernelLaunch

    @property
    def chart(self) -> Roofline | None:
        """The roofline of the device; None of a launch without operations or accesses."""
        launch = self.launch
        if not (launch.flops and launch.moved and launch.least):
            return None
        intensities = [launch.flops / launch.moved, launch.flops / launch.least, self.device.ridge]
        rates = [self._filled, *(self.device.attainable(at) for at in intensities)]
        across = Scale(min(intensities) / MARGIN, max(intensities) * MARGIN, LEFT, WIDTH - RIGHT)
        up = Scale(min(rates) / _GIGA / MARGIN, self.device.flops / _GIGA * MARGIN, TOP + HEIGHT, TOP)
        begin = max(across.low, up.low * _GIGA / self.device.bandwidth)
        roof = [(at, self.device.attainable(at)) for at in (begin, self.device.ridge, across.high)]
        return Roofline(
            width=WIDTH,
            height=TOP + HEIGHT + BOTTOM,
            left=LEFT,
            right=WIDTH - RIGHT,
            top=TOP,
            base=TOP + HEIGHT,
            roof=[(across.place(at), up.place(rate / _GIGA)) for at, rate in roof],
            peak=f"{number(self.device.flops / _TERA)} TFLOP/s",
            bandwidth=f"{number(self.device.bandwidth / _GIGA)} GB/s",
            points=self._points(across, up),
            columns=across.marks(),
            rows=up.marks(),
        )

    @property
    def sentences(self) -> list[str]:
        """The figures in words: roof, blocks, tail, occupancy."""
        return [self._roof, self._blocks, self._occupancy]

    def _points(self, across: Scale, up: Scale) -> list[Point]:
        launch, attainable = self.launch, self.device.attainable
        asked, least = launch.flops / launch.moved, launch.flops / launch.least
        points = [
            ("least", least, attainable(least), "if each byte were moved once"),
            ("asked", asked, attainable(asked), "as its warps ask for bytes, caches left out"),
            ("filled", asked, self._filled, "and with the places that its blocks leave empty"),
        ]
        return [
            Point(across.place(x), up.place(y / _GIGA), label, f"at most {number(y / _TERA)} TFLOP/s {why}")
            for label, x, y, why in points
        ]

    @property
    def _waves(self) -> Waves:
        return self.device.waves(self.launch.blocks, self._resident)

    @property
    def _resident(self) -> int:
        """Blocks that a processor holds at once: as compiled, where that is known, else as their threads allow."""
        return self.launch.resident_blocks or max(1, self.device.resident_threads // max(1, self.launch.threads))

    @property
    def _filled(self) -> float:
        """The operations a second of the roofline, less what the last wave of blocks wastes."""
        return self.device.attainable(intensity(self.launch)) * self._waves.efficiency

    @property
    def _roof(self) -> str:
        attainable = self.device.attainable(intensity(self.launch))
        limiter = "memory" if attainable < self.device.flops else "arithmetic"
        rates = f"{number(attainable / _TERA)} of {number(self.device.flops / _TERA)} TFLOP/s"
        return f"At most {rates}, limited by {limiter}."

    @property
    def _blocks(self) -> str:
        processors, waves = self.device.processors, self._waves
        idle = max(0, processors - self.launch.blocks)
        return (
            f"{count(self.launch.blocks, 'block')} on {processors} processors: {number(waves.count)} waves, "
            f"{waves.efficiency:.0%} of their places used" + (f", {count(idle, 'processor')} idle." if idle else ".")
        )

    @property
    def _occupancy(self) -> str:
        threads = min(self._resident * self.launch.threads, self.device.resident_threads)
        known = "as it was compiled" if self.launch.resident_blocks else "if registers and shared memory allow it"
        share = threads / self.device.resident_threads
        return f"Occupancy {share:.0%}: {count(self._resident, 'block')} of a processor at once, {known}."


def intensity(launch: KernelLaunch) -> float:
    """Return the operations per byte that a launch asks of global memory."""
    return launch.flops / launch.moved if launch.moved else 0.0
