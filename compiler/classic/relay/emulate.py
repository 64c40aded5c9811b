"""Emulates a graph built for a device on the CPU."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.driver.build_device import is_device
from compiler.driver.relay.build import BuiltGraph, as_module, build_graph, build_target
from compiler.ir.error import TargetError
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import ArrayLike
from compiler.target.target import Target


def emulate_graph(
    ir_mod: IRModule | Function,
    target: str | Target = "cuda",
    params: Mapping[str, ArrayLike] | None = None,
    mod_name: str = "default",
) -> BuiltGraph:
    """Compile a graph for a device so that it runs on this machine's CPU.

    The kernels are those that ``relay.build`` makes for the device, called in the same order: blocks run in parallel,
    the threads of a block take turns from barrier to barrier.
    """
    chosen = build_target(target, devices=True)
    if not is_device(chosen):
        raise TargetError(f"emulate_graph: target {str(chosen)!r} launches no kernels; relay.build runs its code")
    return build_graph(as_module("emulate_graph", ir_mod), chosen, params, mod_name, is_emulated=True)
