"""Reports on kernels without a GPU: warp accesses, emulation, sanitizer."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from app.artifacts import Mode
from app.kernel_reports import KernelLaunch, KernelReport, MatrixMap, MatrixProduct, MemoryAccess, WarpSteps
from app.recorder.gpus.device_code import DeviceCode
from app.recorder.gpus.kernel_checks import check_kernels
from app.recorder.gpus.matrix_instructions import MatrixUse, matrix_uses
from app.recorder.units.subjects import FunctionSubject
from compiler.driver.launch_plan import shared_bytes
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.origin import user_line
from compiler.tir.statements.function import PrimFunc
from compiler.tir.warp_access import KernelAccesses, Walkthrough, WarpAccess, explain_kernels, walk_through
from compiler.tir.warp_access.index_values import DataDependentError

MAX_ACCESSES, MAX_LAUNCHES, MAX_PRODUCTS, MAX_MAPS = 60, 20, 20, 60


def report_kernels(function: FunctionSubject, code: DeviceCode, mode: Mode) -> KernelReport:
    """Report on the kernels of a function.

    Parameters
    ----------
    mode : str
        The mode of the request, which limits the work.
    """
    with uninstrumented():
        kernels = explain_kernels(code.kernels)[:MAX_LAUNCHES]
        flops = sum(kernel.flops for kernel in kernels)
        maps, shapes = _Maps(), _shapes(function)
        accesses, products = [], []
        for kernel in kernels:
            uses = matrix_uses(kernel)
            in_order = _in_order(kernel, uses)
            accesses += [(kernel, access, use) for access, use in in_order]
            kernel.accesses = [access for access, _ in in_order]
            for access in kernel.accesses:
                if access.scope == "global" and access.addresses is not None and access.buffer in shapes:
                    kernel.footprint.setdefault(access.buffer, prod(shapes[access.buffer]) * access.site.element)
            products += _products(kernel, [use for use in uses if use.access is None], maps)
        checks = check_kernels(function, code.kind, flops, mode)
    return KernelReport(
        launches=[_launch(kernel, _dynamic_bytes(code.kernels, kernel.name)) for kernel in kernels],
        accesses=[_access(kernel, access, shapes, use, maps) for kernel, access, use in accesses[:MAX_ACCESSES]],
        products=products[:MAX_PRODUCTS],
        matrices=maps.made,
        emulated=checks.emulated,
        error=checks.error,
        emulation=checks.emulation,
        faults=checks.faults,
        sanitized=checks.sanitized,
        sanitizer=checks.sanitizer,
    )


def _dynamic_bytes(kernels: IRModule, name: str) -> int:
    kernel = kernels[name]
    return shared_bytes(kernel, "shared.dyn") if isinstance(kernel, PrimFunc) else 0


def _launch(kernel: KernelAccesses, dynamic_bytes: int) -> KernelLaunch:
    return KernelLaunch(
        name=kernel.name,
        blocks=kernel.blocks,
        threads=kernel.threads,
        flops=kernel.flops,
        moved=kernel.moved,
        least=kernel.least,
        matrix_types=_matrix_types(kernel),
        dynamic_bytes=dynamic_bytes,
    )


def _matrix_types(kernel: KernelAccesses) -> str:
    """Return the tensor core data types that do most of a kernel's operations; empty if other operations dominate."""
    most = max(kernel.matrix_flops, key=lambda types: kernel.matrix_flops[types], default="")
    return most if most and 2 * kernel.matrix_flops[most] > kernel.flops else ""


class _Maps:
    """Maps of matrices, each once."""

    def __init__(self) -> None:
        self.made: list[MatrixMap] = []

    def positions(self, use: MatrixUse) -> list[int]:
        """Return where the maps of an instruction are."""
        new = [each for each in use.matrices if each not in self.made]
        if len(self.made) + len(new) > MAX_MAPS:
            return []
        self.made += new
        return [self.made.index(each) for each in use.matrices]


