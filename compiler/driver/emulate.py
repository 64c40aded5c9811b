"""Emulates device code on the CPU."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.driver.build import build
from compiler.driver.device_pipeline import synchronize
from compiler.driver.lower import lower
from compiler.ir.error import TargetError
from compiler.ir.module import IRModule
from compiler.runtime.modules.module import Module
from compiler.target.target import Target
from compiler.te.lowering.to_tir import Argument, Binds
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.analysis import is_lowered
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.legalize.lower_dot_products import LowerDotProducts
from compiler.tir.transform.simplify import Simplify
from compiler.tir.transform.threads.emulate_threads import EmulateThreads


def emulate(
    inputs: Schedule | PrimFunc | IRModule,
    args: Sequence[Argument] | None = None,
    target: str | Target | None = None,
    name: str = "main",
    binds: Binds | None = None,
) -> Module:
    """Compile a program for a GPU so that it runs on this machine's CPU.

    The kernels are those of the device, with its barriers and its reductions across threads: blocks run in parallel,
    the threads of a block take turns from barrier to barrier.  By default the device is the current target, else
    ``cuda``; code is generated for its host, where that is a CPU like this one.

    Examples
    --------
    >>> f = emulate(s, [A, B], "cuda")
    >>> f(a, b)
    """
    module, device = lowered_for_device(inputs, args, target, name, binds)
    host = device.host if device.host is not None and device.host.is_host else "llvm"
    return build(lower_for_emulation(module, device), target=host, name=name)


def lowered_for_device(
    inputs: Schedule | PrimFunc | IRModule,
    args: Sequence[Argument] | None,
    target: str | Target | None,
    name: str = "main",
    binds: Binds | None = None,
) -> tuple[IRModule, Target]:
    """Return a program as loops bound to thread axes, and the device's target, ``cuda`` if there is none."""
    device = Target(target) if target is not None else Target.current() or Target("cuda")
    if isinstance(inputs, IRModule) and all(is_lowered(f) for _, f in inputs.items() if isinstance(f, PrimFunc)):
        return inputs, device
    return lower(inputs, args, name=name, binds=binds), device


def lower_for_emulation(module: IRModule, target: Target) -> IRModule:
    """Lower functions that launch threads to functions of a CPU that do the same."""
    if "gpu" not in target.keys:
        raise TargetError(f"emulate: target {str(target)!r} launches no kernels; run the function that build returns")
    module = synchronize(module, target)
    for each in (LowerDotProducts(), EmulateThreads(max(target.thread_warp_size, 1)), Simplify()):
        module = each.run_if_enabled(module)
    return module.with_functions({var: _for_cpu(func) for var, func in module.items()})


def _for_cpu(func: object) -> object:
    return func.without_attr("target") if isinstance(func, PrimFunc) else func
