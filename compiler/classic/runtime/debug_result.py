"""The files that a debugged run writes: graph, kernel trace, and results of all nodes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.arrays.params import save_param_dict
from compiler.runtime.device import Device

__all__ = ["CHROME_TRACE_FILE_NAME", "GRAPH_DUMP_FILE_NAME", "TENSORS_FILE_NAME", "DebugResult"]

GRAPH_DUMP_FILE_NAME = "_tvmdbg_graph_dump.json"
CHROME_TRACE_FILE_NAME = "_tvmdbg_execution_trace.json"
TENSORS_FILE_NAME = "output_tensors.params"
_COLUMNS = ("Node Name", "Ops", "Time(us)", "Time(%)", "Shape", "Inputs", "Outputs", "Measurements(us)")


class DebugResult:
    """Writes what happens in a run of a graph to a folder named by the device.

    It is made in ``dump_root``; a temporary folder, removed by :meth:`remove`, by default.  ``nodes`` have their shapes
    and the names of their inputs, as they are written.
    """

    def __init__(self, graph_json: str, device: Device, dump_root: str | os.PathLike[str] | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="tvmdbg_") if dump_root is None else None
        self.root = self._temporary.name if self._temporary else os.fspath(dump_root or "")
        self.path = os.path.join(self.root, f"_tvmdbg_device_{device.kind.upper()}_{device.device_id}")
        os.makedirs(self.path, exist_ok=True)
        graph = json.loads(graph_json)
        self._rows = graph["node_row_ptr"]
        self._tensors: dict[str, NDArray] = {}
        self.nodes: list[dict[str, Any]] = []
        names = [node["name"] for node in graph["nodes"]]
        self._shapes: list[list[int]] = graph["attrs"]["shape"][1]
        self._dtypes: list[str] = graph["attrs"]["dltype"][1]
        for node, row in zip(graph["nodes"], self._rows, strict=False):
            attrs = node.get("attrs", {})
            called = "param" if node["op"] == "null" else attrs.get("func_name", node["op"])
            inputs = [names[given[0]] for given in node["inputs"]]
            typed = {**attrs, "T": f"type: {self._dtypes[row]}"}
            self.nodes.append({**node, "op": called, "inputs": inputs, "attrs": typed, "shape": self._shapes[row]})
        self._write(GRAPH_DUMP_FILE_NAME, {**graph, "nodes": self.nodes})

    def write_trace(self, seconds: Sequence[float]) -> None:
        """Write how long the nodes took, in seconds, for the viewer of Chrome."""
        events, now = [], 0.0
        for node, duration in zip(self.nodes, seconds, strict=True):
            for phase, at in (("B", now), ("E", now + duration * 1e6)):
                events.append({"ts": at, "tid": 1, "pid": 1, "name": node["name"], "ph": phase})
            now += duration * 1e6
        self._write(CHROME_TRACE_FILE_NAME, {"displayTimeUnit": "ns", "traceEvents": events})

    def write_tensors(self, values: Sequence[Sequence[NDArray]]) -> None:
        """Write all results of each node, as ``load_param_dict`` reads them."""
        self._tensors = {
            f"{node['name']}____topo-index:{index}____output-num:{number}": value
            for index, (node, results) in enumerate(zip(self.nodes, values, strict=True))
            for number, value in enumerate(results)
        }
        with open(os.path.join(self.path, TENSORS_FILE_NAME), "wb") as file:
            file.write(save_param_dict(self._tensors))

    def get_graph_nodes(self) -> list[dict[str, object]]:
        """Return the nodes in the order of the graph.

        Each has ``name``, ``op`` (``param`` for inputs and parameters), ``inputs``, ``attrs`` and ``shape``.
        """
        return self.nodes

    def get_graph_node_shapes(self) -> list[list[int]]:
        """Return the shape of every result of the nodes."""
        return self._shapes

    def get_graph_node_dtypes(self) -> list[str]:
        """Return the data type of every result of the nodes."""
        return self._dtypes

    def get_graph_node_output_num(self, node: Mapping[str, Any]) -> int:
        """Return how many results a node, one of :meth:`get_graph_nodes`, has."""
        return 1 if node["op"] == "param" else int(node["attrs"]["num_outputs"])

    def get_output_tensors(self) -> dict[str, NDArray]:
        """Return the results of the nodes in the last run, by names such as ``add____topo-index:2____output-num:0``."""
        return self._tensors

    def table(self, measured: Sequence[Sequence[float]], sort_by_time: bool = True) -> str:
        """Return a table of the kernels, given the measured seconds a call of each node.

        The longest stands first, or, without ``sort_by_time``, the first in the graph.
        """
        kernels = [
            (sum(times) / len(times) * 1e6, index)
            for index, times in enumerate(measured)
            if times and self.nodes[index]["op"] not in ("param", "__nop")
        ]
        total = sum(time for time, _ in kernels)
        rows: list[Sequence[str]] = [_COLUMNS, ["-" * len(column) for column in _COLUMNS]]
        for time, index in sorted(kernels, reverse=True) if sort_by_time else kernels:
            node, outputs = self.nodes[index], self._rows[index + 1] - self._rows[index]
            share = str(round(100 * time / total if total else 0.0, 3))
            shown = str([round(seconds * 1e6, 3) for seconds in measured[index]])
            shape, inputs = str(tuple(node["shape"])), str(len(node["inputs"]))
            rows.append((node["name"], node["op"], f"{time:.3f}", share, shape, inputs, str(outputs), shown))
        rows.append(("Total_time", "-", f"{total:.3f}", *"-----"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("".join(cell.ljust(w + 2) for cell, w in zip(row, widths, strict=True)) for row in rows)

    def remove(self) -> None:
        """Remove the folder, if it is a temporary one."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def _write(self, name: str, content: object) -> None:
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=4)
