"""Binds parameters to the graph as constants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.relay.binding import bind
from compiler.relay.expr import Constant, Var, const
from compiler.relay.function import Function
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array

Value = ArrayLike | Constant
"""What a parameter is bound to."""

_FLOATS = ("float16", "float32", "float64")


def bind_params(module: IRModule, params: Mapping[str, Value] | Mapping[Var | str, Value]) -> IRModule:
    """Return a module in whose ``main`` some parameters, by variable or name, are constants.

    What the function does not have is left out, as in TVM.
    """
    gvar = module.get_global_var("main")
    by_name = {key: value for key, value in params.items() if isinstance(key, str)}
    func = bind_params_by_name(module[gvar], by_name)
    given = {v: _constant(v, value) for v, value in params.items() if isinstance(v, Var) and v in func.params}
    return module.with_functions({**module.functions, gvar: bind(func, given)})


def bind_params_by_name(func: Function, params: Mapping[str, Value]) -> Function:
    """Return a function with constants in place of the parameters that are given by name; other names are left out.

    Numbers of Python are rounded to the floating-point type of their parameter; where that has no type they become
    ``float32`` or ``int32``, as in :func:`compiler.relay.expr.const`. Raises ArgumentError if a value does not have the
    shape of its parameter, or does not fit its data type, or several parameters have its name.

    Examples
    --------
    With ``func`` being ``fn (%x: Tensor[(2), float32]) { negative(%x) }``:

    >>> bind_params_by_name(func, {"x": [0.1, 0.2]}).body.args[0].data.dtype
    'float32'
    """
    names = [v.name_hint for v in func.params]
    ambiguous = next((name for name in params if names.count(name) > 1), None)
    if ambiguous is not None:
        raise ArgumentError(f"params: {names.count(ambiguous)} parameters of the function are named {ambiguous!r}")
    given = {v: _constant(v, params[v.name_hint]) for v in func.params if v.name_hint in params}
    bound: Function = bind(func, given)
    return bound


def _same_values(data: NDArray, dtype: str) -> NDArray:
    """Return an array of another data type if that holds the very same values, else the array."""
    if data.dtype == dtype or "bfloat16" in (data.dtype, dtype):
        return data
    values = data.view()
    with np.errstate(over="ignore", invalid="ignore"):  # such values do not come back the same
        cast = values.astype(dtype)
        return array(cast) if np.array_equal(cast.astype(values.dtype), values) else data


def _as_array(value: Value, dtype: str | None) -> NDArray:
    """Return a value as an array: numbers of Python have no data type of their own, and take that of the parameter."""
    if isinstance(value, Constant):
        return value.data
    if isinstance(value, NDArray):
        return value
    if isinstance(value, np.ndarray):
        return array(value)
    numbers = np.asarray(value)
    if dtype is None:
        return const(numbers).data
    return array(_rounded(numbers, dtype) if numbers.dtype.kind == "f" and dtype in _FLOATS else numbers)


def _rounded(numbers: np.ndarray, dtype: str) -> np.ndarray:
    """Return numbers in a floating-point type, or as they are if one of them is beyond its range."""
    with np.errstate(over="ignore"):
        rounded = numbers.astype(dtype)
    return rounded if np.array_equal(np.isfinite(rounded), np.isfinite(numbers)) else numbers


def _constant(var: Var, value: Value) -> Constant:
    declared = var.type_annotation
    data = _as_array(value, declared.dtype if isinstance(declared, TensorType) else None)
    if isinstance(declared, TensorType):
        fits = len(declared.dims) == len(data.shape) and all(
            not isinstance(d, int) or d == n for d, n in zip(declared.dims, data.shape, strict=True)
        )
        data = _same_values(data, declared.dtype)
        if not fits or data.dtype != declared.dtype:
            raise ArgumentError(
                f"params: {show(var.name_hint)} must be {declared}, got shape {data.shape} of {data.dtype}"
            )
    return Constant(data, span=var.span)
