"""Pre-transposes the weights of dense layers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.classic.relay.analysis.layers import search_fc_transpose
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.relay.transform import SimplifyFCTranspose
from compiler.runtime.arrays.ndarray import NDArray, array


def convert(func: Function, params: Mapping[str, NDArray]) -> tuple[Function, dict[str, NDArray]]:
    """Return a function whose dense layers take transposed weights as they are, and the weights for it.

    Where a dense layer takes ``transpose(weight)``, the transposed weight becomes a parameter, ``name.T`` in place of
    ``name``; weights that are not among ``params`` stay as they are.
    """
    names = [name for name in search_fc_transpose(func) if name in params]
    mod = SimplifyFCTranspose(names)(IRModule.from_expr(func))
    result: Function = mod["main"]
    used = {param.name_hint for param in result.params}
    stay = {name: value for name, value in params.items() if name in used or name not in names}
    return result, stay | {f"{name}.T": array(np.ascontiguousarray(params[name].view().T)) for name in names}