def _in_order(kernel: KernelAccesses, uses: list[MatrixUse]) -> list[tuple[WarpAccess, MatrixUse | None]]:
    """Return the accesses of a kernel in the order of the program, those of matrix instructions among them."""
    made: list[tuple[float, WarpAccess, MatrixUse | None]] = [
        (at, access, None) for at, access in enumerate(kernel.accesses)
    ]
    made += [(use.before - 0.5, use.access, use) for use in uses if use.access is not None]
    return [(access, use) for _, access, use in sorted(made, key=lambda each: each[0])]


def _products(kernel: KernelAccesses, uses: list[MatrixUse], maps: _Maps) -> list[MatrixProduct]:
    """Return the products of a kernel, those that a line of the script repeats together."""
    made: dict[tuple[str, int | None], MatrixProduct] = {}
    for use in uses:
        line = user_line(use.node.span)
        same = made.get((use.instruction, line))
        made[use.instruction, line] = MatrixProduct(
            kernel=kernel.name,
            instruction=use.instruction,
            matrices=same.matrices if same is not None else maps.positions(use),
            executions=use.executions + (same.executions if same is not None else 0),
            line=line,
            origins=sorted({*use.node.span, *(same.origins if same is not None else ())}),
        )
    return list(made.values())


def _access(
    kernel: KernelAccesses, access: WarpAccess, shapes: Mapping[str, list[int]], use: MatrixUse | None, maps: _Maps
) -> MemoryAccess:
    return MemoryAccess(
        kernel=kernel.name,
        buffer=access.buffer,
        scope=access.scope,
        writes=access.writes,
        size=access.size,
        pattern=access.pattern or "",
        sectors=access.sectors or 0.0,
        least_sectors=access.least_sectors or 0.0,
        ways=access.ways or 0,
        executions=access.executions,
        moved=(access.moved or 0.0) if access.scope == "global" else 0.0,
        exact=access.exact,
        shape=shapes.get(access.buffer, []) if access.scope == "global" else [],
        element=access.site.element,
        instruction=use.instruction if use is not None else "",
        matrices=maps.positions(use) if use is not None else [],
        steps=_steps_of(access, use),
        line=user_line(access.node.span),
        origins=sorted(access.node.span),
    )


def _steps_of(access: WarpAccess, use: MatrixUse | None) -> WarpSteps | None:
    """Return where the lanes go, or where the matrix begins of an instruction that hides what its lanes do."""
    try:
        return None if access.addresses is None and use is None else _steps(walk_through(access.site))
    except DataDependentError:
        return None


def _steps(walk: Walkthrough) -> WarpSteps:
    """Return the access patterns of warps, each once."""
    lanes = walk.addresses.reshape(-1, walk.addresses.shape[-1])
    busy = lanes >= 0
    first = np.where(busy, lanes, np.iinfo("int64").max).min(axis=1)
    first = np.where(busy.any(axis=1), first, 0)
    patterns, which = np.unique(np.where(busy, lanes - first[:, None], -1), axis=0, return_inverse=True)
    return WarpSteps(
        blocks=walk.blocks,
        iterations=walk.iterations,
        all_iterations=walk.all_iterations,
        warps=walk.addresses.shape[2],
        patterns=patterns.tolist(),
        places=list(zip(which.reshape(-1).tolist(), first.tolist(), strict=True)),
    )


def _shapes(function: FunctionSubject) -> dict[str, list[int]]:
    """Return the constant shapes of a function's arguments by name."""
    module = function.lowered.functions.values() if function.lowered is not None else ()
    buffers = [buffer for func in module if isinstance(func, PrimFunc) for buffer in func.buffer_map.values()]
    shapes = {
        buffer.name: [extent.value for extent in buffer.shape if isinstance(extent, IntImm)] for buffer in buffers
    }
    return {buffer.name: shapes[buffer.name] for buffer in buffers if len(shapes[buffer.name]) == len(buffer.shape)}
