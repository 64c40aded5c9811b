"""The On a GPU pane: the check on the CPU, sanitizer reports, memory accesses and devices."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from app.kernel_reports import KernelLaunch, KernelReport, MatrixProduct, MemoryAccess, SanitizerResult
from app.panes.gpu_devices import DeviceRow, intensity
from app.panes.numbers import count, number, operations
from app.panes.pane import Pane
from app.panes.selection import Selection
from app.units import size
from compiler.target.gpu_devices import GPU_DEVICES


@dataclass(frozen=True)
class LaunchRows:
    """A kernel launch, with the devices of the table."""

    launch: KernelLaunch

    @property
    def facts(self) -> list[str]:
        """Its statistics: grid, operations, bytes, intensity."""
        launch = self.launch
        flops = operations(launch.flops)
        space = " " if flops[-1].isdigit() else ""  # else the letter of thousands stands before the unit: 918 kFLOP
        times = f", {number(launch.moved / launch.least)} times" if launch.least else ""
        return [
            f"{count(launch.blocks, 'block')} of {count(launch.threads, 'thread')}",
            f"{flops}{space}FLOP" if launch.flops else "no floating-point operation",
            f"{size(launch.moved)} requested from global memory{times} the minimum of {size(launch.least)}",
            f"{number(intensity(launch))} FLOP/byte",
        ]

    @property
    def devices(self) -> list[DeviceRow]:
        """Its performance limits on each device."""
        return [DeviceRow(key, device, self.launch) for key, device in GPU_DEVICES.items()]

    def products(self, report: KernelReport) -> list[MatrixProduct]:
        """Return its products of matrices."""
        return [product for product in report.products if product.kernel == self.launch.name]


_NO_FAULT: dict[SanitizerResult, str] = {
    "all": "✓ Sanitizer: no fault",
    "part": "Sanitizer: no fault so far",
    "nothing": "Not sanitized",
}


@dataclass(frozen=True)
class GpuContent:
    """The content of the pane."""

    report: KernelReport

    @property
    def launches(self) -> list[LaunchRows]:
        """The kernels."""
        return [LaunchRows(launch) for launch in self.report.launches]

    @property
    def faults(self) -> str:
        """Summary of the sanitizer's reports."""
        report = self.report
        return f"✗ Sanitizer: {count(len(report.faults), 'fault')}" if report.faults else _NO_FAULT[report.sanitized]

    @property
    def drawings(self) -> dict[str, object]:
        """The data for drawing each access and each product."""
        report = self.report
        return {
            "accesses": [
                {
                    "kernel": access.kernel,
                    "steps": msgspec.to_builtins(access.steps),
                    "shape": access.shape,
                    "element": access.element,
                    "size": access.size,
                    "scope": access.scope,
                    "known": bool(access.pattern),
                    "buffer": access.buffer,
                    "title": access_title(access),
                    "line": access.line,
                    "matrices": access.matrices,
                }
                for access in report.accesses
            ],
            "products": [
                {
                    "kernel": product.kernel,
                    "title": product.instruction,
                    "line": product.line,
                    "matrices": product.matrices,
                }
                for product in report.products
            ],
            "matrices": msgspec.to_builtins(report.matrices),
        }


def access_title(access: MemoryAccess) -> str:
    """Return the title of an access, e.g. ``reads A in global memory``."""
    by = f" by {access.instruction}" if access.instruction else ""
    return f"{'writes' if access.writes else 'reads'} {access.buffer} in {access.scope} memory{by}"


def access_cost(access: MemoryAccess) -> str:
    """Return the cost of an access per warp: sectors of global memory, or the degree of a bank conflict."""
    if not access.pattern:
        return "lanes not published" if access.steps else "known only at run time"
    if access.scope == "global":
        sectors = f"{number(access.sectors)} {'sector' if access.sectors == 1 else 'sectors'}"
        more = access.sectors > access.least_sectors
        return f"{sectors}, {number(access.least_sectors)} would suffice" if more else sectors
    return "no bank conflict" if access.ways <= 1 else f"{access.ways}-way bank conflict"


def produce_gpu(pane: Pane, selection: Selection) -> GpuContent | None:
    """Return the content for the kernels of the selected function."""
    report = selection.function.device if selection.function is not None else None
    return GpuContent(report) if report is not None else None
