"""Quantised tensors: ``real = (quantized - zero point) * scale``.

References
----------
Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", CVPR 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.primexpr import PrimExpr, Var
from compiler.te.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.tag import Tag
from compiler.topi.util import Index, dims, is_one

__all__ = ["centred", "dequantize", "quantize", "requantize"]


def parameter(value: Tensor, at: Sequence[Index], axis: int) -> PrimExpr:
    """Return the scale or zero point of one element.

    Parameters
    ----------
    value : Tensor
        Without dimensions, or ``(1,)``, or a vector along ``axis``.
    at : sequence of (int or PrimExpr)
        The indices of the element.
    axis : int

    Returns
    -------
    PrimExpr
    """
    if value.ndim == 0:
        return value()
    return value(0) if is_one(dims(value)[0]) else value(at[axis])


def saturate(value: PrimExpr, dtype: str) -> PrimExpr:
    """Return a value as an integer type: the nearest number that the type has.

    Parameters
    ----------
    value : PrimExpr
    dtype : str

    Returns
    -------
    PrimExpr
    """
    low, high = dt.int_range(dtype)
    bounded = te.max(te.min(value, tir.const(high, value.dtype)), tir.const(low, value.dtype))
    return bounded.astype(dtype)


def quantize(data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, dtype: str) -> Tensor:
    """Return the integers that stand for real numbers, rounded to the nearest, halves to even ones.

    Parameters
    ----------
    data : Tensor
        Of any shape and a float type.
    scale, zero_point : Tensor
        Without dimensions, or ``(1,)``, or a vector along ``axis``.
    axis : int
        Not negative.
    dtype : str
        Of the result, an integer type; what it cannot hold becomes its smallest or largest value.

    Returns
    -------
    Tensor
        Of the shape of ``data``.
    """

    def element(*at: Var) -> PrimExpr:
        ratio = te.nearbyint(data(*at) / parameter(scale, at, axis).astype(data.dtype))
        return saturate(ratio + parameter(zero_point, at, axis).astype(data.dtype), dtype)

    return compute(dims(data), element, name="quantize", tag=Tag.BROADCAST)


def dequantize(data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, dtype: str) -> Tensor:
    """Return the real numbers that integers stand for.

    Parameters
    ----------
    data : Tensor
        Of any shape and an integer type.
    scale, zero_point : Tensor
        Without dimensions, or ``(1,)``, or a vector along ``axis``.
    axis : int
        Not negative.
    dtype : str
        Of the result, a float type.

    Returns
    -------
    Tensor
        Of the shape of ``data``.
    """

    def element(*at: Var) -> PrimExpr:
        difference = data(*at).astype("int32") - parameter(zero_point, at, axis).astype("int32")
        return (difference.astype("float32") * parameter(scale, at, axis).astype("float32")).astype(dtype)

    return compute(dims(data), element, name="dequantize", tag=Tag.BROADCAST)


def requantize(
    data: Tensor, source: Sequence[Tensor], target: Sequence[Tensor], axis: int, upward: bool, dtype: str
) -> Tensor:
    """Return integers of one scale and zero point as those of another.

    Computed in float64, with 53 binary digits, so that no 32-bit number is rounded twice.

    Parameters
    ----------
    data : Tensor
        Of any shape and an integer type.
    source, target : (Tensor, Tensor)
        Scale and zero point of ``data``, and of the result; without dimensions, or vectors along ``axis``.
    axis : int
        Not negative.
    upward : bool
        Whether halves are rounded up, else away from zero.
    dtype : str
        Of the result, an integer type; what it cannot hold becomes its smallest or largest value.

    Returns
    -------
    Tensor
        Of the shape of ``data``.
    """

    def element(*at: Var) -> PrimExpr:
        scale, zero = (parameter(p, at, axis).astype("float64") for p in source)
        new_scale, new_zero = (parameter(p, at, axis).astype("float64") for p in target)
        real = (data(*at).astype("float64") - zero) * scale / new_scale
        rounded = te.floor(real + tir.const(0.5, "float64")) if upward else te.round(real)
        return saturate(rounded + new_zero, dtype)

    return compute(dims(data), element, name="requantize", tag=Tag.BROADCAST)


def centred(data: Tensor, zero_point: Tensor, axis: int) -> Tensor:
    """Return integers less their zero point.

    Parameters
    ----------
    data : Tensor
        Of any shape and an integer type.
    zero_point : Tensor
        Without dimensions, or ``(1,)``, or a vector along ``axis``.
    axis : int
        Not negative.

    Returns
    -------
    Tensor
        Of the shape of ``data``; int32.
    """
    return compute(
        dims(data),
        lambda *at: data(*at).astype("int32") - parameter(zero_point, at, axis).astype("int32"),
        name="centred",
        tag=Tag.ELEMWISE,
    )
