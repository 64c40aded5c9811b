"""``tvm.contrib.graph_executor``: a built model under TVM's interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.deprecation import renamed_parameter
from compiler.ir.error import expected
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.device import Device
from compiler.runtime.graph.graph_executor import GraphExecutor
from compiler.runtime.graph.model_module import ModelExecutor, ModelModule
from compiler.runtime.modules.module import Module


class GraphModule(ModelModule):
    """A model that can be run, with TVM's interface, around what ``lib["default"](dev)`` returned."""

    def __init__(self, module: ModelExecutor) -> None:
        if not isinstance(module, ModelExecutor) or not module.is_graph:
            expected("GraphModule", "module", 'what lib["default"](dev) returns', type(module).__name__)
        super().__init__(module)
        self.module: Any = module

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set parameters that ``save_param_dict`` wrote."""
        self.module.load_params(params_bytes)

    def set_input_zero_copy(
        self, key: int | str | None = None, value: NDArray | None = None, **params: NDArray
    ) -> None:
        """Let arrays, one by name or index or several by name, be inputs, without a copy.

        What is written into them later is seen by the next run.
        """
        if key is not None:
            if value is None:
                expected("set_input_zero_copy", "value", f"an NDArray, for input {key!r}", value)
            self.module.set_input_zero_copy(key, value)
        for name, item in params.items():
            self.module.set_input_zero_copy(name, item)

    def set_output_zero_copy(self, key: int, value: NDArray) -> None:
        """Let an array be an output, without a copy: the next run writes into it."""
        self.module.set_output_zero_copy(key, value)

    def share_params(self, other: GraphModule, params_bytes: bytes | bytearray) -> None:
        """Let the parameters of another executor that ``params_bytes`` names be this one's as well, without a copy."""
        self.module.share_params(other.module, params_bytes)

    def __getitem__(self, key: str) -> Callable[..., object]:
        function: Callable[..., object] = self.module.get_function(key)
        return function


@renamed_parameter("ctx", "device")
def create(graph_json_str: str, libmod: Module, device: Device | Sequence[Device]) -> GraphModule:
    """Return the executor of a graph whose parameters are yet to be set; it runs on the first of several devices.

    ``graph_json_str`` and ``libmod`` are what ``lib.get_graph_json()`` and ``lib.get_lib()`` return.
    """
    where = device if isinstance(device, Device) else next(iter(device), None)
    if not isinstance(where, Device):
        expected("graph_executor.create", "device", "a device or a sequence of devices", device)
    if not isinstance(graph_json_str, str):
        expected("graph_executor.create", "graph_json_str", "the text of a graph", graph_json_str)
    elsewhere = where.remote_executor(graph_json_str, libmod)
    return GraphModule(GraphExecutor(graph_json_str, libmod, where) if elsewhere is None else elsewhere)
