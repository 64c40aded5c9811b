"""Runs the graph of a built model kernel by kernel, and measures each: ``tvm.contrib.debugger.debug_executor``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ArgumentError, expected, show
from compiler.runtime.device import Device
from compiler.runtime.graph_executor import GraphExecutor
from compiler.runtime.graph_module import GraphModule
from compiler.runtime.measurement import BenchmarkResult, measure
from compiler.runtime.module import Module
from compiler.runtime.ndarray import ArrayLike, NDArray, array
from compiler.runtime.profile_report import Report
from compiler.runtime.profiling import MetricCollector, Profiler, argument_shapes

__all__ = ["GraphModuleDebug", "create"]


class GraphModuleDebug(GraphModule):
    """A model whose kernels are measured one by one.

    Parameters
    ----------
    module : GraphExecutor
        What ``lib["default"](dev)`` or ``lib["debug_create"]("default", dev)`` returned.
    device : Device or sequence of Device, optional
        Where it runs: the executor knows.
    graph_json_str : str, optional
        The executor's graph, which it knows as well.
    dump_root : optional
        Accepted as TVM does; nothing is written.
    """

    def __init__(
        self,
        module: GraphExecutor,
        device: Device | Sequence[Device] | None = None,
        graph_json_str: str | None = None,
        dump_root: object = None,
    ) -> None:
        super().__init__(module)

    def profile(self, collectors: Sequence[MetricCollector] | None = None, **input_dict: ArrayLike) -> Report:
        """Run the model once and return how long each kernel took.

        Parameters
        ----------
        collectors : sequence of MetricCollector, optional
            What measures beside the time.
        **input_dict : array_like or NDArray
            Inputs to set before, by name.

        Returns
        -------
        Report
        """
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
        """Measure every kernel by itself, in the order of the graph.

        Parameters
        ----------
        number : int
            Calls that one measurement averages over.
        repeat : int
            Measurements of each kernel.
        min_repeat_ms : int
            A measurement lasts at least this many milliseconds: ``number`` grows until it does.

        Returns
        -------
        list of list of float
            Seconds a call, for each kernel one value for each repeat.
        """
        self.module.run()
        return [measure(thunk, number, repeat, min_repeat_ms / 1e3)[1] for _, thunk in self.module.thunks()]

    def run_individual_node(
        self, index: int, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0
    ) -> BenchmarkResult:
        """Measure one node by itself.

        Parameters
        ----------
        index : int
            Number of the node.
        number : int
            Calls that one measurement averages over.
        repeat : int
            Measurements.
        min_repeat_ms : int
            A measurement lasts at least this many milliseconds: ``number`` grows until it does.

        Returns
        -------
        BenchmarkResult
            Zeros for a node that computes nothing.

        Raises
        ------
        ArgumentError
            If the graph has no such node.
        """
        self.module.run()
        thunk = self.module.thunk(self._node("run_individual_node", index))
        if thunk is None:
            return BenchmarkResult([0.0] * repeat)
        return BenchmarkResult(measure(thunk, number, repeat, min_repeat_ms / 1e3)[1])

    def debug_get_output(self, node: int | str, out: NDArray | None = None) -> NDArray:
        """Run the model up to a node and return the node's first result.

        Parameters
        ----------
        node : int or str
            By number or name.
        out : NDArray, optional
            Where to copy the result to; a new array when left out.

        Returns
        -------
        NDArray

        Raises
        ------
        ArgumentError
            If the graph has no such node.
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


def create(graph_json_str: str, libmod: Module, device: Device, dump_root: object = None) -> GraphModuleDebug:
    """Return the executor of a graph whose parameters are yet to be set.

    Parameters
    ----------
    graph_json_str : str
        What ``lib.get_graph_json()`` returns.
    libmod : Module
        The kernels, as ``lib.get_lib()`` returns them.
    device : Device
        Where it runs.
    dump_root : optional
        Accepted as TVM does; nothing is written.

    Returns
    -------
    GraphModuleDebug

    Raises
    ------
    ArgumentError
        If the text is not a graph of a built model.
    """
    if not isinstance(graph_json_str, str):
        expected("debug_executor.create", "graph_json_str", "a graph as JSON", type(graph_json_str).__name__)
    return GraphModuleDebug(GraphExecutor(graph_json_str, libmod, device))
