"""Layers of models that make their own weights: ``tvm.relay.testing.layers``.

Their options are those of the operator that each calls; ``name`` stands before the names of the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.error import ArgumentError
from compiler.relay.expr import Call, Expr, TupleGetItem, var
from compiler.relay.operator import call_op

_KERNEL_LAYOUTS = {"NCHW": ("OIHW", "OIHW"), "NHWC": ("HWIO", "HWOI"), "NCDHW": ("OIDHW", "OIDHW")}


def _named(operation: str, kwargs: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Return the name among the options of a layer, and the others."""
    if "name" not in kwargs:
        raise ArgumentError(f"{operation}: name, the prefix of the parameters' names, must be given")
    return str(kwargs["name"]), {key: value for key, value in kwargs.items() if key != "name"}


def _weighted(operation: str, data: Expr, weight: Expr | None, kwargs: Mapping[str, object]) -> Call:
    """Return a layer of one operator of ``nn`` whose second input is a weight."""
    name, options = _named(operation, kwargs)
    return call_op(f"nn.{operation}", data, var(f"{name}_weight") if weight is None else weight, **options)


def conv2d(data: Expr, weight: Expr | None = None, **kwargs: object) -> Call:
    """Return a convolution; its weight is the variable ``{name}_weight`` by default."""
    return _weighted("conv2d", data, weight, kwargs)


def conv3d(data: Expr, weight: Expr | None = None, **kwargs: object) -> Call:
    """Return a convolution over three dimensions; its weight is the variable ``{name}_weight`` by default."""
    return _weighted("conv3d", data, weight, kwargs)


def conv2d_transpose(data: Expr, weight: Expr | None = None, **kwargs: object) -> Call:
    """Return a transposed convolution; its weight is the variable ``{name}_weight`` by default."""
    return _weighted("conv2d_transpose", data, weight, kwargs)


def dense_add_bias(
    data: Expr, weight: Expr | None = None, bias: Expr | None = None, units: int | None = None, **kwargs: object
) -> Call:
    """Return a dense layer with its bias; the variables ``{name}_weight`` and ``{name}_bias`` by default."""
    name, options = _named("dense_add_bias", kwargs)
    product = call_op("nn.dense", data, var(f"{name}_weight") if weight is None else weight, units=units, **options)
    return call_op("nn.bias_add", product, var(f"{name}_bias") if bias is None else bias, axis=-1)


def batch_norm_infer(
    data: Expr,
    gamma: Expr | None = None,
    beta: Expr | None = None,
    moving_mean: Expr | None = None,
    moving_var: Expr | None = None,
    **kwargs: object,
) -> Expr:
    """Return a batch normalisation's first result; its vectors are the variables ``{name}_gamma``, … by default."""
    name, options = _named("batch_norm_infer", kwargs)
    given = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    parts = [var(f"{name}_{key}") if value is None else value for key, value in given.items()]
    return TupleGetItem(call_op("nn.batch_norm", data, *parts, **options), 0)


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """Return the usual layout of a convolution's weight, or with ``is_depthwise`` of one for each channel.

    Raises ArgumentError if there is no usual one for the layout.
    """
    if data_layout not in _KERNEL_LAYOUTS:
        raise ArgumentError(f"conv_kernel_layout: data_layout must be one of {', '.join(_KERNEL_LAYOUTS)}")
    return _KERNEL_LAYOUTS[data_layout][is_depthwise]
