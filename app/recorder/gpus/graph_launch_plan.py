"""The launch plan of a device graph, over its planned storage."""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.driver.launch_plan import LaunchPlan, along, shared_bytes
from compiler.driver.relay.build import BuiltGraph
from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.runtime.arrays.ndarray import from_dlpack, numpy_dtype
from compiler.runtime.modules.device_module import DeviceModule
from compiler.runtime.modules.launches import DeviceMemory, Launch
from compiler.runtime.numpy_types import NumPyArray

NO_OPERATION = "__nop"


@dataclass(frozen=True, slots=True)
class GraphValue:
    """An input or an output of a graph."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class GraphLaunchPlan:
    """The launches of a graph, whose parameters are the inputs and then the outputs.

    ``constants`` are the weights, by position in the memory.
    """

    plan: LaunchPlan
    inputs: list[GraphValue]
    outputs: list[GraphValue]
    constants: dict[int, NumPyArray]


def graph_launch_plan(built: BuiltGraph) -> GraphLaunchPlan:
    """Return what a graph for a device with a source language launches; its host runs here, and launches nothing."""
    return _LaunchRecorder(built).made()


class _LaunchRecorder:
    """Calls the operators of a graph, and notes their launches."""

    def __init__(self, built: BuiltGraph) -> None:
        graph = json.loads(built.graph_json)
        attributes = {name: value[1] for name, value in graph["attrs"].items()}
        self._nodes, self._first = graph["nodes"], graph["node_row_ptr"]
        self._heads = [self._entry(*head[:2]) for head in graph["heads"]]
        self._storage: list[int] = attributes["storage_id"]
        self._shapes = [tuple(shape) for shape in attributes["shape"]]
        self._dtypes: list[str] = attributes["dltype"]
        self._params: Mapping[str, Any] = built.params
        self._lib = built.get_lib()
        modules = [module for module in self._lib.imported_modules if isinstance(module, DeviceModule)]
        if len(modules) != 1:
            raise LoweringError(f"graph_launch_plan: expected the kernels of one device, got {len(modules)}")
        self._kernels = modules[0]
        self._bytes = [0] * (max(self._storage) + 1)
        for entry, storage in enumerate(self._storage):
            size = math.prod(self._shapes[entry]) * dt.storage_bytes(self._dtypes[entry])
            self._bytes[storage] = max(self._bytes[storage], size)
        self._memory = [np.zeros(max(size, 1), "uint8") for size in self._bytes]
        self._positions = {memory.ctypes.data: position for position, memory in enumerate(self._memory)}
        self._launches: list[Launch] = []

    def made(self) -> GraphLaunchPlan:
        self._kernels.launcher = self._launch
        try:
            for number, node in enumerate(self._nodes):
                if node["op"] == "tvm_op" and node["attrs"]["func_name"] != NO_OPERATION:
                    self._call(number, node)
        finally:
            self._kernels.launcher = None
        sources = [self._entry(number, 0) for number, node in enumerate(self._nodes) if node["op"] == "null"]
        names = {self._entry(number, 0): node["name"] for number, node in enumerate(self._nodes)}
        inputs = [entry for entry in sources if names[entry] not in self._params]
        constants = {self._storage[e]: self._params[names[e]].view() for e in sources if names[e] in self._params}
        memory = self._planned([*inputs, *self._heads])
        return GraphLaunchPlan(
            LaunchPlan(memory, self._launches, self._kernels.get_source()),
            [self._value(entry, names[entry]) for entry in inputs],
            [self._value(entry, f"output {place}") for place, entry in enumerate(self._heads)],
            constants,
        )

    def _planned(self, parameters: list[int]) -> list[DeviceMemory]:
        """Return the storage; entries that are parameters have some of their own."""
        places = {self._storage[entry]: place for place, entry in enumerate(parameters)}
        if len(places) < len(parameters):
            raise LoweringError("graph_launch_plan: an output of the graph is one of its inputs, or another output")
        dtypes = dict(zip(self._storage, self._dtypes, strict=True))
        dtypes.update({self._storage[entry]: self._dtypes[entry] for entry in parameters})
        return [
            DeviceMemory(
                f"storage {number}", dtypes[number], size // dt.storage_bytes(dtypes[number]), places.get(number)
            )
            for number, size in enumerate(self._bytes)
        ]

    def _entry(self, node: int, output: int) -> int:
        return int(self._first[node]) + output

    def _value(self, entry: int, name: str) -> GraphValue:
        return GraphValue(name, self._shapes[entry], self._dtypes[entry])

    def _call(self, number: int, node: dict[str, Any]) -> None:
        entries = [self._entry(*source[:2]) for source in node["inputs"]]
        entries += [self._entry(number, output) for output in range(int(node["attrs"]["num_outputs"]))]
        before = len(self._launches)
        name = node["attrs"]["func_name"]
        self._lib[name](*(from_dlpack(self._view(entry)) for entry in entries))
        if len(self._launches) == before:
            raise LoweringError(f"graph_launch_plan: {name} runs on the host, not on the device")

    def _view(self, entry: int) -> NumPyArray:
        """Return an array that lies where the executor has the values of an entry."""
        shape, dtype = self._shapes[entry], numpy_dtype(self._dtypes[entry])
        size = math.prod(shape) * dtype.itemsize
        return self._memory[self._storage[entry]][:size].view(dtype).reshape(shape)

    def _launch(self, name: str, arguments: tuple[object, ...], extents: Mapping[str, int]) -> None:
        func = self._kernels.kernels[name]
        memory: list[int] = []
        numbers: list[tuple[str, int | float]] = []
        for param, argument in zip(func.params, arguments, strict=True):
            if isinstance(argument, int | float):
                numbers.append((param.dtype, argument))
            elif isinstance(argument, ctypes.c_void_p) and argument.value in self._positions:
                memory.append(self._positions[argument.value])
            else:
                raise LoweringError(f"graph_launch_plan: {name} uses memory that its host allocates between kernels")
        blocks, threads = along(extents, "blockIdx"), along(extents, "threadIdx")
        shared = shared_bytes(func), shared_bytes(func, "shared.dyn")
        self._launches.append(Launch(name, tuple(memory), tuple(numbers), blocks, threads, *shared))
