"""What is known of kernels without a GPU: their check on the CPU, the sanitizer's faults, accesses, devices."""

from __future__ import annotations

from dataclasses import dataclass

from app.artifacts import KernelLaunch, KernelReport, MemoryAccess
from app.panes.numbers import count, number, operations, size
from app.panes.pane import Pane
from app.panes.selection import Selection
from compiler.target.gpu_devices import GPU_DEVICES, GpuDevice

_TERA = 1e12


@dataclass(frozen=True)
class DeviceRow:
    """What a device could make of a launch."""

    device: GpuDevice
    launch: KernelLaunch

    @property
    def limit(self) -> str:
        """What the roofline says: ``1.2 of 82.6 TFLOP/s, limited by memory``."""
        attainable = self.device.attainable(intensity(self.launch))
        limiter = "memory" if attainable < self.device.flops else "arithmetic"
        return f"{number(attainable / _TERA)} of {number(self.device.flops / _TERA)} TFLOP/s, limited by {limiter}"

    @property
    def filling(self) -> str:
        """How its processors are filled with blocks: ``2.4 waves, 79 % used``."""
        resident = self.launch.resident_blocks or self.device.resident_threads // max(1, self.launch.threads)
        waves = self.device.waves(self.launch.blocks, resident)
        busy = min(self.launch.blocks, self.device.processors)
        return (
            f"{count(self.launch.blocks, 'block')} on {self.device.processors} processors: "
            f"{number(waves.count)} waves, {waves.efficiency:.0%} of their places used"
            + (f", {self.device.processors - busy} processors idle" if busy < self.device.processors else "")
        )


@dataclass(frozen=True)
class LaunchRows:
    """A launch, and the devices of the table."""

    launch: KernelLaunch

    @property
    def facts(self) -> list[str]:
        """Its figures: grid, operations, bytes, intensity."""
        launch = self.launch
        times = f", {number(launch.moved / launch.least)} times" if launch.least else ""
        return [
            f"{count(launch.blocks, 'block')} of {count(launch.threads, 'thread')}",
            f"{operations(launch.flops)}FLOP",
            f"{size(launch.moved)} asked of global memory{times} the least possible {size(launch.least)}",
            f"{number(intensity(launch))} FLOP/byte",
        ]

    @property
    def devices(self) -> list[DeviceRow]:
        """What each device could make of it."""
        return [DeviceRow(device, self.launch) for device in GPU_DEVICES.values()]


@dataclass(frozen=True)
class GpuContent:
    """What the pane draws."""

    report: KernelReport

    @property
    def launches(self) -> list[LaunchRows]:
        """The kernels."""
        return [LaunchRows(launch) for launch in self.report.launches]

    @property
    def drawings(self) -> list[dict[str, object]]:
        """What the drawing of each access needs."""
        return [
            {"steps": a.steps, "size": a.size, "scope": a.scope, "title": access_title(a)} for a in self.report.accesses
        ]


def intensity(launch: KernelLaunch) -> float:
    """Return the operations per byte that a launch asks of global memory."""
    return launch.flops / launch.moved if launch.moved else 0.0


def access_title(access: MemoryAccess) -> str:
    """Return what an access is called: ``reads A in global memory``."""
    return f"{'writes' if access.writes else 'reads'} {access.buffer} in {access.scope} memory"


def access_cost(access: MemoryAccess) -> str:
    """Return what an access costs a warp: sectors of global memory, ways of a conflict of shared memory."""
    if not access.pattern:
        return "known to a run only"
    if access.scope == "global":
        sectors = f"{number(access.sectors)} sectors"
        more = access.sectors > access.least_sectors
        return f"{sectors}, {number(access.least_sectors)} would do" if more else sectors
    return "no bank conflict" if access.ways <= 1 else f"{access.ways}-way bank conflict"


def produce_gpu(pane: Pane, selection: Selection) -> GpuContent | None:
    """Return what is known of the kernels of the function that is shown."""
    report = selection.function.device if selection.function is not None else None
    return GpuContent(report) if report is not None else None
