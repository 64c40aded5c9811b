"""Lookup tables for functions of quantised values: ``tvm.relay.qnn.op.canonicalizations``.

Eight bits have 256 values, so that any function of one of them is a table, computed once in real numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Constant, array_const
from compiler.relay.operator import call_op
from compiler.relay.transform.fold.fold_constant import FoldConstantExpr

__all__ = ["create_integer_lookup_op", "create_integer_lookup_table", "run_const_expr"]

Array = npt.NDArray[Any]
_BYTES = ("int8", "uint8")


def run_const_expr(expr: RelayExpr) -> Array:
    """Return the value of an expression of constants.

    Raises ArgumentError if the expression has variables, or operators that are not computed beforehand.
    """
    folded = FoldConstantExpr(expr, fold_qnn=True)
    if not isinstance(folded, Constant):
        raise ArgumentError(f"run_const_expr: expected a constant expression, got {show(expr)}")
    return folded.value


def create_integer_lookup_table(
    floating_point_func: Callable[[Array], Array],
    input_scale: RelayExpr,
    input_zero_point: RelayExpr,
    output_scale: RelayExpr,
    output_zero_point: RelayExpr,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Array:
    """Return what a function of real numbers, on arrays of NumPy, makes of each ``int8`` or ``uint8``, quantised.

    The scales and zero points are constants.  The table has shape (256,): the result for a number stands where its bits
    say, read as unsigned. Raises ArgumentError if a number has not eight bits, or a parameter is not a constant.
    """
    for name, dtype in (("in_dtype", in_dtype), ("out_dtype", out_dtype)):
        if dtype not in _BYTES:
            expected("create_integer_lookup_table", name, "int8 or uint8", dtype)
    numbers = array_const(np.arange(256, dtype="uint8").view(in_dtype))
    real = run_const_expr(call_op("qnn.dequantize", numbers, input_scale, input_zero_point, axis=in_axis))
    results = array_const(np.asarray(floating_point_func(real), "float32"))
    quantised = call_op("qnn.quantize", results, output_scale, output_zero_point, axis=out_axis, out_dtype=out_dtype)
    return run_const_expr(quantised)


def create_integer_lookup_op(
    input_arg: RelayExpr,
    floating_point_func: Callable[[Array], Array],
    in_scale: RelayExpr,
    in_zero_point: RelayExpr,
    out_scale: RelayExpr,
    out_zero_point: RelayExpr,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> RelayExpr:
    """Return a function of real numbers applied to a tensor of ``int8`` or ``uint8``, each element looked up in a
    table.

    The scales and zero points of the argument and of the result, which has the same shape, are constants. Raises
    ArgumentError if elements have not eight bits, or a parameter is not a constant.

    Examples
    --------
    ::

        tanh = create_integer_lookup_op(x, np.tanh, scale, zero_point, out_scale, out_zero_point, in_dtype="int8")
    """
    axes = (in_axis, out_axis)
    points = (in_scale, in_zero_point, out_scale, out_zero_point)
    table = create_integer_lookup_table(floating_point_func, *points, *axes, in_dtype, out_dtype)
    index = call_op("reinterpret", input_arg, dtype="uint8")
    return call_op("take", array_const(table), index, axis=0, mode="fast")
