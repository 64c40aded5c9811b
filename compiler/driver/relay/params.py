"""Constant parameters become constants of the graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.relay.binding import bind
from compiler.relay.expr import Constant, Function, Var
from compiler.relay.ty import TensorType
from compiler.runtime.ndarray import ArrayLike, NDArray, array


def bind_params(module: IRModule, params: Mapping[str, ArrayLike]) -> IRModule:
    """Return a module in whose ``main`` some parameters are constants; see :func:`bind_params_by_name`.

    Parameters
    ----------
    module : IRModule
        Its function ``main`` is a graph.
    params : mapping of str to array
        Values by name.

    Returns
    -------
    IRModule

    Raises
    ------
    ArgumentError
        If a value does not have the type of its parameter.
    """
    gvar = module.get_global_var("main")
    return module.with_functions({**module.functions, gvar: bind_params_by_name(module[gvar], params)})


def bind_params_by_name(func: Function, params: Mapping[str, ArrayLike]) -> Function:
    """Return a function with constants in place of the parameters that are given by name.

    Parameters
    ----------
    func : Function
        A function of a graph.
    params : mapping of str to array
        Values by name; names that the function does not have are left out, as in TVM.

    Returns
    -------
    Function

    Raises
    ------
    ArgumentError
        If a value does not have the type of its parameter.
    """
    given = {v: _constant(v, params[v.name_hint]) for v in func.params if v.name_hint in params}
    bound: Function = bind(func, given)
    return bound


def _constant(var: Var, value: ArrayLike) -> Constant:
    data = value if isinstance(value, NDArray) else array(np.asarray(value))
    declared = var.type_annotation
    if isinstance(declared, TensorType):
        fits = len(declared.dims) == len(data.shape) and all(
            not isinstance(d, int) or d == n for d, n in zip(declared.dims, data.shape, strict=True)
        )
        if not fits or data.dtype != declared.dtype:
            raise ArgumentError(
                f"params: {show(var.name_hint)} must be {declared}, got shape {data.shape} of {data.dtype}"
            )
    return Constant(data, span=var.span)
