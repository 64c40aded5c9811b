"""Building under the names of ``tvm.relay.build_module``, and optimising without building."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.driver.relay.build import TargetLike, as_module, build, build_target
from compiler.driver.relay.executor import create_executor
from compiler.driver.relay.params import bind_params, bind_params_by_name
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.relay.transform import pipeline
from compiler.runtime.ndarray import ArrayLike, NDArray, array

__all__ = ["bind_params_by_name", "build", "create_executor", "optimize"]


def optimize(
    mod: IRModule | Function,
    target: TargetLike | None = None,
    params: Mapping[str, ArrayLike] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Run the passes of :func:`build` over a graph, without making kernels of the result.

    Parameters
    ----------
    mod : IRModule or Function
        Its function ``main`` is the model.
    target : str or Target, optional
        Decides about layouts; the current one, else this machine's when left out.
    params : mapping of str to array, optional
        Constant parameters of ``main``.

    Returns
    -------
    tuple of IRModule and dict of str to NDArray
        The module, and the parameters that its ``main`` still has.
    """
    module = bind_params(as_module("relay.optimize", mod), params or {})
    module = pipeline.optimize(module, build_target(target))
    left = {p.name_hint for p in module["main"].params}
    values = {name: value for name, value in (params or {}).items() if name in left}
    return module, {n: v if isinstance(v, NDArray) else array(v) for n, v in values.items()}
