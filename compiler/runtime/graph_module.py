"""A built model under TVM's interface: ``tvm.contrib.graph_executor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.error import expected
from compiler.runtime.device import Device
from compiler.runtime.graph_executor import GraphExecutor
from compiler.runtime.model_module import ModelModule
from compiler.runtime.module import Module
from compiler.runtime.params import load_param_dict

__all__ = ["GraphModule", "create"]


class GraphModule(ModelModule):
    """A model that can be run, with TVM's interface.

    Parameters
    ----------
    module : GraphExecutor
        What ``lib["default"](dev)`` returned.
    """

    def __init__(self, module: GraphExecutor) -> None:
        if not isinstance(module, GraphExecutor):
            expected("GraphModule", "module", 'what lib["default"](dev) returns', type(module).__name__)
        super().__init__(module)
        self.module: GraphExecutor = module

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
