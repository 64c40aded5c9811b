"""``tvm.contrib.debugger.debug_executor``: runs a graph kernel by kernel, and times each."""

from __future__ import annotations

import os
from collections.abc import Sequence

from compiler.classic.runtime.debug_result import DebugResult
from compiler.classic.runtime.profiling import MetricCollector, Profiler, argument_shapes
from compiler.classic.runtime.report import Report
from compiler.ir.deprecation import renamed_parameter
from compiler.ir.error import ArgumentError, expected, show
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array
from compiler.runtime.device import Device
from compiler.runtime.graph.graph_executor import GraphExecutor
from compiler.runtime.graph.graph_module import GraphModule
from compiler.runtime.modules.module import Module
from compiler.runtime.timing.measurement import BenchmarkResult, Thunk, measure


class GraphModuleDebug(GraphModule):
    """A model whose kernels are measured one by one; ``module`` is the executor of a graph, and knows its device.

    Where its graph is given as well (``graph_json_str``), the graph, and after each run the times and the results of
    all nodes are written to files, in a folder in ``dump_root``, or in a temporary one, which :meth:`exit` removes.
    """

    def __init__(
        self,
        module: GraphExecutor,
        device: Device | Sequence[Device] | None = None,
        graph_json_str: str | None = None,
        dump_root: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(module)
        self.debug_datum = None if graph_json_str is None else DebugResult(graph_json_str, module.device, dump_root)

    @property
    def _dump_root(self) -> str | None:
        return None if self.debug_datum is None else self.debug_datum.root

    @property
    def _dump_path(self) -> str | None:
        return None if self.debug_datum is None else self.debug_datum.path

    def run(  # type: ignore[override] # a model may not have inputs of these names, as in TVM
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 1,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        sort_by_time: bool = True,
        **input_dict: ArrayLike,
    ) -> None:
        """Set inputs, if any are given, and run the model; print the times of its kernels where files are written.

        Kernels are measured as by :meth:`run_individual`, and printed in the graph's order unless ``sort_by_time`` puts
        the longest first.  The other options of TVM have no effect: no measurement lasts no time, and nothing waits
        between them.
        """
        if input_dict:
            self.set_input(None, None, **input_dict)
        if self.debug_datum is not None:
            self._write_run(self.debug_datum, (number, repeat, min_repeat_ms / 1e3), sort_by_time)
        self.module.run()

    def _write_run(self, debug_datum: DebugResult, rounds: tuple[int, int, float], sort_by_time: bool) -> None:
        values: list[list[NDArray]] = []
        thunks = self._thunks()
        for index, thunk in enumerate(thunks):
            if thunk is not None:
                thunk()
            # nodes share memory: a later one may write over these
            values.append([array(value.view()) for value in self.module.results_of(index)])
        measured = [[] if thunk is None else measure(thunk, *rounds)[1] for thunk in thunks]
        debug_datum.write_trace([sum(times) / max(len(times), 1) for times in measured])
        debug_datum.write_tensors(values)
        print(debug_datum.table(measured, sort_by_time))

    def exit(self) -> None:
        """Remove the temporary folder of the files."""
        if self.debug_datum is not None:
            self.debug_datum.remove()

    def profile(self, collectors: Sequence[MetricCollector] | None = None, **input_dict: ArrayLike) -> Report:
        """Run the model once and return how long each kernel took."""
        self.set_input(None, None, **input_dict)
        self.module.run()  # what is done once only, is done
        nodes = self.module.graph.nodes
        profiler = Profiler(self.module.device, "Graph", collectors)
        for index, name in self.module.calls():
            thunk = self.module.thunk(index)
            if thunk is not None:
                shapes = argument_shapes(self.module.arguments(index))
                profiler.measure(thunk, Name=name, Argument_Shapes=shapes, Hash=nodes[index].attrs.get("hash", ""))
        return profiler.report()

    def run_individual(self, number: int, repeat: int = 1, min_repeat_ms: int = 0) -> list[list[float]]:
        """Measure every node by itself: seconds a call, for each node of the graph one value for each repeat.

        A measurement lasts at least ``min_repeat_ms`` milliseconds: ``number`` grows until it does.  A node that
        computes nothing has zeros.
        """
        self.module.run()
        return [
            [0.0] * repeat if thunk is None else measure(thunk, number, repeat, min_repeat_ms / 1e3)[1]
            for thunk in self._thunks()
        ]

    def _thunks(self) -> list[Thunk | None]:
        """Return what makes the call of each node; None of one that computes nothing."""
        nodes = enumerate(self.module.graph.nodes)
        return [self.module.thunk(index) if node.op == "tvm_op" else None for index, node in nodes]

    def run_individual_node(
        self, index: int, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0
    ) -> BenchmarkResult:
        """Measure one node by itself, as :meth:`run_individual` does."""
        self.module.run()
        thunk = self.module.thunk(self._node("run_individual_node", index))
        if thunk is None:
            return BenchmarkResult([0.0] * repeat)
        return BenchmarkResult(measure(thunk, number, repeat, min_repeat_ms / 1e3)[1])

    def debug_get_output(self, node: int | str, out: NDArray | None = None) -> NDArray:
        """Run the model up to a node, by number or name, and return its first result, copied to ``out`` if given.

        Raises ArgumentError if the graph has no such node.
        """
        index = self._node("debug_get_output", node)
        for thunk in self.module.thunks_to(index):
            thunk()
        result = self.module.value_of(index)
        return array(result) if out is None else out.copyfrom(result)

    def _node(self, operation: str, node: int | str) -> int:
        """Return the number of a node that is given by number or name."""
        names = [n.name for n in self.module.graph.nodes]
        index = node if isinstance(node, int) else names.index(node) if node in names else -1
        if not 0 <= index < len(names):
            raise ArgumentError(f"{operation}: the graph has no node {show(node)}; it has {len(names)} nodes")
        return index


@renamed_parameter("ctx", "device")
def create(
    graph_json_str: str,
    libmod: Module,
    device: Device | Sequence[Device],
    dump_root: str | os.PathLike[str] | None = None,
) -> GraphModuleDebug:
    """Return the executor of a graph whose parameters are yet to be set.

    ``graph_json_str`` and ``libmod`` are what ``lib.get_graph_json()`` and ``lib.get_lib()`` return; the folder of what
    a run leaves is made in ``dump_root``, a temporary one by default.
    """
    if not isinstance(graph_json_str, str):
        expected("debug_executor.create", "graph_json_str", "a graph as JSON", type(graph_json_str).__name__)
    where = device if isinstance(device, Device) else device[0]
    return GraphModuleDebug(GraphExecutor(graph_json_str, libmod, where), where, graph_json_str, dump_root)
