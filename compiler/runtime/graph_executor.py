"""Runs the graph of a built model: ``tvm.contrib.graph_executor``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.instrument import Instrument, active_instruments, first_answer
from compiler.runtime.device import Device
from compiler.runtime.graph import ALIAS, REFERENCE, Graph, parse_graph
from compiler.runtime.measurement import BenchmarkResult, Thunk, benchmark, call_instrumented
from compiler.runtime.module import Module
from compiler.runtime.ndarray import NDArray, aligned_empty, array, numpy_dtype
from compiler.runtime.params import load_param_dict
from compiler.runtime.reference_call import reference_call
from compiler.runtime.threads import num_threads


class GraphExecutor:
    """A graph with memory for its values; ``lib["default"](dev)`` makes one.

    Buffers are allocated once, by the memory plan that the graph holds, and every kernel is called with addresses that
    were checked once.

    Parameters
    ----------
    graph_json : str
    lib : Module
        The kernels.
    device : Device
    params : mapping of str to NDArray, optional
        Values of inputs.
    """

    def __init__(
        self, graph_json: str, lib: Module, device: Device, params: Mapping[str, NDArray] | None = None
    ) -> None:
        self.graph: Graph = parse_graph(graph_json)
        self.lib = lib
        self.device = device.require("graph_executor")
        self._values = _allocate(self.graph, device)
        self._input_values = {self.graph.nodes[n].name: self.graph.node_row_ptr[n] for n in self.graph.arg_nodes}
        self._params = set(params or ())
        self._thunks: list[tuple[str, Thunk]] | None = None
        self._prepared: dict[int, Thunk | None] = {}
        self._threads = 0
        for name, value in (params or {}).items():
            self.set_input(name, value)

    # inputs and outputs

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, parameters last."""
        return list(self._input_values)

    def set_input(self, key: int | str, value: Any) -> None:
        """Copy a value into an input, by name or index."""
        target = self._values[self._input(key)]
        given = value.view() if isinstance(value, NDArray) else np.asarray(value)
        if given.shape != target.shape:
            raise ArgumentError(f"set_input: {key!r} must have shape {target.shape}, got {given.shape}")
        target.copyfrom(given)

    def _input(self, key: int | str) -> int:
        names = self.input_names
        if isinstance(key, (int, np.integer)) and 0 <= key < len(names):
            return self._input_values[names[int(key)]]
        if key not in self._input_values:
            free = [n for n in names if n not in self._params]
            raise ArgumentError(f"set_input: the graph has no input {show(key)}; there are {', '.join(free) or 'none'}")
        return self._input_values[str(key)]

    def get_input(self, key: int | str) -> NDArray:
        """Return an input's memory, by name or index."""
        return self._values[self._input(key)]

    def get_output(self, index: int) -> NDArray:
        """Return an output's memory, which the next run overwrites."""
        heads = self.graph.heads
        if not isinstance(index, (int, np.integer)) or not 0 <= index < len(heads):
            expected("get_output", "index", f"an int from 0 to {len(heads) - 1}", index)
        return self._values[self.graph.value(heads[int(index)])]

    # running

    def run(self) -> None:
        """Run the graph on the inputs that were set."""
        instruments = active_instruments()
        if instruments:
            call_instrumented(instruments, self, "run", (), lambda: self._run_instrumented(instruments))
            return
        for _, thunk in self.thunks():
            thunk()

    def _run_instrumented(self, instruments: Sequence[Instrument]) -> None:
        """Run the graph as far as instruments let it; kernels are compiled as they are reached."""
        self._follow_threads()
        for index, _ in self.calls():
            if first_answer(instrument.stop_graph(self) for instrument in instruments):
                return
            thunk = self._thunk(index)
            if thunk is not None:
                thunk()

    def thunks(self) -> list[tuple[str, Thunk]]:
        """Return each call of a kernel: its name and what makes it."""
        self._follow_threads()
        if self._thunks is None:
            self._thunks = [(n, thunk) for i, n in self.calls() if (thunk := self._thunk(i)) is not None]
        return self._thunks

    def _follow_threads(self) -> None:
        """Forget what was prepared for another number of threads: it is an argument like any other."""
        threads = num_threads()
        if threads != self._threads:
            self._threads, self._thunks = threads, None
            self._prepared.clear()

    def thunks_to(self, node: int) -> list[Thunk]:
        """Return the calls up to a node, the node's included."""
        self._follow_threads()
        made = [self._thunk(index) for index, _ in self.calls() if index <= node]
        return [thunk for thunk in made if thunk is not None]

    def value_of(self, node: int) -> NDArray:
        """Return the memory of a node's first result."""
        return self._values[self.graph.node_row_ptr[node]]

    def calls(self) -> list[tuple[int, str]]:
        """Return the graph's calls in order: the position of the node, and the name of the kernel."""
        return [(i, node.attrs["func_name"]) for i, node in enumerate(self.graph.nodes) if node.op == "tvm_op"]

    def _thunk(self, index: int) -> Thunk | None:
        """Return what makes a call, prepared once; None where nothing is to be done."""
        if index not in self._prepared:
            self._prepared[index] = self._prepare(index)
        return self._prepared[index]

    def _prepare(self, index: int) -> Thunk | None:
        graph, node = self.graph, self.graph.nodes[index]
        inputs = [self._values[graph.value(e)] for e in node.inputs]
        outputs = self._values[graph.node_row_ptr[index] : graph.node_row_ptr[index + 1]]
        name = node.attrs["func_name"]
        if name == ALIAS:
            return None
        if name == REFERENCE:
            return reference_call(node.attrs, inputs, outputs)
        return self.lib.get_function(name).prepare((*inputs, *outputs))

    # as a module of packed functions

    def get_function(self, name: str) -> Callable[..., Any]:
        """Return a method by name, as TVM's modules have them.

        Raises
        ------
        ArgumentError
            If there is none of that name.
        """
        methods: dict[str, Callable[..., Any]] = {
            "run": self.run,
            "set_input": self.set_input,
            "get_input": self.get_input,
            "get_output": self.get_output,
            "get_num_inputs": lambda: len(self._input_values),
            "get_num_outputs": lambda: len(self.graph.heads),
        }
        if name not in methods:
            raise ArgumentError(f"graph_executor: there is no function {show(name)}; there are {', '.join(methods)}")
        return methods[name]

    __getitem__ = get_function

    def time_evaluator(
        self, func_name: str, dev: Device, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0, **options: Any
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that measures one of this executor's functions; see ``Module.time_evaluator``."""
        call = self.get_function(func_name)
        return lambda *args: self.timed(func_name, call, args, number, repeat, min_repeat_ms)

    def timed(
        self, name: str, call: Callable[..., Any], args: tuple[Any, ...], number: int, repeat: int, min_repeat_ms: int
    ) -> BenchmarkResult:
        """Measure a call that runs this executor, unless an instrument answers instead."""
        return benchmark(self, name, args, lambda: call(*args), number, repeat, min_repeat_ms / 1e3)


def _allocate(graph: Graph, device: Device) -> list[NDArray]:
    """Return memory for every value of a graph, values of the same storage in the same buffer."""
    shapes, dtypes, storage = graph.shapes, graph.dtypes, graph.storage_ids
    sizes: dict[int, int] = {}
    for shape, dtype, buffer in zip(shapes, dtypes, storage, strict=True):
        size = int(np.prod(shape, dtype=np.int64)) * numpy_dtype(dtype).itemsize
        sizes[buffer] = max(sizes.get(buffer, 0), size)
    buffers = {buffer: aligned_empty((size,), "uint8") for buffer, size in sizes.items()}
    values: list[NDArray] = []
    for shape, dtype, buffer in zip(shapes, dtypes, storage, strict=True):
        element = numpy_dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * element.itemsize
        values.append(NDArray(buffers[buffer][:size].view(element).reshape(shape), dtype, device))
    return values


class GraphModule:
    """A model that can be run, with TVM's interface.

    Parameters
    ----------
    module : GraphExecutor
        What ``lib["default"](dev)`` returned.
    """

    def __init__(self, module: GraphExecutor) -> None:
        if not isinstance(module, GraphExecutor):
            expected("GraphModule", "module", 'what lib["default"](dev) returns', type(module).__name__)
        self.module = module

    def set_input(self, key: int | str | None = None, value: Any = None, **params: Any) -> None:
        """Copy values into inputs.

        Parameters
        ----------
        key : int or str, optional
            One input, by name or index.
        value : array_like
            Its value; of another data type it is converted.
        params
            Further inputs by name; names that the graph does not have are left out, as in TVM.
        """
        if key is not None:
            self.module.set_input(key, value)
        for name, item in params.items():
            if name in self.module.input_names:
                self.module.set_input(name, item)

    def run(self, **input_dict: Any) -> None:
        """Set inputs, if any are given, and run the model."""
        if input_dict:
            self.set_input(None, None, **input_dict)
        self.module.run()

    def get_output(self, index: int, out: NDArray | None = None) -> NDArray:
        """Return an output, copied into ``out`` if that is given; else its memory, which the next run overwrites."""
        found = self.module.get_output(index)
        return found if out is None else out.copyfrom(found)

    def get_input(self, index: int | str, out: NDArray | None = None) -> NDArray:
        """Return an input, by name or index."""
        found = self.module.get_input(index)
        return found if out is None else out.copyfrom(found)

    def get_num_outputs(self) -> int:
        """Return the number of outputs."""
        return len(self.module.graph.heads)

    def get_num_inputs(self) -> int:
        """Return the number of inputs, parameters included."""
        return len(self.module.input_names)

    def get_input_index(self, name: str) -> int:
        """Return the index of an input, -1 if there is none of that name."""
        names = self.module.input_names
        return names.index(name) if name in names else -1

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return shapes and data types of all inputs by name."""
        arrays = {name: self.module.get_input(name) for name in self.module.input_names}
        return {n: a.shape for n, a in arrays.items()}, {n: a.dtype for n, a in arrays.items()}

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set parameters that ``save_param_dict`` wrote."""
        self.set_input(None, None, **load_param_dict(params_bytes))

    def __getitem__(self, key: str) -> Callable[..., Any]:
        return self.module.get_function(key)

    def benchmark(
        self,
        device: Device,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        end_to_end: bool = False,
        **inputs: Any,
    ) -> BenchmarkResult:
        """Measure the model, or one of its functions.

        Parameters
        ----------
        repeat : int
            Measurements.
        number : int
            Calls that one measurement averages over.
        end_to_end : bool
            Whether copying the inputs in and the outputs out is part of it.
        inputs
            Values to set before.
        """
        self.set_input(None, None, **inputs)
        if not end_to_end:
            return self.module.time_evaluator(func_name, device, number, repeat, min_repeat_ms or 0)()
        values = {name: array(value) for name, value in inputs.items()}

        def whole() -> None:
            self.set_input(None, None, **values)
            self.module.run()
            for index in range(self.get_num_outputs()):
                array(self.get_output(index))

        return self.module.timed(func_name, whole, (), number, repeat, min_repeat_ms or 0)


def create(graph_json_str: str, libmod: Module, device: Device) -> GraphModule:
    """Return the executor of a graph whose parameters are yet to be set.

    Parameters
    ----------
    graph_json_str : str
    libmod : Module
        The kernels, as ``lib.get_lib()`` returns them.
    device : Device
    """
    return GraphModule(GraphExecutor(graph_json_str, libmod, device))
