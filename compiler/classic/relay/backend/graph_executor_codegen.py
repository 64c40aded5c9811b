"""``tvm.relay.backend.graph_executor_codegen``: graphs for the graph executor, and their kernels as loops."""

from __future__ import annotations

from compiler.driver.relay.build import TargetLike, build_target, lower_graph
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.runtime.arrays.ndarray import NDArray
from compiler.target.target import Target


class GraphExecutorCodegen:
    """Makes kernels of a graph whose operators are fused, such as ``relay.optimize`` returns; ``mod`` is None."""

    def __init__(self, mod: object, target: TargetLike) -> None:
        self._target = build_target(target, devices=True)

    def codegen(self, ir_module: IRModule, func: Function) -> tuple[str, dict[Target, IRModule], dict[str, NDArray]]:
        """Return the graph as JSON, the lowered kernels, which ``tvm.build`` compiles, and the constants of the graph.

        ``ir_module`` has what ``func`` may call.
        """
        others = {var: f for var, f in ir_module.functions.items() if var.name_hint != "main"}
        graph, kernels, params = lower_graph(IRModule({**others, "main": func}), self._target)
        return graph, {self._target: kernels}, params
