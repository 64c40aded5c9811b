"""Simulated quantisation with a data type chosen at run time.

References
----------
Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", CVPR 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Index, dims
from compiler.topi.tag import Tag

__all__ = ["SQNN_CODE_TO_DTYPE", "SQNN_DTYPE_TO_CODE", "simulated_dequantize", "simulated_quantize"]

SQNN_DTYPE_TO_CODE = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
"""The numbers that name data types of integers to running programs; ``disable`` leaves the data as it is."""
SQNN_CODE_TO_DTYPE = {code: name for name, code in SQNN_DTYPE_TO_CODE.items()}


def _parameter(value: Tensor | None, at: Sequence[Index], axis: int, usual: float, dtype: str) -> PrimExpr:
    """Return the scale or zero point of one element: one for all, or one for each index along an axis."""
    if value is None:
        return tir.const(usual, dtype)
    if value.ndim == 0:
        return value().astype(dtype)
    return value(tir.indexmod(at[axis], dims(value)[0]) if at else 0).astype(dtype)


def _code(dtype: Tensor) -> PrimExpr:
    return dtype() if dtype.ndim == 0 else dtype(*[0] * dtype.ndim)


def simulated_quantize(
    data: Tensor,
    out_dtype: Tensor,
    output_scale: Tensor | None = None,
    output_zero_point: Tensor | None = None,
    axis: int = -1,
) -> Tensor:
    """Return the integers that stand for real numbers, as real numbers.

    ``out_dtype`` is a number of ``SQNN_DTYPE_TO_CODE``, without dimensions or ``(1,)``; scale and zero point, 1 and 0
    by default, have no dimensions or are vectors along ``axis``.
    """

    def element(*at: Var) -> PrimExpr:
        kind = data.dtype
        x = data(*at)
        scaled = te.round(x / _parameter(output_scale, at, axis, 1, kind))
        shifted = scaled + _parameter(output_zero_point, at, axis, 0, kind)

        def bounded(rest: PrimExpr, dtype: str) -> PrimExpr:
            low, high = (tir.const(v, kind) for v in dt.int_range(dtype))
            chosen = tir.fmaximum(tir.fminimum(shifted, high), low)
            return tir.Select(_code(out_dtype) == SQNN_DTYPE_TO_CODE[dtype], chosen, rest)

        return reduce(bounded, ("int32", "uint8", "int8"), x)

    return compute(dims(data), element, name="simulated_quantize", tag=Tag.BROADCAST)


def simulated_dequantize(
    data: Tensor,
    in_dtype: Tensor,
    input_scale: Tensor | None = None,
    input_zero_point: Tensor | None = None,
    axis: int = -1,
) -> Tensor:
    """Return the real numbers that integers, held as real numbers, stand for.

    ``in_dtype`` is a number of ``SQNN_DTYPE_TO_CODE``, without dimensions or ``(1,)``; scale and zero point, 1 and 0 by
    default, have no dimensions or are vectors along ``axis``.
    """

    def element(*at: Var) -> PrimExpr:
        kind = data.dtype
        x = data(*at)
        real = (x - _parameter(input_zero_point, at, axis, 0, kind)) * _parameter(input_scale, at, axis, 1, kind)
        return tir.Select(_code(in_dtype) == SQNN_DTYPE_TO_CODE["disable"], x, real)

    return compute(dims(data), element, name="simulated_dequantize", tag=Tag.BROADCAST)
