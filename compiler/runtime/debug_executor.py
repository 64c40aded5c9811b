"""Runs the graph of a built model kernel by kernel, and measures each: ``tvm.contrib.debugger.debug_executor``."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from compiler.ir.error import ArgumentError, expected, show
from compiler.runtime.device import Device
from compiler.runtime.graph_executor import GraphExecutor
from compiler.runtime.graph_module import GraphModule
from compiler.runtime.measurement import measure
from compiler.runtime.module import Module
from compiler.runtime.ndarray import ArrayLike, NDArray, array

__all__ = ["GraphModuleDebug", "KernelTime", "Report", "create"]


@dataclass(frozen=True, slots=True)
class KernelTime:
    """How long one call of a kernel took.

    Parameters
    ----------
    name : str
        Of the kernel.
    seconds : float
        Its time.
    share : float
        Of the time of the run, between 0 and 1.
    """

    name: str
    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class Report:
    """The kernels of one run.

    Parameters
    ----------
    calls : sequence of KernelTime
        In order.
    """

    calls: Sequence[KernelTime]

    @property
    def seconds(self) -> float:
        """All kernels together."""
        return sum(call.seconds for call in self.calls)

    def table(self, sort: bool = True) -> str:
        """Return the kernels as text.

        Parameters
        ----------
        sort : bool
            Whether the longest comes first; else in order.

        Returns
        -------
        str
        """
        calls = sorted(self.calls, key=lambda c: -c.seconds) if sort else self.calls
        width = max([len(call.name) for call in self.calls] + [len("Name")])
        lines = [f"{'Name':{width}}  Duration (us)  Percent"]
        lines += [f"{c.name:{width}}{c.seconds * 1e6:15.2f}{c.share * 100:9.2f}" for c in calls]
        return "\n".join([*lines, "-" * (width + 24), f"{'Sum':{width}}{self.seconds * 1e6:15.2f}{100:9.2f}"])

    def csv(self) -> str:
        """Return the kernels as comma-separated values.

        Returns
        -------
        str
        """
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["Name", "Duration (us)", "Percent"])
        writer.writerows([c.name, c.seconds * 1e6, c.share * 100] for c in self.calls)
        return out.getvalue()

    def json(self) -> str:
        """Return the kernels as JSON.

        Returns
        -------
        str
        """
        return json.dumps({"calls": [asdict(c) for c in self.calls]})

    __str__ = table


class GraphModuleDebug(GraphModule):
    """A model whose kernels are measured one by one.

    Parameters
    ----------
    module : GraphExecutor
        What ``lib["default"](dev)`` returned.
    """

    def profile(self, collectors: object = None, **input_dict: ArrayLike) -> Report:
        """Run the model once and return how long each kernel took.

        Parameters
        ----------
        collectors : optional
            Accepted as TVM does.
        **input_dict : array_like or NDArray
            Inputs to set before, by name.

        Returns
        -------
        Report
        """
        self.set_input(None, None, **input_dict)
        self.module.run()  # what is done once only, is done
        times: list[tuple[str, float]] = []
        for name, thunk in self.module.thunks():
            started = time.perf_counter()
            thunk()
            times.append((name, time.perf_counter() - started))
        total = sum(seconds for _, seconds in times) or 1.0
        return Report([KernelTime(name, seconds, seconds / total) for name, seconds in times])

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
        graph = self.module.graph
        names = [n.name for n in graph.nodes]
        index = node if isinstance(node, int) else names.index(node) if node in names else -1
        if not 0 <= index < len(names):
            raise ArgumentError(f"debug_get_output: the graph has no node {show(node)}; it has {len(names)} nodes")
        for thunk in self.module.thunks_to(index):
            thunk()
        result = self.module.value_of(index)
        return array(result) if out is None else out.copyfrom(result)


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
        If the text is no graph of a built model.
    """
    if not isinstance(graph_json_str, str):
        expected("debug_executor.create", "graph_json_str", "a graph as JSON", type(graph_json_str).__name__)
    return GraphModuleDebug(GraphExecutor(graph_json_str, libmod, device))
