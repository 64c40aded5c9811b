"""Kernels of a built graph: compiles one down to assembly, and times all in a run of the model."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection

import numpy as np

from app.recorder.measuring.measure import time_call
from app.recorder.recorder import Recorder
from app.recorder.scripts.allowance import Allowance
from app.recorder.units.subjects import GraphSubject
from compiler.driver.build import build
from compiler.driver.lower import lower_program
from compiler.driver.relay.build import BuiltGraph
from compiler.driver.relay.kernels import KernelModule
from compiler.driver.relay.lower import LoweredKernel, lower_group
from compiler.ir.instrument import uninstrumented
from compiler.relay.function import Function
from compiler.runtime.device import cpu
from compiler.runtime.graph import parse_graph
from compiler.runtime.graph.graph_executor import GraphExecutor
from compiler.runtime.timing.clock import Duration
from compiler.runtime.vm import Executable

MEASURING_SECONDS = 3.0
"""The time limit for measuring the kernels of a model after its script."""
MEASURING_PATIENCE = 5
"""How many times as long it may take while the process has no processor."""
REPEATS = 7

Built = BuiltGraph | Executable | None


def show_kernel(graph: GraphSubject, name: str, recorder: Recorder) -> bool:
    """Lower and build a kernel again, recorded like a user's function; return whether it exists."""
    kernel = kernels_of(graph.built).get(name)
    if kernel is None or graph.target is None:
        return False
    if kernel.replaced is None:
        lower_group(kernel.function, name, graph.target)
    elif kernel.definition.program is not None:
        lower_program(kernel.definition.program, None, name)
    else:
        recorder.schedule_created(kernel.schedule)
        lower_program(kernel.schedule, [*kernel.inputs, *kernel.outputs], name)
    # The recorded module itself, so that its code belongs to the same function.
    function = recorder.functions.last
    assert function is not None
    assert function.lowered is not None
    build(function.lowered, target=graph.target, name=name)
    return True


def hottest_kernel(graph: GraphSubject) -> str | None:
    """Return the kernel that does the most operations in a run of the model."""
    kernels = kernels_of(graph.built)
    groups = kernel_groups(graph.built)
    return max(kernels, key=lambda name: (kernels[name].flops or 0) * len(groups[name]), default=None)


def kernels_of(built: Built) -> dict[str, LoweredKernel]:
    """Return the lowered kernels of a built graph or virtual machine program, by name."""
    lib = built.get_lib() if isinstance(built, BuiltGraph) else None if built is None else built.lib
    return lib.kernels if isinstance(lib, KernelModule) else {}


def kernel_groups(built: Built) -> dict[str, list[Function]]:
    """Return the operator groups of each kernel, one per call in a run of the model.

    With control flow, the number of calls is unknown, and each kernel has one group.
    """
    kernels = kernels_of(built)
    if not isinstance(built, BuiltGraph):
        return {name: [kernel.function] for name, kernel in kernels.items()}
    groups: dict[str, list[Function]] = {name: [] for name in kernels}
    called = [node.attrs["func_name"] for node in parse_graph(built.graph_json).nodes if node.op == "tvm_op"]
    for name, call in zip(called, built.program.calls, strict=True):
        if name in groups:
            groups[name].append(call.function)
    return groups


def why_unmeasured(built: Built) -> str:
    """Return why the kernels of a model are not measured; empty if they are."""
    if not isinstance(built, BuiltGraph):
        return "not measured: control flow decides how often each is called"
    return "not measured: kernels of a device are not launched here" if built.get_lib().imported_modules else ""


def measure_kernels(built: Built) -> dict[str, list[Duration]]:
    """Measure each call of each kernel in one run, unless there is not enough time for all."""
    if not isinstance(built, BuiltGraph) or why_unmeasured(built):
        return {}
    allowance = Allowance(MEASURING_SECONDS, MEASURING_PATIENCE * MEASURING_SECONDS)
    with uninstrumented():
        executor = built[built.libmod_name](cpu(0))
        fill_inputs(executor)
        times: dict[str, list[Duration]] = {}
        for name, thunk in executor.thunks():
            if allowance.left <= 0:
                return {}  # some of the kernels would look like all of them
            times.setdefault(name, []).append(_time(thunk))
    return times


def fill_inputs(executor: GraphExecutor, params: Collection[str] = ()) -> None:
    """Set reproducible random inputs of a model; parameters keep their values."""
    random = np.random.default_rng(0)
    for name in executor.input_names:
        if name not in params:
            held = executor.get_input(name)
            executor.set_input(name, random.random(held.shape).astype(held.dtype))


def _time(thunk: Callable[[], object]) -> Duration:
    """Return the median time of a call, after a warm-up."""
    thunk()
    return statistics.median_low(time_call(thunk) for _ in range(REPEATS))
