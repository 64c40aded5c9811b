"""A built model: graph, kernels and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.device import Device
from compiler.runtime.graph.executor_factory import ExecutorFactoryModule
from compiler.runtime.graph.graph_executor import GraphExecutor
from compiler.runtime.modules.module import Module


class GraphExecutorFactory(ExecutorFactoryModule):
    """What ``relay.build`` returns: ``lib[name](dev)`` makes an executor; unpacks as ``graph_json, lib, params`` too.

    ``exporter`` returns what a file contains of the model with some parameters; the file's name says by its ending what
    it is.
    """

    def __init__(
        self,
        graph_json: str,
        lib: Module,
        params: Mapping[str, NDArray],
        name: str = "default",
        exporter: Callable[[str, Mapping[str, NDArray]], bytes] | None = None,
    ) -> None:
        self.graph_json = graph_json
        self.lib = lib
        self.params = dict(params)
        self.libmod_name = name
        self._exporter = exporter

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return one of the model's functions: what makes an executor on a device, or what describes the model."""
        functions: dict[str, Callable[..., object]] = {
            self.libmod_name: self._executor,
            "debug_create": self._debug_executor,
            "get_graph_json": self.get_graph_json,
            "get_graph_params": self.get_params,
            "remove_params": self._without_params,
        }
        if name not in functions:
            raise ArgumentError(f"this model's name is {self.libmod_name!r}, got {show(name)}")
        return functions[name]

    def _executor(self, device: Device) -> GraphExecutor:
        return GraphExecutor(self.graph_json, self.lib, device, self.params)

    def _debug_executor(self, name: str, device: Device) -> GraphExecutor:
        executor: GraphExecutor = self[name](device)
        return executor

    def _without_params(self) -> GraphExecutorFactory:
        """Return the same model without the values of its parameters, which its executors are to be given."""
        return GraphExecutorFactory(self.graph_json, self.lib, {}, self.libmod_name, self._exporter)

    def get_lib(self) -> Module:
        """Return the kernels."""
        return self.lib

    def get_params(self) -> dict[str, NDArray]:
        """Return the parameters by name."""
        return self.params

    def get_graph_json(self) -> str:
        """Return the graph as JSON."""
        return self.graph_json

    def get_executor_config(self) -> str:
        """Return the graph as JSON, under TVM's newer name."""
        return self.graph_json

    def get_source(self, fmt: str = "") -> str:
        """Return the kernels as text, e.g. ``ll`` or ``asm``; see ``Module.get_source``."""
        return self.lib.get_source(fmt)

    def exported(self, file_name: str) -> bytes:
        """Return what :meth:`export_library` writes to a file of this name.

        Raises ArgumentError if the model was loaded from a file itself.
        """
        if self._exporter is None:
            raise ArgumentError("export_library: this model was loaded from a file; copy that file")
        return self._exporter(file_name, self.params)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.graph_json, self.lib, self.params))

    def __repr__(self) -> str:
        return f"GraphExecutorFactory({self.libmod_name}, {self.lib!r})"
