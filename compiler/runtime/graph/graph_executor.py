"""The graph executor: allocates memory and calls kernels in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, groupby

import numpy as np
import numpy.typing as npt

from compiler.ir.error import ArgumentError, show
from compiler.ir.instrument import Instrument, active_instruments, first_answer
from compiler.ir.memory import ALIGNMENT
from compiler.runtime.arrays.huge_pages import lasting_memory
from compiler.runtime.arrays.ndarray import NDArray, numpy_dtype
from compiler.runtime.arrays.params import load_param_dict
from compiler.runtime.device import Device
from compiler.runtime.graph import ALIAS, REFERENCE, Graph, parse_graph
from compiler.runtime.graph.model_module import ModelExecutor
from compiler.runtime.modules.call_sequence import CallSequence
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.reference_call import reference_call
from compiler.runtime.parallel.threads import num_threads
from compiler.runtime.timing.measurement import Thunk, call_instrumented


class GraphExecutor(ModelExecutor):
    """A graph with memory for its values; ``lib["default"](dev)`` makes one.

    Buffers are allocated once, by the memory plan that the graph holds, and every kernel is called with addresses that
    were checked once.
    """

    is_graph = True

    def __init__(
        self, graph_json: str, lib: Module, device: Device, params: Mapping[str, NDArray] | None = None
    ) -> None:
        self.graph: Graph = parse_graph(graph_json)
        super().__init__(lib)
        self.device = device.require("graph_executor")
        self._values = _allocate(self.graph, device)
        self._input_values = {self.graph.nodes[n].name: self.graph.node_row_ptr[n] for n in self.graph.arg_nodes}
        self._params = set(params or ())
        self._sequences: list[Thunk] | None = None
        self._prepared: dict[int, Thunk | None] = {}
        self._threads = 0
        for name, value in (params or {}).items():
            self.set_input(name, value)

    # inputs and outputs

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, parameters last."""
        return list(self._input_values)

    @property
    def num_outputs(self) -> int:
        return len(self.graph.heads)

    @property
    def _measured(self) -> GraphExecutor:
        return self

    def _input(self, key: int | str) -> int:
        names = self.input_names
        if isinstance(key, (int, np.integer)) and 0 <= key < len(names):
            return self._input_values[names[int(key)]]
        if key not in self._input_values:
            free = [n for n in names if n not in self._params]
            raise ArgumentError(f"set_input: the graph has no input {show(key)}; there are {', '.join(free) or 'none'}")
        return self._input_values[str(key)]

    def get_input(self, key: int | str) -> NDArray:
        return self._values[self._input(key)]

    def get_output(self, index: int) -> NDArray:
        return self._values[self._output(index)]

    def _output(self, index: int) -> int:
        return self.graph.value(self.graph.heads[self._output_number(index)])

    def set_input_zero_copy(self, key: int | str, value: NDArray) -> None:
        """Let an array be an input, without a copy: what is written into it later is seen by the next run."""
        self._replace("set_input_zero_copy", self._input(key), value)

    def set_output_zero_copy(self, key: int, value: NDArray) -> None:
        """Let an array be an output, without a copy: the next run writes into it."""
        self._replace("set_output_zero_copy", self._output(key), value)

    def share_params(self, other: GraphExecutor, params_bytes: bytes | bytearray) -> None:
        """Let the parameters of another executor that ``params_bytes`` names be this one's as well, without a copy."""
        for name in load_param_dict(params_bytes):
            self.set_input_zero_copy(name, other.get_input(name))

    def _replace(self, operation: str, number: int, value: NDArray) -> None:
        """Put an array where a value and those that share its memory are."""
        current = self._values[number]
        if not isinstance(value, NDArray) or (value.shape, value.dtype) != (current.shape, current.dtype):
            given = f"{value.dtype} {value.shape}" if isinstance(value, NDArray) else type(value).__name__
            raise ArgumentError(f"{operation}: value must be of {current.dtype} {current.shape}, got {given}")
        if value.address % ALIGNMENT:
            raise ArgumentError(f"{operation}: the array must start at a multiple of {ALIGNMENT} bytes")
        memory, storage = value.view().reshape(-1).view("uint8"), self.graph.storage_ids
        sharing = [i for i, s in enumerate(storage) if s == storage[number]]
        if any(self._values[i].nbytes > memory.size for i in sharing):
            raise ArgumentError(f"{operation}: its memory is shared with a larger value of the graph")
        for i in sharing:
            self._values[i] = _over(memory, self._values[i].shape, self._values[i].dtype, self.device)
        self._sequences = None
        self._prepared.clear()

    # running

    def run(self) -> None:
        instruments = active_instruments()
        if instruments:
            call_instrumented(instruments, self, "run", (), lambda: self._run_instrumented(instruments))
            return
        for call in self._calls():
            call()

    def _run_instrumented(self, instruments: Sequence[Instrument]) -> None:
        """Run the graph as far as instruments let it; kernels are compiled as they are reached."""
        self._follow_threads()
        for index, _ in self.calls():
            if first_answer(instrument.stop_graph(self) for instrument in instruments):
                return
            thunk = self.thunk(index)
            if thunk is not None:
                thunk()

    def _calls(self) -> list[Thunk]:
        """Return what a run calls: for kernels that follow each other one thing."""
        self._follow_threads()
        if self._sequences is None:
            nodes = [index for index, _ in self.calls() if self.thunk(index) is not None]
            groups = [(is_direct, list(group)) for is_direct, group in groupby(nodes, self._is_direct)]
            calls = [[self._sequence(g)] if is_direct else map(self.thunk, g) for is_direct, g in groups]
            self._sequences = [call for group in calls for call in group if call is not None]
        return self._sequences

    def _is_direct(self, node: int) -> bool:
        name = self.graph.nodes[node].attrs["func_name"]
        return name != REFERENCE and self.lib.get_function(name).takes_directly(self.arguments(node))

    def _sequence(self, nodes: list[int]) -> CallSequence:
        functions = [(self.lib.get_function(self.graph.nodes[n].attrs["func_name"]), self._places(n)) for n in nodes]
        return CallSequence(functions, [value.address for value in self._values])

    def thunks(self) -> list[tuple[str, Thunk]]:
        """Return the calls of kernels, prepared once, with the kernels' names."""
        self._follow_threads()
        return [(n, thunk) for i, n in self.calls() if (thunk := self.thunk(i)) is not None]

    def _follow_threads(self) -> None:
        """Forget what was prepared for another number of threads: it is an argument like any other."""
        threads = num_threads()
        if threads != self._threads:
            self._threads, self._sequences = threads, None
            self._prepared.clear()

    def thunks_to(self, node: int) -> list[Thunk]:
        """Return the calls up to a node, the node's included."""
        self._follow_threads()
        made = [self.thunk(index) for index, _ in self.calls() if index <= node]
        return [thunk for thunk in made if thunk is not None]

    def value_of(self, node: int) -> NDArray:
        """Return the memory of a node's first result."""
        return self._values[self.graph.node_row_ptr[node]]

    def results_of(self, node: int) -> list[NDArray]:
        """Return the memory of all results of a node."""
        first, last = self.graph.node_row_ptr[node : node + 2]
        return self._values[first:last]

    def calls(self) -> list[tuple[int, str]]:
        """Return the graph's calls in order: numbers of nodes and names of kernels."""
        return [(i, node.attrs["func_name"]) for i, node in enumerate(self.graph.nodes) if node.op == "tvm_op"]

    def arguments(self, index: int) -> tuple[NDArray, ...]:
        """Return what the call of a node reads, and then what it writes."""
        return tuple([self._values[place] for place in self._places(index)])

    def _places(self, index: int) -> list[int]:
        graph = self.graph
        inputs = [graph.value(e) for e in graph.nodes[index].inputs]
        return [*inputs, *range(graph.node_row_ptr[index], graph.node_row_ptr[index + 1])]

    def thunk(self, index: int) -> Thunk | None:
        """Return what makes a call, prepared once; None if nothing is to be done."""
        if index not in self._prepared:
            self._prepared[index] = self._prepare(index)
        return self._prepared[index]

    def _prepare(self, index: int) -> Thunk | None:
        node = self.graph.nodes[index]
        name, arguments = node.attrs.get("func_name", ALIAS), self.arguments(index)
        if name == ALIAS:
            return None
        if name == REFERENCE:
            inputs = len(node.inputs)
            return reference_call(node.attrs, arguments[:inputs], arguments[inputs:])
        return self.lib.get_function(name).prepare(arguments)

    # as a module of packed functions

    def get_function(self, name: str) -> Callable[..., object]:
        methods: dict[str, Callable[..., object]] = {
            "run": self.run,
            "set_input": self.set_input,
            "set_input_zero_copy": self.set_input_zero_copy,
            "set_output_zero_copy": self.set_output_zero_copy,
            "get_input": self.get_input,
            "get_input_index": self.get_input_index,
            "get_output": self.get_output,
            "get_num_inputs": lambda: len(self._input_values),
            "get_num_outputs": lambda: len(self.graph.heads),
            "load_params": self.load_params,
            "share_params": self.share_params,
        }
        if name not in methods:
            raise ArgumentError(f"graph_executor: there is no function {show(name)}; there are {', '.join(methods)}")
        return methods[name]

    __getitem__ = get_function


