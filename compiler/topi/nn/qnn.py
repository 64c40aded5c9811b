"""Whole numbers that stand for real ones: ``real = (whole - zero point) * scale``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler import te, tir
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def parameter(value: Any, at: Sequence[Any], axis: int) -> Any:
    """Return the element of a scale or zero point, one for all or a vector along ``axis``, that counts at ``at``."""
    if value.ndim == 0:
        return value()
    shape = dims(value)
    return value(0) if isinstance(shape[0], int) and shape[0] == 1 else value(at[axis])


def saturate(value: Any, dtype: str) -> Any:
    """Return a value as an integer type, the nearest number that the type has."""
    low, high = tir.min_value(dtype).value, tir.max_value(dtype).value  # type: ignore[attr-defined]
    kept = te.max(te.min(value, tir.const(high, value.dtype)), tir.const(low, value.dtype))
    return kept.astype(dtype)


def quantize(data: Any, scale: Any, zero_point: Any, axis: int, dtype: str) -> Any:
    """Return the whole numbers for real ones, halves to even ones."""

    def element(*at: Any) -> Any:
        ratio = te.nearbyint(data(*at) / parameter(scale, at, axis).astype(data.dtype))
        return saturate(ratio + parameter(zero_point, at, axis).astype(data.dtype), dtype)

    return te.compute(dims(data), element, name="quantize", tag=Tag.BROADCAST)


def dequantize(data: Any, scale: Any, zero_point: Any, axis: int, dtype: str) -> Any:
    """Return the real numbers that whole ones stand for."""

    def element(*at: Any) -> Any:
        centred = data(*at).astype("int32") - parameter(zero_point, at, axis).astype("int32")
        return (centred.astype("float32") * parameter(scale, at, axis).astype("float32")).astype(dtype)

    return te.compute(dims(data), element, name="dequantize", tag=Tag.BROADCAST)


def requantize(data: Any, source: Sequence[Any], target: Sequence[Any], axis: int, upward: bool, dtype: str) -> Any:
    """Return whole numbers of one scale and zero point as those of another.

    Computed with 53 binary digits, so that no 32-bit number is rounded twice.
    """

    def element(*at: Any) -> Any:
        scale, zero = (parameter(p, at, axis).astype("float64") for p in source)
        new_scale, new_zero = (parameter(p, at, axis).astype("float64") for p in target)
        real = (data(*at).astype("float64") - zero) * scale / new_scale
        whole = te.floor(real + tir.const(0.5, "float64")) if upward else te.round(real)
        return saturate(whole + new_zero, dtype)

    return te.compute(dims(data), element, name="requantize", tag=Tag.BROADCAST)


def centred(data: Any, zero_point: Any, axis: int) -> Any:
    """Return whole numbers less their zero point, as 32-bit ones."""
    return te.compute(
        dims(data),
        lambda *at: data(*at).astype("int32") - parameter(zero_point, at, axis).astype("int32"),
        name="centred",
        tag=Tag.ELEMWISE,
    )
