"""A built model under TVM's interface: ``tvm.contrib.graph_executor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.error import expected
from compiler.runtime.device import Device
from compiler.runtime.graph_executor import GraphExecutor
from compiler.runtime.measurement import BenchmarkResult
from compiler.runtime.module import Module
from compiler.runtime.ndarray import ArrayLike, NDArray, array
from compiler.runtime.params import load_param_dict

__all__ = ["GraphModule", "create"]


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

    def set_input(self, key: int | str | None = None, value: ArrayLike | None = None, **params: ArrayLike) -> None:
        """Copy values into inputs.

        Parameters
        ----------
        key : int or str, optional
            One input, by name or index.
        value : array_like, optional
            Its value; of another data type it is converted.
        **params : array_like or NDArray
            Further inputs by name; names that the graph does not have are left out, as in TVM.

        Raises
        ------
        ArgumentError
            If an input has no value, or the shapes differ.
        """
        if key is not None:
            if value is None:
                expected("set_input", "value", f"an array, for input {key!r}", value)
            self.module.set_input(key, value)
        for name, item in params.items():
            if name in self.module.input_names:
                self.module.set_input(name, item)

    def run(self, **input_dict: ArrayLike) -> None:
        """Set inputs, if any are given, and run the model.

        Parameters
        ----------
        **input_dict : array_like or NDArray
            Inputs by name.
        """
        if input_dict:
            self.set_input(None, None, **input_dict)
        self.module.run()

    def get_output(self, index: int, out: NDArray | None = None) -> NDArray:
        """Return an output.

        Parameters
        ----------
        index : int
            Which one.
        out : NDArray, optional
            Where to copy it to; without it the memory is returned, which the next run overwrites.

        Returns
        -------
        NDArray
        """
        output = self.module.get_output(index)
        return output if out is None else out.copyfrom(output)

    def get_input(self, index: int | str, out: NDArray | None = None) -> NDArray:
        """Return an input.

        Parameters
        ----------
        index : int or str
            By index or name.
        out : NDArray, optional
            Where to copy it to; without it the memory itself is returned.

        Returns
        -------
        NDArray
        """
        value = self.module.get_input(index)
        return value if out is None else out.copyfrom(value)

    def get_num_outputs(self) -> int:
        """Count the outputs.

        Returns
        -------
        int
        """
        return len(self.module.graph.heads)

    def get_num_inputs(self) -> int:
        """Count the inputs, parameters included.

        Returns
        -------
        int
        """
        return len(self.module.input_names)

    def get_input_index(self, name: str) -> int:
        """Return the index of an input.

        Parameters
        ----------
        name : str
            The input.

        Returns
        -------
        int
            -1 if there is none of that name.
        """
        names = self.module.input_names
        return names.index(name) if name in names else -1

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return shapes and data types of all inputs.

        Returns
        -------
        tuple of two dicts
            Shapes by name, and data types by name.
        """
        arrays = {name: self.module.get_input(name) for name in self.module.input_names}
        return {n: a.shape for n, a in arrays.items()}, {n: a.dtype for n, a in arrays.items()}

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set parameters.

        Parameters
        ----------
        params_bytes : bytes or bytearray
            What ``save_param_dict`` wrote.
        """
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
        **inputs: ArrayLike,
    ) -> BenchmarkResult:
        """Measure the model, or one of its functions.

        Parameters
        ----------
        device : Device
            Where it runs.
        func_name : str
            E.g. ``run``.
        repeat : int
            Measurements.
        number : int
            Calls that one measurement averages over.
        min_repeat_ms : int, optional
            A measurement lasts at least this many milliseconds.
        end_to_end : bool
            Whether copying the inputs in and the outputs out is part of it.
        **inputs : array_like or NDArray
            Values to set before.

        Returns
        -------
        BenchmarkResult
            In seconds a call.
        """
        self.set_input(None, None, **inputs)
        if not end_to_end:
            return self.module.time_evaluator(func_name, device, number, repeat, min_repeat_ms or 0)()
        values = {name: array(value) for name, value in inputs.items()}

        def run_end_to_end() -> None:
            self.set_input(None, None, **values)
            self.module.run()
            for index in range(self.get_num_outputs()):
                array(self.get_output(index))

        return self.module.timed(func_name, run_end_to_end, (), number, repeat, min_repeat_ms or 0)


def create(graph_json_str: str, libmod: Module, device: Device) -> GraphModule:
    """Return the executor of a graph whose parameters are yet to be set.

    Parameters
    ----------
    graph_json_str : str
        What ``lib.get_graph_json()`` returns.
    libmod : Module
        The kernels, as ``lib.get_lib()`` returns them.
    device : Device
        Where it runs.

    Returns
    -------
    GraphModule
    """
    return GraphModule(GraphExecutor(graph_json_str, libmod, device))