def _allocate(graph: Graph, device: Device) -> list[NDArray]:
    """Return memory for every value of a graph, values of the same storage in the same buffer."""
    shapes, dtypes, storage = graph.shapes, graph.dtypes, graph.storage_ids
    sizes: dict[int, int] = {}
    for shape, dtype, buffer in zip(shapes, dtypes, storage, strict=True):
        size = int(np.prod(shape, dtype=np.int64)) * numpy_dtype(dtype).itemsize
        sizes[buffer] = max(sizes.get(buffer, 0), size)
    rooms = {buffer: -(-size // ALIGNMENT) * ALIGNMENT for buffer, size in sizes.items()}
    memory, ends = lasting_memory(sum(rooms.values())), accumulate(rooms.values())
    buffers = {buffer: memory[end - room : end] for (buffer, room), end in zip(rooms.items(), ends, strict=True)}
    return [
        _over(buffers[buffer], shape, dtype, device)
        for shape, dtype, buffer in zip(shapes, dtypes, storage, strict=True)
    ]


def _over(memory: npt.NDArray[np.uint8], shape: tuple[int, ...], dtype: str, device: Device) -> NDArray:
    """Return an array at the beginning of a buffer."""
    element = numpy_dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * element.itemsize
    return NDArray(memory[:size].view(element).reshape(shape), dtype, device)
