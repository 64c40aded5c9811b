"""``tvm.relay.build_module``: building, and optimising without building."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.driver.relay.aot.factory import AOTExecutorFactoryModule
from compiler.driver.relay.build import BuiltGraph, TargetLike, as_module, build, build_target
from compiler.driver.relay.executor import AotExecutor, GraphExecutor, VMExecutor, create_executor
from compiler.driver.relay.metadata import FunctionInfo
from compiler.driver.relay.params import bind_params, bind_params_by_name
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.relay.transform import pipeline
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array
from compiler.runtime.modules.module import Module
from compiler.target.target import Target

__all__ = [
    "AotExecutor", "BuildModule", "GraphExecutor", "VMExecutor", "bind_params_by_name", "build", "create_executor",
    "optimize",
]  # fmt: skip


def optimize(
    mod: IRModule | Function, target: TargetLike | None = None, params: Mapping[str, ArrayLike] | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """Run the passes of :func:`build` over a graph, and return it with the parameters that its ``main`` still has.

    The target, by default the current one, or else this machine, decides about layouts; ``params`` are constants.
    """
    module = bind_params(as_module("relay.optimize", mod), params or {})
    module = pipeline.optimize(module, build_target(target))
    left = {p.name_hint for p in module["main"].params}
    values = {name: value for name, value in (params or {}).items() if name in left}
    return module, {n: v if isinstance(v, NDArray) else array(v) for n, v in values.items()}


class BuildModule:
    """Builds a model, and gives what was made piece by piece; :func:`build` returns it as one thing."""

    def __init__(self) -> None:
        self._built: BuiltGraph | AOTExecutorFactoryModule | None = None

    def build(
        self,
        mod: IRModule | Function,
        target: TargetLike | Sequence[TargetLike] | None = None,
        target_host: str | Target | None = None,
        executor: object = None,
        runtime: object = None,
        workspace_memory_pools: object = None,
        constant_memory_pools: object = None,
        params: Mapping[str, ArrayLike] | None = None,
        mod_name: str | None = None,
    ) -> tuple[str | None, Module, dict[str, NDArray]]:
        """Build a model as :func:`build` does; return graph as JSON (None without one), kernels and parameters."""
        pools = (workspace_memory_pools, constant_memory_pools)
        built = build(mod, target, target_host, executor, runtime, *pools, params, mod_name or "default")
        self._built = built
        return built.get_executor_config(), built.get_lib(), built.get_params()

    def optimize(
        self,
        mod: IRModule | Function,
        target: TargetLike | None = None,
        target_host: str | Target | None = None,
        params: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[IRModule, dict[str, NDArray]]:
        """Optimise a model without making kernels; see :func:`optimize`."""
        return optimize(mod, target, params)

    def get_graph_json(self) -> str | None:
        """Return the graph as JSON; None if the executor has no graph."""
        return self._last.get_executor_config()

    def get_module(self) -> Module:
        """Return the kernels."""
        return self._last.get_lib()

    def get_irmodule(self) -> IRModule:
        """Return the graph after all passes."""
        return self._last.module

    def get_params(self) -> dict[str, NDArray]:
        """Return the parameters that kernels are called with."""
        return self._last.get_params()

    def get_function_metadata(self) -> dict[str, FunctionInfo]:
        """Return what is known of the functions that were made."""
        return self._last.function_metadata

    @property
    def _last(self) -> BuiltGraph | AOTExecutorFactoryModule:
        if self._built is None:
            raise ArgumentError("BuildModule: nothing is built yet; build makes a model")
        return self._built
