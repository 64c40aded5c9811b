"""One kernel of a graph down to its assembly, and the time of every kernel in a run of the model."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

from app.recorder.graph_watch import GraphRecord
from app.recorder.watch import Watcher
from compiler.driver.build import build
from compiler.driver.relay.build import BuiltGraph
from compiler.driver.relay.kernels import KernelModule
from compiler.driver.relay.lower import lower_group
from compiler.ir.instrument import uninstrumented
from compiler.runtime.device import cpu
from compiler.runtime.graph import parse_graph

MEASURING_SECONDS = 3.0
"""Time that measuring the kernels of a model may take after its script."""
REPEATS = 7


def show_kernel(record: GraphRecord, name: str, watcher: Watcher) -> bool:
    """Lower and build a kernel once more, watched like a user's own function; return whether there is such a kernel."""
    kernel = kernels_of(record.built).get(name)
    if kernel is None:
        return False
    lower_group(kernel.function, name, record.target)
    # The very module that was watched being lowered: its code belongs to the same unit.
    module = watcher.units[-1].lowered
    assert module is not None
    build(module, target=record.target, name=name)
    return True


def dearest_kernel(record: GraphRecord) -> str | None:
    """Return the kernel with the most operations in a run of the model."""
    kernels = kernels_of(record.built)
    calls = kernel_calls(record.built)
    return max(kernels, key=lambda name: (kernels[name].flops or 0) * calls[name], default=None)


def kernels_of(built: Any) -> dict[str, Any]:
    """Return the lowered kernels of a built graph, or of a program of the virtual machine, by name."""
    lib = built.get_lib() if isinstance(built, BuiltGraph) else built.lib
    return lib.kernels if isinstance(lib, KernelModule) else {}


def kernel_calls(built: Any) -> Counter[str]:
    """Return how often a run of the model calls each kernel; a program with control flow says nothing of that."""
    if not isinstance(built, BuiltGraph):
        return Counter(dict.fromkeys(kernels_of(built), 1))
    graph = parse_graph(built.graph_json)
    return Counter(node.attrs["func_name"] for node in graph.nodes if node.op == "tvm_op")


def measure_kernels(built: Any) -> dict[str, float]:
    """Return the seconds that all calls of each kernel take in one run, as far as there is time to measure."""
    if not isinstance(built, BuiltGraph):
        return {}
    until = time.perf_counter() + MEASURING_SECONDS
    with uninstrumented():
        executor = built[built.libmod_name](cpu(0))
        _fill_inputs(executor)
        seconds: dict[str, float] = {}
        for name, thunk in executor.thunks():
            if time.perf_counter() > until:
                return {}  # half of the kernels would look like all of them
            seconds[name] = seconds.get(name, 0.0) + _time(thunk)
    return seconds


def _fill_inputs(executor: Any) -> None:
    random = np.random.default_rng(0)
    for name in executor.input_names:
        held = executor.get_input(name)
        executor.set_input(name, random.random(held.shape).astype(held.dtype))


def _time(thunk: Any) -> float:
    """Return the median time of a call, a first one not counted."""
    thunk()
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        thunk()
        taken.append(time.perf_counter() - started)
    return float(np.median(taken))
